"""What a node has trained, as module train_run returns it, and which cache state each epoch proves."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from alluxio_fuse.check.evidence import LEVELS, Evidence, Mount, doubt, origins

#: By path, the states that its epochs may prove, the fastest first, each with the path that evidence knows it by.
STATES = {
    "local copy": (("disk", "page-cache"), ("disk", "disk")),
    "staged": (("mount", "page-cache"), ("mount", "staged")),
    "mount": (("mount", "page-cache"), ("mount", "client-cache"), ("mount", "worker"), ("mount", "cold")),
}
FOLDERS = (("disk", "page-cache"), ("folder", "uncached"))
MIXED = "mixed"  # no state is proven: bytes came from several levels


class DiskUse(BaseModel):
    """What the disk below a path read during an epoch; other programs on the node may have asked for some of it.

    reads: requests to the disk. wait_s: of all of them, one after the other.
    """

    reads: float
    bytes: float
    wait_s: float


class Epoch(BaseModel):
    """One epoch: images and steps, seconds, losses by step, and evidence of what was read (none of made-up batches).

    utilisation: share of time in which emulated accelerators computed, from the first step's data to the last one's.
    """

    model_config = ConfigDict(extra="ignore")

    epoch: int
    images: int
    steps: int
    seconds: float
    wait_s: float
    marked_images_per_s: float
    losses: list[float]
    top1: float
    top5: float
    bytes: int
    calls: int
    storage_bytes: int
    utilisation: float | None = None
    cpu_s: float
    resident_before: float | None
    disk: DiskUse | None = None
    counters: dict[str, Any]
    expected_files: int
    expected_bytes: int
    mount: Mount | None = None
    digest: str = ""
    expected_digest: str = ""
    compared: int = 0
    wrong: int = 0
    problems: list[dict[str, str]] = []

    @property
    def images_per_s(self) -> float:
        """Over the whole epoch."""
        return self.images / self.seconds


class Run(BaseModel):
    """One run of a program on a path, or the copying for one; `failed` is why it did not end well."""

    model_config = ConfigDict(extra="ignore")

    name: str
    path: str
    kind: str
    root: str | None = None
    medium: str | None = None
    direct: bool | None = None
    round: int
    loaders: int | None = None
    at: str
    framework: str = ""
    device: str = ""
    listing_s: float = 0.0
    foreign_cpu: float = 0.0
    processors: int = 1
    epochs: list[Epoch] = []
    failed: str | None = None
    seconds: float = 0.0
    bytes: int = 0

    @property
    def state(self) -> str:
        """The state that the first epoch found."""
        return self.proves(self.epochs[0])[0] if self.epochs else ""

    def proves(self, epoch: Epoch) -> tuple[str, str]:
        """The state that an epoch proves, or `mixed` and why it is not the deepest one; empty of made-up batches."""
        if epoch.mount is None:
            return "", ""
        why = ""
        for path, state in STATES.get(self.path, FOLDERS):
            doubted = doubt(self._evidence(epoch, path, state))
            if not doubted:
                return state, ""
            why = doubted
        return MIXED, why

    def origins(self, epoch: Epoch) -> dict[str, float]:
        """Share of the bytes that each level has served; empty where nobody counts."""
        if epoch.mount is None or self.path not in ("mount", "staged"):
            return {}
        state, _ = self.proves(epoch)
        return origins(self._evidence(epoch, "mount", state))

    def from_source(self, epoch: Epoch) -> float:
        """Bytes that came from the dataset's source, as far as they are counted."""
        if self.path == "source" and self.proves(epoch)[0] == "uncached":
            return float(epoch.bytes)
        return epoch.bytes * self.origins(epoch).get("under_store", 0.0)

    def _evidence(self, epoch: Epoch, path: str, state: str) -> Evidence:
        counted = epoch.model_dump(include=set(Evidence.model_fields) & set(Epoch.model_fields))
        about = {"path": path, "state": state, "kind": "small", "root": self.root, "files": epoch.expected_files}
        return Evidence.model_validate({**counted, **about, "medium": self.medium, "direct": self.direct})


def images_read(runs: Sequence[Run]) -> int | None:
    """Images of an epoch, as the first run that read some has counted them."""
    return next((epoch.images for run in runs for epoch in run.epochs if epoch.mount and not run.failed), None)


def mistakes(run: Run) -> list[str]:
    """Every way in which the bytes of a run were not those of the manifest, by path."""
    found = [
        f"{run.name}, epoch {epoch.epoch}: {problem['path']}: {problem['what']}"
        for epoch in run.epochs
        for problem in epoch.problems
    ]
    unequal = [epoch for epoch in run.epochs if epoch.digest != epoch.expected_digest and not epoch.wrong]
    found += [f"{run.name}, epoch {epoch.epoch}: its digest is not the manifest's" for epoch in unequal]
    return found


__all__ = ["LEVELS", "MIXED", "Epoch", "Run", "images_read", "mistakes"]
