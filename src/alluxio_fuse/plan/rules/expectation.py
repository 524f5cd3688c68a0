"""What a mount can be expected to read: a guide, never a gate."""

from typing import Any, Final

from alluxio_fuse.plan.values import rule

MEASURED: Final = {
    "memory": (6795, 1930),
    "ssd": (6795, 1125),
    "hdd": (200, 150),
    "local worker": (1170, 491),
    "remote worker": (980, 491),
    "under store": (4450, 1129),
}


@rule("measured on 2 cores, four readers, files of 98 KB and of 136 MB; a disk adds its own bound")
def expected(
    medium: str | None, share: float, local_worker: bool, *, through_cluster: bool = True
) -> tuple[dict[str, Any], str]:
    """{path, files_per_s, mb_per_s} of the data path that serves most of a set; of an under store a folder's."""
    worker = "under store" if not through_cluster else "local worker" if local_worker else "remote worker"
    path = medium if medium is not None and share >= 0.5 else worker
    files, rate = MEASURED[path]
    name = path if path == worker else f"client cache on {path}"
    return {"path": name, "files_per_s": files, "mb_per_s": rate}, f"most reads are served by the {name}"
