"""What a namenode answers becomes a listing in the order of keys; tests/sources runs the same against a real one."""

from __future__ import annotations

import io
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import bucket, hdfs, object_stores, objects, store_facts
from requests import Response

SOURCE = "hdfs://namenode.example.com:8020/train/set"
FILES = {
    "a.txt": b"1",
    "a/x": b"22",
    "a/b/y": b"333",
    "a-b": b"4",
    "c/d/e": b"5",
    "é?": b"6",
    "aé": b"7",
    "日本/語": b"8",
    "日/a": b"9",
    **{f"m/{n}": b"" for n in range(7)},
}
EMPTY = ("a/none",)
NO_KEYS = dict.fromkeys(object_stores.KEYS, "")


class Answer:
    """Of a namenode that holds FILES, three names in each answer."""

    def __init__(self, content: Any) -> None:
        self._content = content

    def json(self) -> Any:
        return self._content

    def iter_content(self, size: int) -> Any:
        return iter(lambda: self._content.read(size), b"")

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def namenode(operation: str, path: str, *, stream: bool = False, **further: Any) -> Answer:
    below = path.removeprefix("train/set/")
    if operation == "OPEN":
        return Answer(io.BytesIO(FILES[below][: further.get("length")]))
    names: dict[str, dict[str, Any]] = {}
    for whole in (*FILES, *(f"{empty}/" for empty in EMPTY)):
        if whole.startswith(below) and (name := whole[len(below) :]):
            first, slash, _ = name.partition("/")
            kind, size = ("DIRECTORY", 0) if slash else ("FILE", len(FILES[whole]))
            names[first] = {"pathSuffix": first, "type": kind, "length": size, "modificationTime": 1700000000123}
    after = hdfs.order(further.get("startAfter", ""))
    rows = [names[name] for name in sorted(names, key=hdfs.order) if hdfs.order(name) > after]
    listed = {"partialListing": {"FileStatuses": {"FileStatus": rows[:3]}}, "remainingEntries": len(rows[3:])}
    return Answer({"DirectoryListing": listed})


@pytest.mark.parametrize("few", [8, 0], ids=["one after the other", "side by side"])
def test_folders_are_listed_in_the_order_of_keys(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "FEW_PAGES", few)
    monkeypatch.setattr(bucket, "FULL", 0)
    found = list(objects.entries(hdfs.bucket(namenode, SOURCE)))
    files = [entry.path for entry in found if entry.type == "file"]
    assert files == sorted(FILES, key=hdfs.order)
    folders = {entry.path for entry in found if entry.type == "folder"}
    assert folders == {"a", "a/b", "a/none", "c", "c/d", "m", "日", "日本"}
    (of_x,) = (entry for entry in found if entry.path == "a/x")
    assert (of_x.size, of_x.mtime, of_x.stamp) == (2, 1700000000, "1700000000123")


def test_files_are_read_whole_and_in_part() -> None:
    of = hdfs.bucket(namenode, SOURCE)
    assert b"".join(of.read("train/set/a/b/y", None)) == b"333"
    assert b"".join(of.read("train/set/a/b/y", 2)) == b"33"


@pytest.mark.parametrize(
    ("status", "body", "state", "detail"),
    [
        (
            404,
            '{"RemoteException": {"exception": "FileNotFoundException", "message": "File /none does not exist."}}',
            "missing",
            "FileNotFoundException: File /none does not exist.",
        ),
        (
            403,
            '{"RemoteException": {"exception": "AccessControlException", "message": "Permission denied\\nat x"}}',
            "denied",
            "AccessControlException: Permission denied",
        ),
        (
            403,
            '{"RemoteException": {"exception": "StandbyException", "message": "READ is not supported in standby"}}',
            "unreachable",
            "StandbyException: READ is not supported in standby",
        ),
        (401, "<html>", "denied", "Kerberos: it wants a login by Kerberos, which is not supported"),
        (
            500,
            '{"RemoteException": {"exception": "NullPointerException", "message": null}}',
            "unreachable",
            "NullPointerException: ",
        ),
        (502, "<html>", "unreachable", "HTTP 502: http://namenode.example.com:9870/webhdfs/v1/train/set/: Bad"),
    ],
)
def test_what_a_namenode_refuses_is_told(
    status: int, body: str, state: str, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def answered(self: object, url: str, *, params: dict[str, str], **_: object) -> Response:
        asked.append(params)
        made = Response()
        made.status_code, made.reason, made.url, made.raw = status, "Bad", url, io.BytesIO(body.encode())
        made.headers["WWW-Authenticate"] = "Negotiate"
        return made

    monkeypatch.setattr("requests.Session.get", answered)
    found = store_facts.ask({"source": SOURCE, "store": {}, "limit": 5, **NO_KEYS})
    assert (found["state"], found["detail"]) == (state, detail)
    assert asked == [{"op": "LISTSTATUS_BATCH", "user.name": "alluxio"}]


def test_keys_are_refused() -> None:
    found = store_facts.ask({"source": SOURCE, "store": {}, "limit": 5, **NO_KEYS, "access_key": "AK"})
    assert (found["state"], found["detail"]) == ("contradictory", "keys are given, and HDFS is read without any")
