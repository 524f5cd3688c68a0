"""Indexed Jobs against a cluster that answers from a list: what ends the waiting, and what is removed in any case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from alluxio_fuse.kubernetes import indexed

JOB = {
    "metadata": {"name": "a-train-0"},
    "spec": {"completions": 2, "template": {"spec": {"containers": [{"name": "train"}]}}},
}


def pod(name: str, phase: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeName": f"n{name}"}, "status": {"phase": phase, **status}}


class Scripted(indexed.IndexedJobs):
    """Answers with pods in order, the last ones again and again, and notes what is made and removed."""

    def __init__(self, *answers: list[dict[str, Any]], failed: str = "") -> None:
        self._answers, self._selector, self._namespace = [*answers], "a=b", "space"
        self.notes: list[str] = []
        failure = [SimpleNamespace(type="Failed", message=failed)] if failed else []
        status = SimpleNamespace(status=SimpleNamespace(conditions=failure))
        self._batch: Any = SimpleNamespace(
            create_namespaced_job=lambda *_: self.notes.append("job made"),
            read_namespaced_job=lambda *_: status,
            list_namespaced_job=None,
            delete_namespaced_job=lambda *_, **__: self.notes.append("job removed"),
        )
        self._core: Any = SimpleNamespace(
            create_namespaced_config_map=lambda *_: self.notes.append("made"),
            create_namespaced_service=lambda *_: self.notes.append("made"),
        )

        self.said: list[str] = []
        self.running: list[dict[str, Any]] = []

    def _listed(self, _: Any) -> list[dict[str, Any]]:
        return self.running

    def clean(self) -> None:
        self.notes.append("clean")

    def pods(self, _: str) -> list[dict[str, Any]]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def logs(self, pod: str, *_: Any, **__: Any) -> str:
        if not self.said:
            return f"said by {pod}"
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]

    def remove(self, names: Any) -> bool:
        self.notes.append(f"removed {', '.join(names)}")
        return True


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "POLL_S", 0)
    monkeypatch.setattr(indexed, "SETTLED_S", 0)


def test_pods_that_have_ended_are_heard_and_removed() -> None:
    jobs = Scripted(
        [pod("0", "Pending")], [pod("0", "Running"), pod("1", "Succeeded")], [pod(n, "Succeeded") for n in "01"]
    )
    found, why = jobs.run_job(JOB, 60, lambda _: None)
    assert [(one["node"], one["log"]) for one in found] == [("n0", "said by 0"), ("n1", "said by 1")]
    assert why == ""
    assert jobs.notes == ["job made", "job removed", "removed 0, 1"]


def test_the_end_of_a_log_is_waited_for() -> None:
    jobs = Scripted([pod(name, "Succeeded") for name in "01"])
    jobs.said = ["", "wh", "whole"]
    found, _ = jobs.run_job(JOB, 60, lambda _: None, lambda text: text == "whole")
    assert [one["log"] for one in found] == ["whole", "whole"]


def test_a_job_that_failed_is_not_waited_for() -> None:
    killed = {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]}
    jobs = Scripted([pod("0", "Running"), pod("1", "Failed", **killed)], failed="too many failures")
    found, why = jobs.run_job(JOB, 60, lambda _: None)
    assert ([one["why"] for one in found], why) == (["OOMKilled"], "too many failures")


def test_gpus_that_are_not_there_end_the_waiting() -> None:
    said = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "Insufficient nvidia.com/gpu",
    }
    jobs = Scripted([pod("0", "Pending", conditions=[said])])
    with pytest.raises(indexed.RolloutError, match=r"0: Insufficient nvidia\.com/gpu"):
        jobs.run_job(JOB, 60, lambda _: None)


def test_jobs_of_another_run_are_left_alone() -> None:
    jobs = Scripted([])
    jobs.running = [{"metadata": {"name": "a-train-3"}, "status": {"active": 2, "startTime": "2026-11-27T11:00:00Z"}}]
    with pytest.raises(indexed.RolloutError, match=r"Job a-train-3 runs since 2026-11-27T11"), jobs.prepared([]):
        pass
    assert jobs.notes == []


def test_nothing_stays_whatever_ends_it() -> None:
    jobs = Scripted([])
    shared = [{"kind": kind} for kind in ("ConfigMap", "Service")]
    with pytest.raises(KeyboardInterrupt), interrupted(jobs, shared):
        pass
    assert jobs.notes == ["clean", "made", "made", "clean"]


@contextmanager
def interrupted(jobs: Scripted, shared: list[dict[str, Any]]) -> Iterator[None]:
    with jobs.prepared(shared):
        yield
        raise KeyboardInterrupt
