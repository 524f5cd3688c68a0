"""Keys that were changed: the master is told first, then FUSE, and it is noted last."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from alluxio_fuse.kubernetes import objects
from alluxio_fuse.kubernetes.client import Cluster, RolloutError


class Noted(Cluster):
    """Notes what is done to it, in order."""

    def __init__(self, fuse: str = "") -> None:
        self.done: list[str] = []
        self._refusal = fuse

    def pods(self, _: str) -> list[dict[str, Any]]:
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        labels = [{"app.kubernetes.io/component": name} for name in ("fuse-a", "mounts", "worker")]
        about = [{"name": f"x-{each['app.kubernetes.io/component']}", "labels": each} for each in labels]
        return [{"metadata": each, "spec": {"nodeName": "n1"}, "status": ready} for each in about]

    def rollout(  # the signature is that of Cluster
        self,
        _: str,
        __: float,
        ___: Any,
        replace: Any = (),
        least: Any = None,  # noqa: ARG002
    ) -> dict[str, list[int]]:
        self.done.append(f"anew {', '.join(replace)}")
        return {}

    def _execute(self, pod: str, container: str, command: Any) -> None:
        if self._refusal:
            raise RolloutError(self._refusal)
        self.done.append(f"{pod}/{container} {command[-1]}")


def test_the_master_is_told_before_fuse_which_forgets_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Noted()
    monkeypatch.setattr("alluxio_fuse.kubernetes.client.time.sleep", lambda _: cluster.done.append("pause"))
    cluster.hand_keys_over("x", 5, lambda _: None)
    forgets = "x-fuse-a/fuse /mnt/x/a/data/.alluxiocli.metadatacache.dropAll"
    assert cluster.done == ["anew x-mounts", forgets, "pause", forgets]


def test_a_fuse_that_does_not_forget_ends_the_run() -> None:
    with pytest.raises(RolloutError, match="No such file"):
        Noted("x-fuse-a: No such file").hand_keys_over("x", 5, lambda _: None)


def test_what_is_noted_tells_keys_apart_and_no_key() -> None:
    text = base64.b64encode(b"canary").decode()
    (secret,) = objects.secrets("x", "space", {"a": {"access_key": "canary", "secret_key": "other"}})
    assert text in str(secret)
    noted = objects.handed_keys("x", "space", {"x-a": "0123456789abcdef"})
    assert noted["metadata"]["name"] == "x-handed-keys"
    assert objects.is_ours(noted["metadata"]["labels"], "x")
