"""The same training by different numbers of loaders, and what limits it."""

from collections.abc import Sequence

from pydantic import BaseModel

from alluxio_fuse.train.measured import Run
from alluxio_fuse.train.rows import BUSY

HARDLY_WAITING = 0.1  # of the time: from here on computing limits
AS_FAST = 0.9  # of the local copy: from here on the path does not limit


class Swept(BaseModel):
    """One number of loaders on a path, in the last epoch of its run; busy: share of the node's processors."""

    path: str
    loaders: int
    images_per_s: float
    waiting: float
    busy: float


def swept(runs: Sequence[Run]) -> list[Swept]:
    """What the runs of a sweep came to, in their order."""
    return [
        Swept(
            path=run.path,
            loaders=run.loaders,
            images_per_s=last.images_per_s,
            waiting=last.wait_s / last.seconds,
            busy=last.cpu_s / last.seconds / run.processors,
        )
        for run in runs
        if run.loaders is not None and run.epochs and not run.failed
        for last in run.epochs[-1:]
    ]


def limit(found: Sequence[Swept]) -> str:
    """What limits training on the mount, by its fastest number of loaders; empty without a sweep."""
    mount = [one for one in found if one.path == "mount"]
    if not mount:
        return ""
    best = max(mount, key=lambda one: one.images_per_s)
    said = f"{best.loaders} loaders are the fastest on the mount ({best.images_per_s:.0f} images/s): "
    copy = next((one for one in found if (one.path, one.loaders) == ("local copy", best.loaders)), None)
    if best.waiting < HARDLY_WAITING:
        return f"{said}computing limits, it waits {best.waiting:.0%} of the time"
    if copy and best.images_per_s < AS_FAST * copy.images_per_s:
        return f"{said}the path limits, a local copy gives {copy.images_per_s:.0f} images/s"
    if best.busy >= BUSY:
        return f"{said}decoding limits, {best.busy:.0%} of the processors are busy"
    if best.loaders == max(one.loaders for one in mount):
        return f"{said}loaders limit, try more"
    return f"{said}neither path nor processors limit there"
