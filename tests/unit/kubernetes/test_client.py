"""Waiting for pods, against a cluster that answers from a list."""

import itertools
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import ApiException
from urllib3.exceptions import ProtocolError

from alluxio_fuse.kubernetes import pods
from alluxio_fuse.kubernetes.client import PATIENCE_S, POLL_S, Cluster, RolloutError

Answer = list[dict[str, Any]] | Exception


class Scripted(Cluster):
    """Answers in order; the last one again and again."""

    def __init__(self, controllers: list[dict[str, Any]], answers: list[Answer]) -> None:
        self._made, self._answers = controllers, answers

    def pods(self, _: str) -> list[dict[str, Any]]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def logs(self, _: str, container: str, *__: Any) -> str:
        return f"last words of {container}"

    def _controllers(self, _: str) -> list[dict[str, Any]]:
        return self._made

    def _events(self, names: set[str]) -> list[dict[str, Any]]:
        return [{"type": "Warning", "reason": "Failed", "message": "no such image", "object": ", ".join(names)}]


class Replacing(Scripted):
    """Notes what is removed."""

    removed: tuple[str, ...] = ()

    def _replace(self, pods: Iterable[Mapping[str, Any]]) -> set[str]:
        gone = {pod["metadata"]["uid"] for pod in pods}
        self.removed += tuple(gone)
        return gone


def worker(ready: bool, image: str = "new", **state: Any) -> dict[str, Any]:
    statuses = [{"name": "worker", "state": state, "restartCount": 0, "ready": ready}]
    return {
        "metadata": {"name": "a-worker-1", "uid": f"uid-{image}", "labels": {pods.COMPONENT: "worker"}},
        "spec": {"nodeName": "n", "containers": [{"name": "worker", "image": image}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}], "containerStatuses": statuses},
    }


WORKERS: dict[str, Any] = {
    "metadata": {"generation": 1},
    "spec": {
        "template": {
            "metadata": {"labels": {pods.COMPONENT: "worker"}},
            "spec": {"containers": [{"name": "worker", "image": "new"}]},
        }
    },
    "status": {"observedGeneration": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1},
}


class Clock:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    time = SimpleNamespace(monotonic=lambda: clock.now, sleep=clock.sleep)
    monkeypatch.setattr("alluxio_fuse.kubernetes.client.time", time)
    return clock


def test_progress_is_said_when_it_changes_and_ends_when_all_are_ready() -> None:
    said: list[str] = []
    cluster = Scripted([WORKERS], [[worker(False)], [worker(False)], [worker(True)]])
    assert cluster.rollout("a", 5, said.append) == {"worker": [1, 1]}
    assert said == ["worker 0 of 1", "worker 1 of 1"]


def test_a_daemonset_that_has_not_seen_a_new_label_yet_is_waited_for() -> None:
    said: list[str] = []
    joined = worker(True) | {"metadata": worker(True)["metadata"] | {"name": "a-worker-2", "uid": "another"}}
    unaware = WORKERS | {"spec": WORKERS["spec"] | {"updateStrategy": {"type": "OnDelete"}}}
    answers: list[Answer] = [[worker(True)], [worker(True), joined]]
    assert Scripted([unaware], [*answers]).rollout("a", 5, said.append) == {"worker": [1, 1]}
    assert Scripted([unaware], [*answers]).rollout("a", 5, said.append, least={"worker": 2}) == {"worker": [2, 2]}
    assert said == ["worker 1 of 1", "worker 1 of 2", "worker 2 of 2"]


def test_it_gives_up_at_once_when_waiting_is_hopeless() -> None:
    lost = worker(False, waiting={"reason": "ErrImagePull", "message": "not found"})
    with pytest.raises(RolloutError, match=r"(?s)ErrImagePull: not found.*no such image"):
        Scripted([WORKERS], [[lost]]).rollout("a", 3600, lambda _: None)


def test_what_a_former_template_left_broken_is_replaced() -> None:
    """A DaemonSet that updates OnDelete, and an ordered StatefulSet, leave such a pod for ever."""
    broken = worker(False, "old", waiting={"reason": "ErrImagePull", "message": "not found"})
    cluster = Replacing([WORKERS], [[broken], [broken], [worker(True)]])
    assert cluster.rollout("a", 5, lambda _: None) == {"worker": [1, 1]}
    assert cluster.removed == ("uid-old",)


def test_what_comes_up_broken_again_is_not_replaced_for_ever() -> None:
    """A webhook that changes images makes every pod look like one of a former template."""
    broken = worker(False, "old", waiting={"reason": "ErrImagePull", "message": "not found"})
    again = worker(False, "older", waiting={"reason": "ErrImagePull", "message": "not found"})
    cluster = Replacing([WORKERS], [[broken], [again]])
    with pytest.raises(RolloutError, match="ErrImagePull: not found"):
        cluster.rollout("a", 5, lambda _: None)
    assert cluster.removed == ("uid-old",)


def test_it_ends_in_time_with_the_last_words() -> None:
    with pytest.raises(RolloutError, match="last words of worker"):
        Scripted([WORKERS], [[worker(False, running={})]]).rollout("a", 0.01, lambda _: None)


def test_a_release_without_controllers_is_not_there() -> None:
    with pytest.raises(RolloutError):
        Scripted([], [[]]).rollout("a", 0.01, lambda _: None)


def workers(ready: int, count: int) -> list[dict[str, Any]]:
    return [worker(number < ready) for number in range(count)]


def updating(updated: int, count: int) -> dict[str, Any]:
    status = {"observedGeneration": 1, "desiredNumberScheduled": count, "updatedNumberScheduled": updated}
    return {**WORKERS, "status": status}


def test_as_long_as_something_new_comes_it_is_waited_for(clock: Clock) -> None:
    answers: list[Answer] = [answer for ready in range(10) for answer in [workers(ready, 10)] * 4]
    Scripted([updating(10, 10)], [*answers, workers(10, 10)]).rollout("a", 5 * POLL_S, lambda _: None)
    assert clock.now == len(answers) * POLL_S > 5 * POLL_S


def test_an_update_from_node_to_node_is_progress(clock: Clock) -> None:
    """All are ready, less the one whose turn it is: what is new is how many were updated."""
    said: list[str] = []
    cluster = Scripted([], [answer for _ in range(20) for answer in (workers(9, 10), workers(10, 10))])
    turns = itertools.count()
    cluster._controllers = lambda _: [updating(min(10, next(turns) // 2), 10)]  # type: ignore[method-assign]
    cluster.rollout("a", 3 * POLL_S, said.append)
    assert said[:3] == ["worker 9 of 10 (0 new)", "worker 10 of 10 (0 new)", "worker 9 of 10 (1 new)"]


def test_a_pod_that_comes_and_goes_is_no_progress(clock: Clock) -> None:
    answers: list[Answer] = [workers(n % 2, 2) for n in range(1000)]
    with pytest.raises(RolloutError):
        Scripted([updating(2, 2)], answers).rollout("a", 10 * POLL_S, lambda _: None)
    assert clock.now < 20 * POLL_S


PASSING = [ApiException(status=500), ApiException(status=503), ApiException(status=429), ProtocolError("reset")]


def test_an_api_server_that_is_away_for_a_while_ends_nothing() -> None:
    answers: list[Answer] = [workers(0, 1), *PASSING, workers(1, 1)]
    assert Scripted([WORKERS], answers).rollout("a", 60, lambda _: None) == {"worker": [1, 1]}


def test_an_api_server_that_stays_away_is_the_reason(clock: Clock) -> None:
    with pytest.raises(RolloutError, match=r"no answer for 60 s.*reset"):
        Scripted([WORKERS], [ProtocolError("reset")]).rollout("a", 3600, lambda _: None)
    assert PATIENCE_S <= clock.now <= PATIENCE_S + 2 * POLL_S


def test_what_is_forbidden_is_not_asked_again(clock: Clock) -> None:
    with pytest.raises(ApiException):
        Scripted([WORKERS], [ApiException(status=403)]).rollout("a", 3600, lambda _: None)
    assert clock.now == 0


class Core:
    """Pods by name; refuses those that are not wanted."""

    def __init__(self, refuses: Exception | None = None, **there: Any) -> None:
        self.there, self._refuses = dict(there), refuses

    def read_namespaced_pod(self, name: str, _: str) -> Any:
        if name not in self.there:
            raise ApiException(status=404)
        return self.there[name]

    def create_namespaced_pod(self, _: str, pod: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        if self._refuses and name == "p3":
            raise self._refuses
        self.there[name] = found(pod["metadata"]["annotations"])

    def delete_namespaced_pod(self, name: str, _: str, **__: Any) -> None:
        if self.there.pop(name, None) is None:
            raise ApiException(status=404)


def found(annotations: dict[str, str], *, lost: bool = False) -> Any:
    ready = [SimpleNamespace(type="Ready", status="False" if lost else "True")]
    status = SimpleNamespace(phase="Running", conditions=ready)
    return SimpleNamespace(metadata=SimpleNamespace(annotations=annotations), status=status)


def cluster_of(core: Core, answers: list[Answer]) -> Scripted:
    cluster = Scripted([], answers)
    cluster._core, cluster._namespace = core, "ns"
    return cluster


PODS: list[dict[str, Any]] = [{"metadata": {"name": f"p{n}"}, "spec": {}} for n in (1, 2, 3)]


@pytest.mark.parametrize(
    ("refusal", "seen"),
    [
        (ApiException(status=403, reason="policy"), RolloutError),
        (ProtocolError("reset"), ProtocolError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_what_was_made_goes_when_another_is_refused_and_what_was_there_stays(
    refusal: Exception, seen: type[BaseException]
) -> None:
    core = Core()
    cluster_of(core, [[{"metadata": {"name": "p1"}, "status": {"phase": "Running"}}]]).run(
        PODS[:1], frozenset({"Running"}), 5, lambda _: None
    )
    core._refuses = refusal
    with pytest.raises(seen):
        cluster_of(core, [[]]).run(PODS, frozenset({"Running"}), 5, lambda _: None)
    assert core.there.keys() == {"p1"}


def test_a_pod_that_its_node_has_lost_is_made_anew() -> None:
    core, answer = Core(), [{"metadata": {"name": "p1"}, "status": {"phase": "Running"}}]
    made: list[bool] = []
    for lost in (False, False, True):
        if core.there:
            core.there["p1"] = found(core.there["p1"].metadata.annotations, lost=lost)
        made.append(cluster_of(core, [answer]).run(PODS[:1], frozenset({"Running"}), 5, lambda _: None)[0])
    assert made == [True, False, True]


def test_what_was_made_goes_when_waiting_fails() -> None:
    core = Core()
    with pytest.raises(ApiException):
        cluster_of(core, [ApiException(status=403)]).run(PODS, frozenset({"Running"}), 5, lambda _: None)
    assert core.there == {}


def test_what_could_not_be_removed_is_named() -> None:
    core = Core(ApiException(status=403, reason="policy"))
    core.delete_namespaced_pod = _fails  # type: ignore[method-assign]
    with pytest.raises(RolloutError, match=r"(?s)policy.*left behind: p1, p2, p3"):
        cluster_of(core, [[]]).run(PODS, frozenset({"Running"}), 5, lambda _: None)


def _fails(*_: Any, **__: Any) -> None:
    raise ProtocolError("reset")
