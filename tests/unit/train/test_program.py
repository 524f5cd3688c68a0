"""A program of one's own, as docs/train.md shows it, and what it tells of what it read."""

import hashlib
import importlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import programs, reader, system, trainings

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests/train/reads.py"
ALGORITHMS = {"a/0.JPEG": "md5", "a/5.JPEG": "md5"}
FILES = {f"a/{number}.JPEG": os.urandom(1000 + number) for number in range(7)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dataset, and beside it the program with its harness."""
    for name, content in FILES.items():
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for source in (PROGRAM, ROOT / "roles/train/files/harness.py"):
        shutil.copy(source, tmp_path)
    return tmp_path


def told(folder: Path, **orders: Any) -> list[dict[str, Any]]:
    """What two epochs come to."""
    about = {"folder": "", "classes": ["a"], "images": 7, "model": "", "size": 1, "loaders": 0, "gpus": 0, "mark": 1}
    about |= {
        "shown": str(folder),
        "batch": 3,
        "epochs": 2,
        "seed": 1,
        "files": list(FILES),
        "algorithms": ALGORITHMS,
        **orders,
    }
    (folder / "orders.json").write_text(json.dumps(about))
    command = programs.command(
        {"python": "/usr/bin/python3", "path": str(folder / PROGRAM.name)}, str(folder / "orders.json"), [], ""
    )
    with programs.running(command, folder / "said") as training:
        training.event("ready")
        training.go()
        training.event("listed")
        found = []
        for _ in range(2):
            found.append(training.event("epoch"))
            training.go()
        return found


def test_the_program_of_the_docs_is_the_one_that_is_run() -> None:
    assert PROGRAM.read_text().partition("\n\n")[2] in (ROOT / "docs/train.md").read_text()


def test_each_epoch_is_compared_with_the_manifest(folder: Path) -> None:
    kinds = {name: ALGORITHMS.get(name, "sha256") for name in FILES}
    entries = [
        reader.Entry(name, len(content), f"{kinds[name]}:{hashlib.new(kinds[name], content).hexdigest()}")
        for name, content in FILES.items()
    ]
    epochs = told(folder, root=str(folder / "set"))
    assert [(one["images"], one["steps"]) for one in epochs] == [(7, 3), (7, 3)]
    compared = programs.compare((folder / "epoch-2").read_text(), entries)
    assert (compared["compared"], compared["wrong"], compared["digest"]) == (7, 0, compared["expected_digest"])
    for number in (3, 5):
        (folder / f"set/a/{number}.JPEG").write_bytes(os.urandom(1000 + number))
    told(folder, root=str(folder / "set"))
    wrong = [
        {"path": "a/3.JPEG", "what": "wrong digest"},
        {"path": "a/5.JPEG", "what": "wrong digest, by its ETag"},
    ]
    assert programs.compare((folder / "epoch-2").read_text(), entries)["problems"] == wrong


def test_a_program_is_told_which_files_have_which_digest(tmp_path: Path) -> None:
    files = [reader.Entry("a/1", 1, "md5:00"), reader.Entry("a/2", 1, "sha256:00"), reader.Entry("a/3", 1, None)]
    params = {"scratch": str(tmp_path), "orders": {"folder": "", "shards": None}}
    orders = json.loads(trainings._orders({}, "/set", files, params).read_text())
    assert (orders["files"], orders["algorithms"]) == (["a/1", "a/2", "a/3"], {"a/1": "md5"})


@pytest.mark.parametrize(("world", "count"), [(2, 7), (3, 8), (4, 3)])
def test_shares_of_a_step_are_all_of_it(world: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "roles/train/files"))
    harness = importlib.import_module("harness")
    batch, shares = harness.order(count, 1, 1), []
    for rank in range(world):
        one = harness.Alone()
        one.rank, one.world = rank, world
        shares.append(one.share(batch))
    assert sorted(number for share in shares for number in share) == sorted(batch)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_second_process_of_a_node_says_nothing_but_why_it_failed(folder: Path) -> None:
    """It waits for no word, either, so that it ends by itself, with digests in a file of its own name."""
    orders: dict[str, Any] = {"root": None, "files": [], "algorithms": {}, "folder": "", "classes": ["a"], "model": ""}
    orders |= {"images": 7, "size": 1, "loaders": 0, "gpus": 0, "mark": 1, "batch": 3, "epochs": 1, "seed": 1}
    orders |= {"shown": str(folder)}
    (folder / "orders.json").write_text(json.dumps(orders))
    command = ["/usr/bin/python3", str(folder / PROGRAM.name), str(folder / "orders.json")]
    variables = {**os.environ, "LOCAL_RANK": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    assert done.stdout == ""
    broken = folder / "broken.py"
    broken.write_text("from harness import Harness\nHarness()\nraise ValueError('no')\n")
    begun = [command[0], str(broken), command[2]]
    failed = subprocess.run(begun, capture_output=True, text=True, env=variables, check=False)
    assert json.loads(failed.stdout) == {"event": "failed", "why": "ValueError: no"}
    with (
        pytest.raises(programs.ProgramError, match=r"^it failed: ValueError: no$"),
        programs.running(begun, folder / "said") as training,
    ):
        training.event("ready")


def test_made_up_batches_read_nothing(folder: Path) -> None:
    (first, _) = told(folder, root=None, files=[])
    assert (first["images"], first["bytes"], (folder / "epoch-1").read_text()) == (7, 0, "")


@pytest.mark.parametrize(("version", "begin"), [(1, ["podman", "--runtime=runc", "run"]), (2, ["podman", "run"])])
def test_an_image_is_started_by_a_runtime_that_can(
    version: int, begin: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "cgroup_version", lambda: version)
    program = {"image": "i", "path": "/p.py", "writable": "/w"}
    assert programs.command(program, "/o.json", ["/set"], "c")[: len(begin)] == begin
