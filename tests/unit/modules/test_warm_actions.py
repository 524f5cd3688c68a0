"""What warming leans on: measurements kept under an identity, progress parsed, wrong bytes refused."""

import json
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.alluxio.fuse.plugins.action import alluxio_load, read_pass
from ansible_collections.alluxio.fuse.plugins.modules import measurements


def test_measurements_are_added_to_those_of_the_same_identity() -> None:
    once = measurements.merged({}, "imagenet", "id1", {"passes": [1], "load": {"seconds": 3}})
    twice = measurements.merged(once, "imagenet", "id1", {"passes": [2]})
    assert twice["imagenet"]["kept"] == {"passes": [1, 2], "load": {"seconds": 3}}


def test_measurements_of_another_cluster_are_forgotten_and_other_datasets_kept() -> None:
    both = measurements.merged({"other": {"identity": "x", "kept": {}}}, "imagenet", "id1", {"passes": [1]})
    after = measurements.merged(both, "imagenet", "id2", {})
    assert after == {"other": {"identity": "x", "kept": {}}, "imagenet": {"identity": "id2", "kept": {}}}


def test_progress_is_found_below_the_sentence() -> None:
    text = 'Progress for loading path \'/sample\':\n{"mJobState":"RUNNING","mProcessedFileCount":3}\n'
    assert alluxio_load._parsed(text)["mProcessedFileCount"] == 3


def test_progress_that_is_none_is_shown() -> None:
    with pytest.raises(AnsibleActionFail, match="Load for path '/x' not found"):
        alluxio_load._parsed("Load for path '/x' not found.")


FULL = "Status code: 8, message: Failed to free 16777216 bytes space at location"


@pytest.mark.parametrize(
    ("whole", "reasons", "said"),
    [
        (False, {"/set/a": FULL}, ""),
        (True, {"/set/a": FULL}, "load of /set: 1 files failed, /set/a for one: Status code: 8"),
        (
            False,
            {"/set/a": FULL, "/set/b": "Status code: 7, message: denied"},
            "1 files failed, /set/b for one: .* denied",
        ),
    ],
)
def test_a_load_may_find_no_room_where_workers_hold_a_part(
    monkeypatch: pytest.MonkeyPatch, whole: bool, reasons: dict[str, str], said: str
) -> None:
    """As Alluxio 2.9.6 says it."""
    ended = {"mJobState": "SUCCEEDED", "mProcessedFileCount": 2, "mFailedFileCount": len(reasons)}

    def call(_: Any, __: Any, verb: list[str], ___: Any) -> str:
        return json.dumps(ended | ({"mFailedFilesWithReasons": reasons} if "--verbose" in verb else {}))

    monkeypatch.setattr(alluxio_load.ActionModule, "_call", call)
    action = alluxio_load.ActionModule.__new__(alluxio_load.ActionModule)
    args = {"path": "/set", "files": 2, "bytes": 2, "timeout_s": 9, "whole": whole}
    if said:
        with pytest.raises(AnsibleActionFail, match=said):
            action._wait(args, None)
    else:
        assert action._wait(args, None)["mProcessedFileCount"] == 2


@pytest.mark.parametrize("where", ["timed", "verified"])
def test_the_first_wrong_file_is_named(where: str) -> None:
    problems = [{"path": "a", "what": "wrong digest"}]
    result: dict[str, Any] = {"root": "/mnt", "problems": [], "verified": {"problems": []}}
    assert read_pass._wrong([result]) is None
    wrong = result | ({"problems": problems} if where == "timed" else {"verified": {"problems": problems}})
    assert read_pass._wrong([result, wrong]) == "/mnt/a: wrong digest"
