"""Planning stays cheap: nodes alike are planned once, and a thousand nodes take less than a second."""

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.bench import fleet, seconds


def test_a_thousand_nodes_and_a_hundred_datasets_within_a_second() -> None:
    assert seconds(1000) < 1.0


def test_the_cost_per_node_does_not_grow() -> None:
    assert seconds(1000, 20) / 1000 < 2 * seconds(200, 20) / 200


def test_nodes_alike_share_their_mounts() -> None:
    made = plan(fleet(100, 10))
    heaps = {id(made.nodes[node]["fuse/set-1"]["heap"]) for node in made.nodes}
    assert len(heaps) < 12
