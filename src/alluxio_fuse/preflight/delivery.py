"""What is in the way of the image of pods, and which way it goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.plan.delivery import VARIABLE
from alluxio_fuse.plan.refusals import Finding

#: Alluxio's libjnifuse, and so the image that is built, is for one platform alone.
PLATFORM: Final = "linux/amd64"
#: The label of images that role `image` built.
OURS: Final = "alluxio-fuse.inputs"

Delivery = Mapping[str, Any]
"""{image, by, held: as the module `image_facts` returns it, of a registry; nodes: {host: what is in the way there}}."""


def delivery_findings(delivery: Delivery) -> Iterator[Finding]:
    """What stands in the way of pushing or importing the image."""
    if delivery["by"] == "push":
        yield from _registry(delivery["image"], delivery["held"])
    for host, why in delivery["nodes"].items():
        if why:
            remedy = f"write {VARIABLE}: {{by: push}}, with a registry that nodes reach"
            yield Finding(f"{host}: {VARIABLE}.by", delivery["by"], why, remedy)


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
    """Which way the image goes."""
    if delivery["by"] == "import":
        return f"image    {delivery['image']}: the run builds it, and imports it into containerd on each node"
    held = delivery["held"]
    there = f"which holds {held['digest']}" if held["state"] == "there" else "which answers, and does not hold it yet"
    return f"image    {delivery['image']}: the run builds it, and pushes it to the registry, {there}"
