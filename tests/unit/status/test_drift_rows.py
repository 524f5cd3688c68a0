"""Results of tasks in check mode, and a status, as rows: where, what, now, planned."""

from __future__ import annotations

from typing import Any

from alluxio_fuse import drift
from alluxio_fuse.drift import Row
from alluxio_fuse.status.judge import Mounted, Status


def test_what_would_not_change_is_no_row() -> None:
    assert drift.of_result("n1", "Make", {"changed": False, "diff": {"before": "a", "after": "b"}}) == []
    assert drift.render([]).endswith("as planned")


def test_a_loop_counts_each_item_by_itself() -> None:
    result = {
        "changed": True,
        "results": [
            {
                "changed": True,
                "_ansible_item_label": "/a",
                "diff": {"before": {"mode": "0700"}, "after": {"mode": "0755"}},
            },
            {"changed": False, "_ansible_item_label": "/b"},
        ],
    }
    assert drift.of_result("n1", "Make", result) == [Row("n1", "Make: /a", "mode: 0700", "0755")]


def test_texts_show_the_first_line_that_differs() -> None:
    diff = {"before": "one\ntwo\n", "after": "one\nthree\n"}
    assert drift.of_result("n1", "Write", {"changed": True, "diff": [diff]}) == [Row("n1", "Write", "two", "three")]
    new = {"before": "", "after": "three\n"}
    assert drift.of_result("n1", "Write", {"changed": True, "diff": new}) == [Row("n1", "Write", "nothing", "three")]
    prepared = {"prepared": "--- a\n+++ b\n-  image: 1\n+  image: 2\n"}
    assert drift.of_result("n1", "Install", {"changed": True, "diff": prepared})[0][2:] == ("image: 1", "image: 2")


def test_modules_that_name_differences_or_actions_are_believed() -> None:
    named = {"changed": True, "differences": [{"what": "ConfigMap x: data.a", "now": "1", "planned": "2"}]}
    assert drift.of_result("fleet", "Undo", named) == [Row("fleet", "ConfigMap x: data.a", "1", "2")]
    run = {"changed": True, "actions": ["started worker"]}
    assert drift.of_result("n1", "Run", run) == [Row("n1", "Run", "differs", "started worker")]


def test_what_cannot_be_known_is_a_row() -> None:
    assert drift.of_result("n1", "Mount", {"changed": False, "unknown": "no master"}) == [
        Row("n1", "Mount", "cannot be known: no master", "")
    ]
    failed = {"results": [{"failed": True, "item": "a", "msg": "gone"}, {"failed": False, "item": "b"}]}
    assert drift.of_failure("n1", "Run", failed) == [Row("n1", "Run: a", "cannot be known: gone", "")]
    assert drift.of_failure("n1", "Run", {"msg": "gone"})[0].now == "cannot be known: gone"


def status(**about: Any) -> Status:
    empty = {"planned_version": "2.9.6", "versions": [], "masters": "", "workers": "", "under_store": ""}
    return Status(**{"name": "fuse", **empty, "services": [], "mounts": [], "failing": [], **about})


def test_what_runs_otherwise_than_planned() -> None:
    found = status(
        services=[
            {"name": "fuse", "node": "n1", "state": "behind", "why": "older"},
            {"name": "worker", "node": "", "state": "down", "why": "1 of 2 pods are missing"},
            {"name": "master", "node": "n1", "state": "as planned", "why": ""},
        ],
        mounts=[
            Mounted(node="n1", name="a", state="not mounted"),
            Mounted(node="n1", name="b", state="serves", lacks=["ro"]),
            Mounted(node="n2", name="a", state="unreachable", why="Ansible does not reach it"),
        ],
        failing=["namespace: /a not mounted in Alluxio", "worker: 1 of 2 pods are missing"],
    )
    assert drift.of_status(found)[:5] == [
        Row("n1", "fuse", "behind: older", "as planned"),
        Row("fleet", "worker", "down: 1 of 2 pods are missing", "as planned"),
        Row("n1", "mount of a", "not mounted", "serves"),
        Row("n1", "mount of b", "without option ro", "ro"),
        Row("n2", "mount of a", "cannot be known: Ansible does not reach it", "serves"),
    ]
    assert drift.of_status(status()) == []


def test_the_table_holds_no_secret_and_tells_how_many() -> None:
    shown = drift.render([Row("n1", "Write", "s3a.secretKey=hunter2", "x " * 500)])
    assert "hunter2" not in shown
    assert max(map(len, shown.splitlines())) <= drift.WIDTH
    assert "drift    1 differ" in shown
