"""How long planning takes, from ten nodes to thousands of mixed hardware: python tools/bench_plan.py."""

import gc
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fleets import Hosts, filesystem, host

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.planner import plan
from alluxio_fuse.plan.units import GIB

DATASETS: Final = 100
SIZES: Final = (10, 100, 1000, 2000)
HARDWARE: Final = (
    (512, 96, 3500, "Tesla V100-SXM2-32GB"),
    (1024, 128, 7000, "NVIDIA A100-SXM4-80GB"),
    (2048, 192, 14000, "NVIDIA H100 80GB HBM3"),
    (2048, 224, 28000, "NVIDIA H200"),
)


def fleet(nodes: int, datasets: int = DATASETS) -> Hosts:
    """What playbooks would hand over; no two nodes have quite the same memory and free disk, nor share an object."""
    named = [
        {
            "name": f"set-{number}",
            "source": f"s3://bucket/set-{number}",
            "files": 2000 + number * 100,
            "bytes": (10 + number) * GIB,
            "freshness": "immutable" if number % 3 else "within: 10m",
        }
        for number in range(datasets)
    ]
    said = {
        "alluxio_datasets": named,
        "alluxio_workload": "resnet50",
        "alluxio_cache_tiers": [{"medium": "memory"}, {"medium": "ssd", "path": "/mnt/nvme"}],
    }
    hosts = {f"node-{number}": _node(number, said) for number in range(nodes)}
    copied: Hosts = json.loads(json.dumps(hosts))
    return copied


def _node(number: int, said: dict[str, Any]) -> dict[str, Any]:
    memory, cpus, disk, gpu = HARDWARE[number % len(HARDWARE)]
    root = filesystem("/", 400, 300 + number % 61)
    nvme = filesystem("/mnt/nvme", disk, disk * (0.95 - number % 37 / 1000), inodes_free=1_500_000_000)
    groups = ("masters", "gpu_nodes") if number < 3 else ("gpu_nodes",)
    made = host(said, groups, memory=memory - number % 97 / 128, cpus=cpus, gpus=(gpu,) * 8, filesystems=[root, nvme])
    made["facts"]["network"][1]["addresses"] = [f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"]
    return made


def seconds(nodes: int, datasets: int = DATASETS) -> float:
    """CPU seconds of planning a fleet, the best of three."""
    hosts = fleet(nodes, datasets)
    return _best(lambda: plan(hosts))


def _best(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        gc.collect()
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _looked_at(made: Plan) -> int:
    """Looks at every host, which fills in its own addresses."""
    return sum(len(services) for services in made.nodes.values())


def main() -> None:
    """Print the cost of each size: of planning, and of filling in every host's services one after the other."""
    print(f"{'nodes':>6} {'datasets':>9} {'plan, s':>8} {'ms per node':>12} {'every host, s':>14}")
    for nodes in SIZES:
        taken = seconds(nodes)
        made = plan(fleet(nodes))
        every = _best(partial(_looked_at, made))
        print(f"{nodes:>6} {DATASETS:>9} {taken:>8.3f} {taken * 1000 / nodes:>12.3f} {every:>14.3f}")


if __name__ == "__main__":
    main()
