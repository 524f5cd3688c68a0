"""A suspended Job begins when those that warm have ended, or in time, and what was not warm is said."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import warm_command, warm_release

JOBS = "/apis/batch/v1/namespaces/data/jobs"


class Api:
    """Answers of an API server: for each Job, conditions that it has had so far, one more each time it is asked."""

    def __init__(self, **conditions: list[Any]) -> None:
        self.patched: list[tuple[str, Any]] = []
        self._conditions = conditions

    def __call__(self, method: str, path: str, change: dict[str, Any] | None) -> dict[str, Any]:
        if method == "PATCH":
            self.patched.append((path, change))
            return {}
        left = self._conditions[path.rpartition("/")[2]]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        held = [{"type": answer, "status": "True", "message": "no more pods"}] if answer else []
        return {"status": {"conditions": held}}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_release, "LOOK_S", 0.01)


def test_it_begins_when_all_have_ended() -> None:
    api = Api(a=["", OSError("gone"), "Complete"], b=["", "", "", "", "Complete"])
    assert warm_release.release("data/train", ["data/a", "data/b"], 60, api) == ""
    assert api.patched == [(f"{JOBS}/train", {"spec": {"suspend": False}})]


def test_it_begins_in_time_and_says_what_is_not_warm() -> None:
    api = Api(a=["Complete"], b=["Failed"], c=["Suspended"])
    said = warm_release.release("data/train", ["data/a", "data/b", "data/c"], 0.05, api)
    assert said == "data/b has failed: no more pods, data/c has not ended within 0 s"
    assert len(api.patched) == 1


def test_a_job_that_is_gone_is_not_waited_for() -> None:
    api = Api(a=[warm_release.GoneError("jobs.batch a not found")], b=["Complete"])
    assert warm_release.release("data/train", ["data/a", "data/b"], 60, api) == "data/a is not there"
    assert len(api.patched) == 1


def test_an_api_that_does_not_answer_is_asked_again() -> None:
    """The training stays suspended until the program reaches the API."""
    api = Api(a=["Complete"])
    away = [OSError("too many requests"), OSError("gone")]

    def ask(method: str, path: str, change: dict[str, Any] | None) -> dict[str, Any]:
        if method == "PATCH" and away:
            raise away.pop()
        return api(method, path, change)

    assert warm_release.release("data/train", ["data/a"], 60, ask) == ""
    assert len(api.patched) == 1


def test_what_the_api_refuses_releases_nothing() -> None:
    api = Api(a=[ValueError("jobs.batch a is forbidden")])
    with pytest.raises(ValueError, match="forbidden"):
        warm_release.release("data/train", ["data/a"], 60, api)
    assert api.patched == []


def test_the_command_refuses_a_job_without_its_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    assert warm_command.main("", ["release", "train", "--after", "warm", "--wait", "1"]) == 2
    assert "write it as NAMESPACE/NAME" in capsys.readouterr().err
