"""What limits a training, by the number of loaders."""

import pytest

from alluxio_fuse.train.measured import Run
from alluxio_fuse.train.sweep import Swept, limit, swept
from train.conftest import Made


def one(path: str, loaders: int, images_per_s: float, waiting: float = 0.5, busy: float = 0.5) -> Swept:
    return Swept(path=path, loaders=loaders, images_per_s=images_per_s, waiting=waiting, busy=busy)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([one("mount", 4, 100, waiting=0.05)], "computing limits, it waits 5% of the time"),
        ([one("mount", 4, 100), one("local copy", 4, 200)], "the path limits, a local copy gives 200 images/s"),
        ([one("mount", 4, 100, busy=0.95), one("local copy", 4, 105)], "decoding limits, 95% of the processors"),
        ([one("mount", 2, 60), one("mount", 4, 100)], "4 loaders are the fastest on the mount (100 images/s): loaders"),
        ([one("mount", 2, 100), one("mount", 4, 90)], "neither path nor processors limit there"),
    ],
)
def test_what_limits_is_told(found: list[Swept], said: str) -> None:
    assert said in limit(found)


def test_without_a_sweep_nothing_is_told(run: Made) -> None:
    assert limit(swept([Run.model_validate(run("mount", "worker"))])) == ""


def test_the_last_epoch_of_each_run_counts(run: Made) -> None:
    (found,) = swept([Run.model_validate(run("mount", "worker", "page-cache", loaders=2))])
    assert (found.loaders, found.images_per_s, found.waiting, found.busy) == (2, 100.0, 0.5, 1.0 / 2.0 / 8)
