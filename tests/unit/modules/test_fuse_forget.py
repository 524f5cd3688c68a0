"""Names are forgotten once for each mount that Alluxio declares, and again where that was interrupted."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.module_utils import forgetting
from ansible_collections.alluxio.fuse.plugins.modules import fuse_forget


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Mount points whose FUSE was told to forget, and the pauses between."""
    done: list[str] = []
    monkeypatch.setattr(fuse_forget, "tell", lambda mounts: done.extend(each["mount_point"] for each in mounts))
    monkeypatch.setattr(time, "sleep", lambda _: done.append("pause"))
    return done


def run(capsys: pytest.CaptureFixture[str], *mounts: dict[str, str], **said: Any) -> dict[str, Any]:
    """What the module answers."""
    with patch_module_args({"mounts": list(mounts), **said}), pytest.raises(SystemExit):
        fuse_forget.main()
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.fixture
def bucket(tmp_path: Path) -> dict[str, str]:
    return {"mount_point": "/mnt/x", "note": str(tmp_path / "mount"), "declared": "one"}


def test_once_for_a_new_mount_and_twice_for_one_declared_otherwise(
    asked: list[str], bucket: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, bucket)["changed"]
    assert asked == ["/mnt/x"]
    assert not run(capsys, bucket)["changed"]
    assert asked == ["/mnt/x"]
    assert run(capsys, bucket | {"declared": "two"})["forgotten"] == ["/mnt/x"]
    assert asked == ["/mnt/x", "/mnt/x", "pause", "/mnt/x"]


def test_an_interrupted_run_is_made_up_for(
    asked: list[str], bucket: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def deaf(_mounts: Any) -> None:
        raise fuse_forget.DeafError("does not answer")

    run(capsys, bucket)
    with monkeypatch.context() as broken:
        broken.setattr(fuse_forget, "tell", deaf)
        assert run(capsys, bucket | {"declared": "two"})["msg"] == "does not answer"
    assert run(capsys, bucket | {"declared": "two"})["changed"]


def test_check_mode_tells_and_does_nothing(
    asked: list[str], bucket: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, bucket, _ansible_check_mode=True)["changed"]
    assert asked == []
    assert not Path(bucket["note"]).exists()


def test_without_a_note_each_time(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert [run(capsys, {"mount_point": "/mnt/x"})["changed"] for _ in range(2)] == [False, False]
    assert asked == ["/mnt/x", "/mnt/x"]


def test_one_that_knows_no_such_command_says_so(tmp_path: Path) -> None:
    with pytest.raises(fuse_forget.DeafError, match="it knows no such command"):
        fuse_forget.tell([{"mount_point": str(tmp_path)}])
    (tmp_path / forgetting.COMMAND).touch()
    fuse_forget.tell([{"mount_point": str(tmp_path)}])
