"""What a description must hold for platform fluid, as far as no cluster has to be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from alluxio_fuse.plan.intent.datasets import Dataset, Readers
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.schemes import EXPORT, FOLDER, HDFS, S3

#: Below it Fluid tells FUSE its mount point in a variable that no image reads any more.
OLDEST_TAG: Final = (2, 8, 0)
#: Parts of alluxio_kubernetes that the chart alone reads.
_OF_THE_CHART: Final = ("values", "storage_class", "gpu_labels")


def check_fluid(intent: FleetIntent, problems: Problems) -> None:
    """Refuse what Fluid cannot do, and what it would take for something else without a word."""
    if not intent.capabilities.by_fluid:
        if intent.alluxio_fluid.model_fields_set:
            remedy = "remove it, or write alluxio_platform: fluid"
            problems.refuse("alluxio_fluid", "given", f"the platform is {intent.alluxio_platform}", remedy)
        return
    for finding in _findings(intent):
        problems.add(finding)


def _findings(intent: FleetIntent) -> Iterator[Finding]:
    datasets = intent.alluxio_datasets
    if len(datasets) > 1:
        yield Finding(
            "alluxio_datasets",
            ", ".join(dataset.name for dataset in datasets),
            "Fluid runs a cluster of its own for each dataset; a plan shares nodes out among one cluster",
            "name one here, and make a deployment (alluxio_name) of each other one",
        )
    for index, dataset in enumerate(datasets):
        yield from _dataset(f"alluxio_datasets[{index}]", dataset, intent)
    runtime, own = intent.alluxio_fluid.runtime, intent.alluxio_fluid.image
    if own:
        yield from _image("alluxio_fluid.image", own, runtime)
        yield from _signs(own, runtime, datasets)
    elif runtime == "alluxio" and intent.alluxio_image:
        yield from _image("alluxio_image", intent.alluxio_image, runtime)
    for key in _OF_THE_CHART:
        if key in intent.alluxio_kubernetes.model_fields_set:
            yield Finding(
                f"alluxio_kubernetes.{key}", "given", "only the chart of platform kubernetes reads it", "remove it"
            )
    if intent.alluxio_port_offset:
        yield Finding(
            "alluxio_port_offset", str(intent.alluxio_port_offset), "pods have networks of their own", "remove it"
        )


def _dataset(where: str, dataset: Dataset, intent: FleetIntent) -> Iterator[Finding]:
    if dataset.source.startswith((FOLDER, EXPORT)):
        reason = "Fluid reads folders, also those of NFS, through a PersistentVolumeClaim"
        remedy = "write pvc://<claim>, or a folder of it after that"
        yield Finding(f"{where}.source", dataset.source, reason, remedy)
    if dataset.writable:
        reason = "every mount of Fluid's is read-only here: it mounts a claim read-write into master and workers"
        yield Finding(f"{where}.writable", "true", reason, "remove it, or use platform kubernetes")
    if dataset.readers != Readers():
        reason = "who may mount a claim of Fluid's is said by the rights in its namespace, not by a folder's mode"
        remedy = "remove it, and put the dataset into a namespace (alluxio_kubernetes.namespace) of its readers"
        yield Finding(f"{where}.readers", str(dataset.readers.model_dump()), reason, remedy)
    if intent.alluxio_fluid.runtime == "jindo" and dataset.source.startswith((S3, HDFS)):
        reason, remedy = "JindoRuntime is rendered for claims and oss://", "write alluxio_fluid: {runtime: alluxio}"
        yield Finding(f"{where}.source", dataset.source, reason, remedy)


def _signs(own: str, runtime: str, datasets: Sequence[Dataset]) -> Iterator[Finding]:
    """An image of Alluxio's own signs requests to OSS by version 1."""
    if runtime == "alluxio" and any(dataset.oss for dataset in datasets):
        reason = "Alluxio's own client of OSS signs by version 1, which OSS does not take of new accounts"
        yield Finding("alluxio_fluid.image", own, reason, "remove it: our image, alluxio_image, signs by version 4")


def _image(variable: str, image: str, runtime: str) -> Iterator[Finding]:
    """Fluid takes name and tag apart, and reads the tag as Alluxio's version."""
    name, colon, tag = image.rpartition(":")
    if "@" in image or not colon or "/" in tag or not name:
        reason = "Fluid writes an image as name:tag, without a digest"
        yield Finding(variable, image, reason, "write registry.example.com/alluxio-fuse:2.9.6")
        return
    version = re.match(r"v?(\d+)\.(\d+)\.(\d+)(-|$)", tag)
    if runtime == "alluxio" and version is None:
        reason = "Fluid reads the tag as Alluxio's version, and fails where it is none"
        yield Finding(variable, image, reason, f"push it as {name}:2.9.6")
    elif runtime == "alluxio" and version and tuple(map(int, version.groups()[:3])) < OLDEST_TAG:
        reason = "Fluid takes a tag below 2.8.0 for an Alluxio that gets its mount point from MOUNT_POINT"
        yield Finding(variable, image, reason, f"push it as {name}:2.9.6, the version that is in it")
