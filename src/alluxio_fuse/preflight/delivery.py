"""What is in the way of the image of pods, and which way it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.plan.delivery import VARIABLE, check_delivery
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.reading import read_fleet_intent
from alluxio_fuse.plan.refusals import Finding

#: Alluxio's libjnifuse, and so the image that is built, is for one platform alone.
PLATFORM: Final = "linux/amd64"
#: The label of images that role `image` built.
OURS: Final = "alluxio-fuse.inputs"

Delivery = Mapping[str, Any]
"""{image, by, held: as the module `image_facts` returns it, digest: of what was delivered, or empty, nodes: {host: as
the module `containerd_image` returns it, of nodes that import}}."""


def contradictions(variables: Mapping[str, Any]) -> list[Finding]:
    """What a host's variables contradict in how the image gets there; the planner refuses it, too."""
    problems = Problems(frozenset())
    intent = read_fleet_intent({"inventory": {"groups": [], "variables": variables, "facts": {}}}, problems)
    if intent:
        check_delivery(intent, problems)
    return problems.findings


def delivery_findings(delivery: Delivery) -> Iterator[Finding]:
    """What stands in the way of pushing or importing the image."""
    image, held = delivery["image"], delivery["held"]
    if delivery["by"] == "push":
        yield from _registry(image, held)
    elif held["state"] == "broken":
        yield Finding("alluxio_image", image, held["detail"], "remove that file, and the run packs the image again")
    for host, asked in delivery["nodes"].items():
        if asked["why"]:
            remedy = f"write {VARIABLE}: {{by: push}}, with a registry that nodes reach"
            yield Finding(f"{host}: {VARIABLE}.by", delivery["by"], asked["why"], remedy)


def _registry(image: str, held: Mapping[str, Any]) -> Iterator[Finding]:
    if held["state"] == "unasked":
        reason = f"{held['detail']} on the controller, and nothing else here asks a registry"
        yield Finding("alluxio_image", image, reason, "apt-get install podman skopeo")
    elif held["state"] == "refused":
        remedy = f"correct alluxio_image, or {VARIABLE}.auth_file, ca_file or insecure; skopeo inspect docker://{image}"
        yield Finding("alluxio_image", image, held["detail"], remedy)
    elif held["state"] == "there":
        if OURS not in held["labels"]:
            reason = "the registry has another image of that name, which no run of this bundle built"
            yield Finding("alluxio_image", image, reason, "write another name or tag, or use it: by: pull")
        elif held["platform"] != PLATFORM:
            reason = f"the image there is for {held['platform']}, and Alluxio's libraries are for {PLATFORM} alone"
            yield Finding("alluxio_image", image, reason, "write another tag")


def delivery_line(delivery: Delivery) -> str:
    """Which way the image goes, of which nothing stands in the way."""
    way = {"pull": _pulled, "push": _pushed, "import": _imported}[delivery["by"]]
    return f"image    {delivery['image']}: {way(delivery)}"


def _pulled(_: Delivery) -> str:
    return "each node has it, or has pulled it now"


def _pushed(delivery: Delivery) -> str:
    registry = delivery["image"].partition("/")[0]
    if digest := delivery["digest"]:
        return f"{registry} answers, and holds it: {digest}"
    if delivery["held"]["state"] == "there":
        return f"{registry} answers, and holds a former build: the run pushes the present one"
    return f"{registry} answers, and does not hold it: the run builds and pushes it"


def _imported(delivery: Delivery) -> str:
    digest, nodes = delivery["digest"], delivery["nodes"]
    if not digest:
        return f"the run builds it, and imports it into containerd on {len(nodes)} nodes"
    lacking = [host for host, asked in nodes.items() if not asked["there"]]
    if not lacking:
        return f"containerd has it on each node: {digest}"
    return f"{digest}: the run imports it into containerd on {', '.join(lacking)}"
