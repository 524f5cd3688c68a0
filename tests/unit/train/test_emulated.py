"""Emulated accelerators: what is ordered, what the program reads and tells, and what is said of the paths."""

import hashlib
import importlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import labels, programs, reader, trainings
from pydantic import ValidationError

from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.report import training as page
from alluxio_fuse.train import steps, table
from alluxio_fuse.train.result import Training, training
from train.conftest import BYTES, IMAGES, Made

FILES = Path(__file__).parents[3] / "roles/train/files"
CONTENT = {f"a/{number}.npz": os.urandom(3000 + number) for number in range(50)}
ENTRIES = [
    reader.Entry(path, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") for path, data in CONTENT.items()
]
EIGHT: dict[str, Any] = {"program": "emulated", "accelerators": "8 x H100"}
FACTS = {"folder": "", "shards": 0, "images": IMAGES, "classes": 0, "bytes": BYTES, "digested": IMAGES, "processors": 8}
ENOUGH = {"memory": 10**11, "disk": 10**12, "bytes": 10**9, "images": 9600, "runs": {"resident_bytes": 10**8}}


@pytest.mark.parametrize(
    ("fields", "reason", "remedy"),
    [
        ({"accelerators": "8 x H100"}, "accelerators: 8 x H100: pytorch emulates none", "write program: emulated"),
        ({"program": "emulated"}, "emulated: nothing says which GPUs", "write accelerators, like 8 x H100"),
        (EIGHT | {"gpus": 1}, "gpus: 1: emulated trains on none", "write 0"),
        (EIGHT | {"model": "retinanet"}, "8 x H100: no public figure for H100 on retinanet", "write GPU and model of"),
        (EIGHT | {"model": "tiny"}, "accelerators: 8 x H100: no public figure for H100 on tiny", "write GPU and model"),
    ],
)
def test_what_cannot_be_emulated_is_refused(fields: dict[str, Any], reason: str, remedy: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Train(**fields)
    (error,) = refused.value.errors()
    assert reason in error["msg"]
    assert error["ctx"]["remedy"].startswith(remedy)


@pytest.mark.parametrize("said", ["0 x H100", "H100", "8H100", "8 x "])
def test_accelerators_are_a_number_and_a_model(said: str) -> None:
    with pytest.raises(ValidationError):
        Train(program="emulated", accelerators=said)


def test_the_program_is_told_the_public_figures() -> None:
    train = Train.model_validate(EIGHT)
    assert str(train.python) == "/usr/bin/python3"
    found = steps.orders(train)
    assert found["batch"] == 400
    assert found["emulated"] == {"named": "8 x H100", "accelerators": 8, "compute_s": 0.224}
    stands_in = steps.orders(Train(program="emulated", accelerators="2 x H200", model="unet3d"))
    assert (stands_in["batch"], stands_in["emulated"]["compute_s"]) == (7, 0.323)
    assert steps.orders(Train())["emulated"] is None


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        ({}, []),
        ({"images": 9599}, ["3 batches of 400 for each are 9600 files, and there are 9599; write fewer accelerators"]),
        ({"bytes": 9600 * 2 * 10**6}, ["a file has 2.0 MB here, and a sample of resnet50 0.1 MB: a file counts as a"]),
    ],
)
def test_files_have_to_be_samples_and_enough_of_them(facts: dict[str, Any], reasons: list[str]) -> None:
    found = steps.refusals(Train.model_validate(EIGHT), ENOUGH | facts, [], "/mnt/a/imagenet/data")
    assert len(found) == len(reasons)
    assert all(reason in said for reason, said in zip(reasons, found, strict=True))


def test_a_folder_without_files_is_refused() -> None:
    (said,) = steps.early_refusals(Train.model_validate(EIGHT | {"folder": "b"}), {"unlabelled": "no file"}, [], "/mnt")
    assert said == "alluxio_train.folder: b: no file; name a folder with files"


HEADER = {"large_bytes": 1, "digested": {"seed": 2012}}


def test_any_file_is_a_sample() -> None:
    orders = steps.orders(Train.model_validate(EIGHT))
    assert labels.about((HEADER, ENTRIES), orders)["images"] == len(CONTENT)
    assert labels.about((HEADER, ENTRIES), orders | {"folder": "b"}) == {"unlabelled": "its folder b: no file in it"}


def emulated(folder: Path, entries: list[reader.Entry], kind: str = "train", **orders: Any) -> dict[str, Any]:
    """A run of three accelerators that take four files and compute for 20 ms."""
    for name, content in CONTENT.items():
        path = folder / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in ("harness.py", "train_emulated.py"):
        shutil.copy(FILES / name, folder)
    told = steps.orders(Train.model_validate(EIGHT | {"loaders": 2})) | {"folder": "", "batch": 4, **orders}
    told["emulated"] = {"named": "3 x T4", "accelerators": 3, "compute_s": 0.02}
    one = {"name": "1", "path": "source", "kind": kind, "root": str(folder / "set"), "round": 1}
    program = {"path": str(folder / "train_emulated.py"), "python": "/usr/bin/python3"}
    params = {"scratch": str(folder), "program": program, "orders": told}
    return trainings.run(one, entries, params, programs.compare)


def test_every_file_is_read_and_hashed_in_each_epoch(tmp_path: Path) -> None:
    found = emulated(tmp_path, ENTRIES)
    assert (found["framework"], found["device"]) == ("resnet50", "3 x T4, emulated")
    for epoch in found["epochs"]:
        assert (epoch["wrong"], epoch["digest"]) == (0, epoch["expected_digest"])
        assert (epoch["images"], epoch["steps"], epoch["bytes"]) == (50, 5, sum(map(len, CONTENT.values())))
        assert 0 < epoch["utilisation"] <= 1
        assert epoch["seconds"] >= 50 / 12 * 0.02  # the last step has two files, and takes a sixth of the time


def test_another_byte_is_named_by_path(tmp_path: Path) -> None:
    wrong = [entry._replace(digest="sha256:" + "0" * 64) if entry.path == "a/7.npz" else entry for entry in ENTRIES]
    (problem, *_) = emulated(tmp_path, wrong)["epochs"][1]["problems"]
    assert problem == {"path": "a/7.npz", "what": "wrong digest"}


def test_a_file_that_cannot_be_read_ends_the_run_by_name(tmp_path: Path) -> None:
    gone = [*ENTRIES, reader.Entry("a/gone.npz", 1, None)]
    assert "a/gone.npz" in emulated(tmp_path, gone)["failed"]


def test_where_nothing_is_read_batches_are_empty(tmp_path: Path) -> None:
    found = emulated(tmp_path, ENTRIES, "synthetic")
    assert [(epoch["images"], epoch["bytes"]) for epoch in found["epochs"]] == [(50, 0), (50, 0)]
    assert (tmp_path / "epoch-1").read_text() == ""
    assert json.loads((tmp_path / "orders.json").read_text())["root"] is None


class Clock:
    """Stands in for the module `time`."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Counted:
    """An epoch whose steps take so long to be read, one after the other, beside the computing."""

    def __init__(self, clock: Clock, step_s: float) -> None:
        self.figures: dict[str, float] = {}
        self._clock, self._step_s = clock, step_s

    def batches(self, source: list[list[Any]]) -> Iterator[list[Any]]:
        for number, step in enumerate(source, 1):
            self._clock.now = max(self._clock.now, number * self._step_s)  # loaders read all the time
            yield step

    def step(self, **_: Any) -> None:
        pass


@pytest.mark.parametrize(("step_s", "utilisation"), [(0.1, 1.0), (0.25, 1.0), (0.5, 0.5), (1.0, 0.25)])
def test_utilisation_is_computing_over_reading(
    step_s: float, utilisation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of three steps: what is read before the first one and in the last, smaller one does not count."""
    monkeypatch.syspath_prepend(str(FILES))
    program, clock = importlib.import_module("train_emulated"), Clock()
    monkeypatch.setattr(program, "time", clock)
    epoch = Counted(clock, step_s)
    orders = type("Orders", (), {"batch": 4, "emulated": {"accelerators": 3, "compute_s": 0.25}})
    program.emulate(epoch, [[], [], [], []], [12, 12, 12, 2], orders)
    assert epoch.figures["utilisation"] == pytest.approx(utilisation)


@pytest.fixture
def busy(run: Made, epoch: Made) -> Made:
    """A run with an epoch in each state, and the utilisation in it."""

    def make(path: str, *states: tuple[str, float], cpu_s: float = 1.0) -> dict[str, Any]:
        epochs = [
            epoch(path, state, number, utilisation=reached, cpu_s=cpu_s)
            for number, (state, reached) in enumerate(states, 1)
        ]
        return run(path, epochs=epochs, framework="resnet50", device="8 x H100, emulated")

    return make


def judged(*runs: dict[str, Any]) -> Training:
    about = {"host": "node1", "nodes": 1, "dataset": "imagenet", "facts": FACTS, "results": list(runs), "kept": []}
    return training([about], EIGHT, "2026-11-27T08:00:00Z", {})


def test_the_simplest_path_that_feeds_all_is_named(busy: Made) -> None:
    made = judged(
        busy("synthetic", ("", 0.99)),
        busy("source", ("uncached", 0.37), ("page-cache", 0.95)),
        busy("mount", ("client-cache", 0.93), ("page-cache", 0.97)),
    )
    (node,) = made.nodes
    assert made.verdict == "PASS"
    assert node.answer.startswith(
        "use mount, client-cache: 8 x H100 on resnet50 would be busy 93% of the time in epoch 1"
    )
    assert node.fed == [
        "each of 8 x H100 on resnet50 takes 400 files and computes for 0.224 s; MLPerf's have 0.11 MB on average",
        "source, uncached: utilisation 37%, at least 90% wanted: feeds 3 of 8 x H100",
        "mount, client-cache: utilisation 93%, at least 90% wanted: feeds all of 8 x H100",
    ]
    assert not any("loss" in finding.reason for finding in node.findings)
    shown = table.render(made)
    assert "37%/95%" in shown
    assert node.fed[1] in shown
    assert node.fed[1] in page.render(made)


@pytest.mark.parametrize(
    ("reached", "cpu_s", "verdict", "said"),
    [
        (
            (0.99, 0.37, 0.95),
            1.0,
            "FAIL",
            "no path keeps 8 x H100 on resnet50 busy 90% of the time: the best reaches 37%",
        ),
        ((0.99, 0.37, 0.95), 16.0, "CANNOT TELL", "source, uncached (the processors were 100% busy)"),
        ((0.99, 0.37, 0.60), 1.0, "CANNOT TELL", "loaders limit, not a path: from the page cache they keep"),
        ((0.80, 0.37, 0.95), 1.0, "CANNOT TELL", "the emulation limits"),
    ],
)
def test_a_path_that_does_not_feed_them_is_judged_where_it_is_the_path_that_limits(
    busy: Made, reached: tuple[float, ...], cpu_s: float, verdict: str, said: str
) -> None:
    ceiling, first, later = reached  # without reading, in epoch 1, after it
    source = busy("source", ("uncached", first), ("page-cache", later), cpu_s=cpu_s)
    made = judged(busy("synthetic", ("", ceiling)), source)
    assert made.verdict == verdict
    assert said in made.nodes[0].answer
    assert ("not judged: the processors were 100% busy" in made.nodes[0].fed[-1]) == (cpu_s > 1)
