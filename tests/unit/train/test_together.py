"""What several nodes have trained together, as one run."""

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader, train_pod

from alluxio_fuse.train import together
from alluxio_fuse.train.measured import Run, mistakes
from train.conftest import Made

Pods = Callable[..., list[dict[str, Any]]]

CONTENT = {f"train/{kind}/{number}.JPEG": f"{kind}{number}".encode() for kind in ("cat", "dog") for number in range(3)}
FILES = [reader.Entry(path, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") for path, data in CONTENT.items()]
HALVES = list(CONTENT)[::2], list(CONTENT)[1::2]


def shown(*paths: str, **other: bytes) -> str:
    """What a node says that it read."""
    data = {path: other.get("content", CONTENT[path]) for path in paths}
    lines = "".join(f"sha256:{hashlib.sha256(one).hexdigest()} {len(one)} {path}\n" for path, one in data.items())
    return base64.b64encode(train_pod.packed(lines)).decode()


@pytest.fixture
def pods(run: Made, epoch: Made) -> Pods:
    """Of two nodes, each with what it read in its only epoch, and its log."""

    def make(*read: str) -> list[dict[str, Any]]:
        found = []
        for index, part in enumerate(read):
            alone = epoch("mount", "worker", seconds=2.0 + index, cpu_s=3.0)
            told = run("mount", epochs=[{**alone, "read": part}], node=f"node{index + 1}", index=index)
            log = f"a warning\n{train_pod.TOLD}{json.dumps(told)}\n"
            found.append({"node": f"node{index + 1}", "why": "", "log": log})
        return found

    return make


def result(run: Made, pods: list[dict[str, Any]], why: str = "") -> dict[str, Any]:
    return together.result(run("mount"), pods, 2, why, FILES)


def test_what_all_nodes_read_together_is_the_manifest(run: Made, pods: Pods) -> None:
    found = result(run, pods(*(shown(*half) for half in HALVES)))
    (epoch,) = found["epochs"]
    assert (epoch["compared"], epoch["wrong"], epoch["digest"]) == (6, 0, epoch["expected_digest"])
    assert (epoch["seconds"], epoch["cpu_s"], found["processors"]) == (3.0, 6.0, 16)
    assert mistakes(Run.model_validate(found)) == []


def test_counters_of_nodes_are_added_up_and_those_of_workers_are_not(run: Made, pods: Pods) -> None:
    (epoch,) = result(run, pods(*(shown(*half) for half in HALVES)))["epochs"]
    counters = epoch["counters"]
    assert counters["client_external"] == 2 * counters["worker"]


def test_wrong_bytes_are_named_by_path_and_node(run: Made, pods: Pods) -> None:
    wrong, *others = HALVES[1]
    lying = base64.b64encode(
        train_pod.packed(
            train_pod.unpacked(base64.b64decode(shown(*others)))
            + train_pod.unpacked(base64.b64decode(shown(wrong, content=b"lie!")))
        )
    ).decode()
    found = result(run, pods(shown(*HALVES[0]), lying))
    assert mistakes(Run.model_validate(found)) == [f"1: mount, epoch 1: {wrong}: wrong digest on node2"]


@pytest.mark.parametrize(
    ("halves", "what"),
    [
        ((HALVES[0], HALVES[1][1:]), f"{HALVES[1][0]}: not read"),
        ((HALVES[0], [*HALVES[1], HALVES[0][0]]), f"{HALVES[0][0]}: read twice in one epoch on node2"),
    ],
)
def test_a_share_that_is_missing_or_read_twice_is_named(run: Made, pods: Pods, halves: Any, what: str) -> None:
    found = result(run, pods(*(shown(*half) for half in halves)))
    assert mistakes(Run.model_validate(found)) == [f"1: mount, epoch 1: {what}"]


def test_a_run_that_failed_says_where_and_why(run: Made, pods: Pods) -> None:
    fine, _ = pods(shown(*HALVES[0]), shown(*HALVES[1]))
    told = run("mount", failed="it failed: RuntimeError: no", node="node2", index=1)
    lost = {"node": "node2", "why": "", "log": f"{train_pod.TOLD}{json.dumps(told)}"}
    assert result(run, [fine, lost])["failed"] == "node2: it failed: RuntimeError: no"
    silent = {"node": "node2", "why": "", "log": "Traceback\nModuleNotFoundError: No module named 'torch'\n"}
    assert result(run, [fine, silent])["failed"] == "node2: ModuleNotFoundError: No module named 'torch'"
    cut = {"node": "node2", "why": "", "log": lost["log"][:-10]}
    assert not together.is_whole(cut["log"])
    assert result(run, [fine, cut])["failed"] == "node2: its log is cut off"
    evicted = {"node": "node2", "why": "Evicted The node was low on memory", "log": ""}
    assert result(run, [fine, evicted])["failed"] == "node2: Evicted The node was low on memory"
    assert result(run, [fine], "Job has failed")["failed"] == "1 of 2 pods are there: Job has failed"


def test_what_a_node_counts_in_vain_stays_unknown(run: Made, epoch: Made) -> None:
    unknown = {"counters": dict.fromkeys(epoch("mount", "worker")["counters"]) | {"unreachable": ["fuse: refused"]}}
    told = [
        run("mount", epochs=[epoch("mount", "worker", read=shown(*half), **fields)], node=f"node{index}", index=index)
        for index, (half, fields) in enumerate(zip(HALVES, ({}, unknown), strict=True))
    ]
    (merged,) = together.merged(run("mount"), told, FILES)["epochs"]
    assert merged["counters"]["client_cache"] is None
    assert merged["counters"]["unreachable"] == ["fuse: refused"]


@pytest.mark.parametrize(
    ("hosts", "said"),
    [(["a"], "a"), (["a", "b"], "2 nodes (a, b)"), (list("abcde"), "5 nodes (a, b, c, d, …)")],
)
def test_nodes_are_named_while_they_are_few(hosts: list[str], said: str) -> None:
    assert together.where(hosts) == said
