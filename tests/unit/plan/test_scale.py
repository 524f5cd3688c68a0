"""Planning stays cheap: nodes alike are planned once. `make bench-plan` prints what a node costs."""

from bench_plan import fleet

from alluxio_fuse.plan import plan


def test_nodes_alike_share_their_mounts() -> None:
    made = plan(fleet(100, 10))
    heaps = {id(made.nodes[node]["fuse/set-1"]["heap"]) for node in made.nodes}
    assert len(heaps) < 12
