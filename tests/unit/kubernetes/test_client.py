"""Waiting for pods, against a cluster that answers from a list."""

from typing import Any

import pytest

from alluxio_fuse.kubernetes import pods
from alluxio_fuse.kubernetes.client import Cluster, RolloutError


class Scripted(Cluster):
    """Answers in order; the last one again and again."""

    def __init__(self, controllers: list[dict[str, Any]], answers: list[list[dict[str, Any]]]) -> None:
        self._made, self._answers = controllers, answers

    def pods(self, _: str) -> list[dict[str, Any]]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def logs(self, _: str, container: str, *__: Any) -> str:
        return f"last words of {container}"

    def _controllers(self, _: str) -> list[dict[str, Any]]:
        return self._made

    def _events(self, names: set[str]) -> list[dict[str, Any]]:
        return [{"type": "Warning", "reason": "Failed", "message": "no such image", "object": ", ".join(names)}]


def worker(ready: bool, **state: Any) -> dict[str, Any]:
    statuses = [{"name": "worker", "state": state, "restartCount": 0, "ready": ready}]
    return {
        "metadata": {"name": "a-worker-1", "labels": {pods.COMPONENT: "worker"}},
        "spec": {"nodeName": "n"},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}], "containerStatuses": statuses},
    }


WORKERS = {
    "metadata": {"generation": 1},
    "spec": {"template": {"metadata": {"labels": {pods.COMPONENT: "worker"}}}},
    "status": {"observedGeneration": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1},
}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alluxio_fuse.kubernetes.client.POLL_S", 0)


def test_progress_is_said_when_it_changes_and_ends_when_all_are_ready() -> None:
    said: list[str] = []
    cluster = Scripted([WORKERS], [[worker(False)], [worker(False)], [worker(True)]])
    assert cluster.rollout("a", 5, said.append) == {"worker": [1, 1]}
    assert said == ["worker 0 of 1", "worker 1 of 1"]


def test_it_gives_up_at_once_when_waiting_is_hopeless() -> None:
    lost = worker(False, waiting={"reason": "ErrImagePull", "message": "not found"})
    with pytest.raises(RolloutError, match=r"(?s)ErrImagePull: not found.*no such image"):
        Scripted([WORKERS], [[lost]]).rollout("a", 3600, lambda _: None)


def test_it_ends_in_time_with_the_last_words() -> None:
    with pytest.raises(RolloutError, match="last words of worker"):
        Scripted([WORKERS], [[worker(False, running={})]]).rollout("a", 0.01, lambda _: None)


def test_a_release_without_controllers_is_not_there() -> None:
    with pytest.raises(RolloutError):
        Scripted([], [[]]).rollout("a", 0.01, lambda _: None)
