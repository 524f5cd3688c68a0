"""What the source gave to several numbers of nodes, and from how many on it gives no more."""

from typing import Any

import pytest

from alluxio_fuse.report import training as page
from alluxio_fuse.train import table
from alluxio_fuse.train.result import Training, training
from train.conftest import BYTES, IMAGES, Made
from train.test_result import FACTS

WORDS = "the source of imagenet gave by mount "


def trained(run: Made, states: str, *speeds: tuple[int, float], **fields: Any) -> Training:
    """So many nodes read the mount with so many images/s, of 0.1 MB each; the rows of each number in their turn."""
    measured = [
        {
            "host": f"{nodes} nodes",
            "nodes": nodes,
            "dataset": "imagenet",
            "facts": FACTS,
            "results": [run("synthetic"), run("mount", states, images_per_s=speed, **fields)],
            "kept": [],
        }
        for nodes, speed in speeds
    ]
    return training(measured, {}, "2026-11-25T08:00:00Z", {})


@pytest.mark.parametrize(
    ("speeds", "said"),
    [
        (((1, 100.0), (2, 190.0)), "10 MB/s to 1 node, 19 MB/s to 2 nodes: it is not saturated by 2 nodes"),
        (((1, 100.0), (2, 140.0)), "10 MB/s to 1 node, 14 MB/s to 2 nodes: it is saturated from 1 node on"),
        (((4, 450.0), (1, 100.0), (2, 200.0)), "10 MB/s to 1 node, 20 MB/s to 2 nodes, 45 MB/s to 4 nodes: it is not"),
        (((1, 100.0), (2, 200.0), (4, 210.0)), "21 MB/s to 4 nodes: it is saturated from 2 nodes on"),
        (((1, 100.0), (4, 90.0)), "9 MB/s to 4 nodes: it is saturated from 1 node on"),
    ],
)
def test_added_nodes_tell_whether_the_source_has_more(run: Made, speeds: Any, said: str) -> None:
    assert BYTES / IMAGES == 1e5
    (line,) = trained(run, "cold", *speeds).saturation
    assert line.startswith(WORDS)
    assert said in line


def test_it_is_told_to_people(run: Made) -> None:
    made = trained(run, "cold", (1, 100.0), (2, 190.0))
    assert f"source      {WORDS}10 MB/s to 1 node" in table.render(made)
    assert "mount, cold: the source gave 19 MB/s in epoch 1" in table.render(made)
    assert WORDS in page.render(made)


def test_busy_processors_may_be_what_limits(run: Made) -> None:
    (line,) = trained(run, "cold", (1, 200.0), (2, 220.0), processors=1).saturation
    assert line.endswith("whether it limits cannot be told, the processors of 1 node, 2 nodes were busy")


@pytest.mark.parametrize(("state", "speeds"), [("worker", ((1, 100.0), (2, 100.0))), ("cold", ((2, 100.0),))])
def test_nothing_is_told_of_one_number_or_of_other_levels(run: Made, state: str, speeds: Any) -> None:
    assert trained(run, state, *speeds).saturation == []
