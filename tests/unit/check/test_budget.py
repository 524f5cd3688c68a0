"""What a harmless check may cost: passes that would go over the budget are left out, and say so."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import manifests
import pytest
from ansible_collections.alluxio.fuse.plugins.action.read_pass import ActionModule
from ansible_collections.alluxio.fuse.plugins.module_utils import reader

from alluxio_fuse.check import passes, table
from alluxio_fuse.check.budget import Spent
from alluxio_fuse.check.verdict import check
from alluxio_fuse.plan.intent.work import CheckBudget
from check.made import HEADER, MOUNT, Made

READ_PASS = Path(__file__).parents[3] / "plugins/modules/read_pass.py"
HARMLESS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": False}
DATASET = {
    "mount_point": MOUNT,
    "source": "s3://bucket/set",
    "folder": "",
    "client_cache_bytes": 1 << 40,
    "disk_copy": "/copy",
}


def one(**changed: Any) -> dict[str, Any]:
    return {"path": "mount", "before": "forget", "bytes": 100, "name": "x", **changed}


def costs(fetched: int, **counters: Any) -> dict[str, Any]:
    counted = {"under_store": fetched, "client_external": fetched, **counters}
    return {"expected_bytes": 100, "repeats_counters": [counted]}


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"bytes": 350}, "bytes 350"),
        ({"under_store": 240}, "under_store 240"),
        ({"seconds": 8}, "seconds 8 s"),
    ],
)
def test_a_pass_that_may_go_over_is_not_made(limits: dict[str, int], what: str) -> None:
    spent = Spent(CheckBudget(**limits))
    for _ in range(3):
        assert spent.short_for(one()) is None
        spent.add(one(), costs(50), 2.5)
    assert spent.short_for(one()) == f"it would go over the budget, alluxio_check_budget.{what}"


def test_a_warm_up_counts_as_often_as_it_may_be_repeated() -> None:
    spent = Spent(CheckBudget(bytes=799))
    assert spent.short_for(one(agree=0.1, repeats=8))
    assert Spent(CheckBudget(bytes=800)).short_for(one(agree=0.1, repeats=8)) is None


def test_the_page_cache_costs_nothing_and_a_copy_no_under_store() -> None:
    spent = Spent(CheckBudget(bytes=100, under_store=1))
    assert spent.short_for(one(before=None)) is None
    assert spent.short_for(one(path="disk")) is None
    assert spent.short_for(one(path="disk", source=True)) == spent.over("under_store")
    spent.add(one(path="disk"), costs(0), 1)
    assert (spent.bytes, spent.under_store) == (100, 0)


@pytest.mark.parametrize(
    ("given", "counters", "fetched"),
    [
        ({}, {}, 30),
        ({}, {"under_store": 10**9}, 100),  # others read through the same workers
        ({}, {"under_store": None}, 30),
        ({}, {"under_store": None, "client_external": None}, 100),  # nobody knows: all of it
        ({"direct": True}, {"under_store": 0}, 100),
        ({"path": "disk", "source": True}, {}, 100),
    ],
)
def test_what_came_from_the_under_store_is_never_counted_too_low(
    given: dict[str, Any], counters: dict[str, Any], fetched: int
) -> None:
    spent = Spent(CheckBudget())
    spent.add(one(**given), costs(30, **counters), 1)
    assert spent.under_store == fetched


def test_by_default_five_rounds_of_probe_sets_are_within_it() -> None:
    spent = Spent(CheckBudget())
    for each in passes.rounds(HEADER, DATASET, passes.CheckSettings.model_validate(HARMLESS)):
        assert spent.short_for(each) is None
        spent.add(each, {"expected_bytes": each["bytes"], "repeats_counters": [{}] * each.get("repeats", 1)}, 1)


def test_the_action_leaves_the_rest_out(monkeypatch: pytest.MonkeyPatch, passed: Made) -> None:
    made: list[dict[str, Any]] = []

    def module(_: Any, module_args: dict[str, Any], **__: Any) -> dict[str, Any]:
        made.append(module_args)
        result = passed() | {"expected_bytes": 100, "repeats_counters": [{"under_store": 0}]}
        return {"results": [result], "given_up": len(made) == 2}

    action = ActionModule.__new__(ActionModule)
    action._task = type("Task", (), {"name": "t", "args": {"budget": {"bytes": "250"}, "passes": [one()] * 4}})()
    monkeypatch.setattr("ansible.plugins.action.ActionBase.run", lambda *_: {})
    monkeypatch.setattr(ActionModule, "_execute_module", module)
    assert action.run()["left_out"] == "it would go over the budget, alluxio_check_budget.seconds 600 s"
    assert [("budget" in each, 0 < each["seconds"] <= 600) for each in made] == [(False, True)] * 2
    made = [{}, {}]  # from here on no pass is given up
    assert action.run()["left_out"] == "it would go over the budget, alluxio_check_budget.bytes 250"
    assert len(made) == 4


def test_a_pass_is_given_up_whatever_it_waits_for(tmp_path: Path) -> None:
    root = tmp_path / "set"
    root.mkdir()
    (root / "a").write_bytes(b"x" * 1000)
    manifests.save(root, tmp_path / "m")
    (root / "a").unlink()
    subprocess.run(["mkfifo", str(root / "a")], check=True)  # opening it waits for a writer that never comes
    each = {"name": "x", "path": "mount", "state": "cold", "root": str(root), "kind": "small", "verify": False}
    arguments = {"manifest": str(tmp_path / "m"), "passes": [each], "seconds": 1.5}
    done = subprocess.run(
        [sys.executable, "-m", "ansible_collections.alluxio.fuse.plugins.modules.read_pass"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        cwd=READ_PASS.parents[2] / "collections",
        capture_output=True,
        text=True,
        check=False,
    )
    answer = json.loads(done.stdout)
    assert (answer["given_up"], answer["results"]) == (True, []), answer


def test_who_gives_up_leaves_no_reader_behind() -> None:
    def work(share: list[float]) -> None:
        time.sleep(share[0])

    def give_up(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        reader.fork_map(work, [[600.0], [600.0]])
    assert time.monotonic() - begun < 300  # it did not wait for its readers


def test_two_first_reads_from_workers_are_enough_where_there_are_files_for_no_more(
    measured: dict[str, Any], passed: Made
) -> None:
    """Four large files: two are read cold, two from workers."""
    size = {"files": 4, "bytes": 512_000_000}
    four = passed(state="worker", kind="large", expected_files=1, files=1, expected_bytes=1 << 27, bytes=1 << 27)
    four["counters"] |= {"client_external": 1 << 27, "worker": 1 << 27}
    few = measured | {"kept": [four, four]}
    said = "large files, mount, worker: only 2 passes have proven their state"
    for large, wanted in ((size, False), (measured["manifest"]["large"], True)):
        result = check([few | {"manifest": measured["manifest"] | {"large": large}}], {}, HARMLESS, "", {})
        assert any(said in reason for reason in result.reasons) is wanted


def test_rows_without_passes_read_not_tested_and_why(measured: dict[str, Any]) -> None:
    why = Spent(CheckBudget()).over("bytes")
    few = [r for r in measured["results"] if r["kind"] == "small"]
    result = check([measured | {"results": few, "left_out": why}], {}, HARMLESS, "", {})
    untested = {row.state: row.why for row in result.datasets[0].rows if not row.established}
    assert untested == {"client-cache": f"not tested: {why}", "page-cache": f"not tested: {why}"}
    assert result.verdict == "PASS"
    assert "alluxio_check_budget.bytes 8Gi" in table.render(result)
    two = [r for r in few if r["state"] == "warm-up"] + [r for r in few if r["state"] == "client-cache"][:2]
    for left_out, said in ((why, why), ("", "no more were made of these files")):
        result = check([measured | {"results": two, "left_out": left_out}], {}, HARMLESS, "", {})
        assert result.verdict == "CANNOT TELL"
        assert any(f"only 2 passes have proven their state: {said}" in reason for reason in result.reasons)
