"""What module warm_task does with what it is given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ansible_collections.alluxio.fuse.plugins.modules import warm_task
from warmed import Warmed

SAID: dict[str, Any] = {
    "verb": "start",
    "id": "20260102-030405-0a1b",
    "operation": "load",
    "into": "workers",
    "datasets": [],
    "paths": [],
    "include": [],
    "exclude": [],
    "verify": False,
    "bandwidth": 0,
    "share": {"place": 0, "nodes": 1},
}


def test_a_users_list_stays(warmed: Warmed, tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_text("class-0\n")
    said = {**SAID, "folder": warmed.folder, "filelist": str(listed)}
    answer = warm_task.answer(SimpleNamespace(params=said, check_mode=False))
    assert (answer["changed"], [one["files"] for one in answer["tasks"]]) == (True, [20])
    assert listed.read_text() == "class-0\n"
