"""How the image of pods gets to where they find it: what of a description cannot be done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.nfs import is_export
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.pvc import claim_of
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.values import Value

VARIABLE: Final = "alluxio_kubernetes.image"
#: registry/repository:tag, where a registry's name is told from a folder's by a dot, a port, or `localhost`.
_NAME: Final = re.compile(r"(?P<registry>localhost|[\w-]+(\.[\w-]+)+(?=[:/])|[\w.-]+(?=:\d))(:\d+)?/[^:@]+:[\w][\w.-]*")
#: Variables whose default is what the image that the run builds has.
_BUILT: Final = ("alluxio_version", "alluxio_java")


def repository(image: str) -> str:
    """An image's name without tag and digest."""
    name = image.partition("@")[0]
    last = name.rfind("/") + 1
    return name[:last] + name[last:].partition(":")[0]


def pinned(image: str, digest: str) -> str:
    """The image as pods name it: by its digest, whatever its tag names later; as it is said where none is known."""
    return f"{repository(image)}@{digest}" if digest else image


def image(intent: FleetIntent, digest: str) -> Value[str]:
    """The image of every service.

    digest: of what a run pushed or imported. Fluid takes an image by its tag.
    """
    said = intent.alluxio_image or f"localhost/alluxio-fuse:{intent.alluxio_version}"
    if digest and not intent.capabilities.by_fluid:
        how = {"push": "pushed", "import": "imported"}[intent.alluxio_kubernetes.image.by]
        return Value(pinned(said, digest), "image", f"what the run {how}, whatever the tag names later", VARIABLE)
    return Value(said, "image", "as said, or its documented default", "alluxio_image")


def check_delivery(intent: FleetIntent, problems: Problems) -> None:
    """Refuse what contradicts how the image is to get to where pods find it."""
    for finding in _findings(intent):
        problems.add(finding)


def _findings(intent: FleetIntent) -> Iterator[Finding]:
    said, image = intent.alluxio_kubernetes.image, intent.alluxio_image
    if said.by != "push":
        for key in sorted(said.model_fields_set - {"by"}):
            remedy = f"remove it, or write {VARIABLE}: {{by: push}}"
            yield Finding(f"{VARIABLE}.{key}", str(getattr(said, key)), "the run pushes nothing", remedy)
    if said.by == "pull":
        return
    if said.insecure and said.ca_file:
        reason = "a certificate is either verified, with that CA, or not"
        yield Finding(f"{VARIABLE}.insecure", "true", reason, "remove insecure or ca_file")
    if not _NAME.fullmatch(image):
        known = image or "unset"
        reason = "nodes know the image that the run brings by its registry, repository and tag, and pods by its digest"
        yield Finding("alluxio_image", known, reason, "write registry.example.com/data/alluxio-fuse:2.9.6")
    elif said.by == "push" and image.startswith("localhost/"):
        reason = "localhost/ is the controller's own storage, and no registry"
        yield Finding("alluxio_image", image, reason, f"name a registry, or write {VARIABLE}: {{by: import}}")
    if said.by == "import" and (intent.capabilities.by_fluid or not intent.alluxio_kubernetes.node_access):
        reason = "the inventory does not reach the nodes, into whose containerd the image would go"
        yield Finding(f"{VARIABLE}.by", "import", reason, "write push, with a registry that nodes reach")
    if said.by == "import" and any(claim_of(one.source) or is_export(one.source) for one in intent.alluxio_datasets):
        reason = "a pod lists what pods mount before nodes have an image that no registry holds"
        yield Finding(f"{VARIABLE}.by", "import", reason, "write push, with a registry that nodes reach")
    for variable in _BUILT:
        built = FleetIntent.model_fields[variable].default
        if (value := getattr(intent, variable)) != built:
            reason = f"the image that the run builds has {built}"
            remedy = f"remove it, or bring an image of yours: {VARIABLE}: {{by: pull}}"
            yield Finding(variable, str(value), reason, remedy)
