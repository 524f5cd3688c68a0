"""An hdfs:// source as its namenode's WebHDFS shows it, on the controller."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import quote, urlsplit

from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import (
    CHUNK_BYTES,
    THREADS,
    Bucket,
    Object,
    Page,
    split,
)

USER = "alluxio"  # as whom services read: what the image calls uid 1000
WEB_PORT = 9870  # of a namenode, unless its administrator has moved it
PAGE_OBJECTS = 1000
KERBEROS = "Kerberos"
_SIGNED = bytes(byte ^ 0x80 for byte in range(256))

Get = Callable[..., Any]


class Answered(Exception):  # noqa: N818 - what a namenode says
    """What a namenode answered in place of what it was asked for. code: the class of its Java exception, mostly."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


def client(settings: dict[str, Any], source: str) -> Get:
    """What asks for an operation on a path; settings are what the dataset says as `hdfs`."""
    import requests  # noqa: PLC0415 (only an HDFS source needs it, a node's Python lacks it)
    from requests.adapters import HTTPAdapter  # noqa: PLC0415
    from urllib3.util import Retry  # noqa: PLC0415

    web = str(settings.get("web") or f"http://{urlsplit(source).hostname}:{WEB_PORT}").rstrip("/")
    session = requests.Session()
    adapter = HTTPAdapter(pool_maxsize=THREADS, max_retries=Retry(2, backoff_factor=0.5))
    session.mount("http://", adapter)
    session.mount("https://", adapter)

    def get(operation: str, path: str, *, stream: bool = False, **further: Any) -> Any:
        """The answer; a datanode's, where the namenode sends on to one."""
        asked = {"op": operation, "user.name": USER, **further}
        url = f"{web}/webhdfs/v1/{quote(path)}"
        answer = session.get(url, params=asked, timeout=(10, 60), stream=stream)
        if not answer.ok:
            raise _answered(answer)
        return answer

    return get


def _answered(answer: Any) -> Answered:
    if answer.status_code == 401 and "Negotiate" in answer.headers.get("WWW-Authenticate", ""):
        return Answered(KERBEROS, "it wants a login by Kerberos, which is not supported")
    try:
        said = answer.json()["RemoteException"]
        return Answered(said["exception"], (said.get("message") or "").partition("\n")[0])
    except (ValueError, KeyError, TypeError):
        return Answered(f"HTTP {answer.status_code}", f"{answer.url.partition('?')[0]}: {answer.reason}")


def bucket(get: Get, source: str) -> Bucket:
    """A source, asked for by a client: folders are keys that end with a slash."""
    _, prefix = split(source)

    def pages(below: str, to_slash: bool) -> Iterator[Page]:
        found = _folder(get, below) if to_slash else _walk(get, below)
        while page := list(islice(found, PAGE_OBJECTS)):
            folders = [one.key for one in page if to_slash and _is_folder(one) and one.key != below]
            yield Page([one for one in page if one.key not in folders] if folders else page, folders)

    def read(key: str, limit: int | None) -> Iterable[bytes]:
        part = {"length": limit} if limit else {}
        with get("OPEN", key, stream=True, **part) as answer:
            yield from answer.iter_content(CHUNK_BYTES)

    return Bucket(prefix, pages, read, order)


def order(key: str) -> bytes:
    """A namenode lists in the order of bytes, which Java takes for signed: names beyond ASCII come first."""
    return key.encode().translate(_SIGNED)


def error_code(error: Exception) -> str:
    """What the namenode calls what went wrong; empty where it did not answer."""
    return error.code if isinstance(error, Answered) else ""


def _walk(get: Get, folder: str) -> Iterator[Object]:
    for item in _folder(get, folder):
        if _is_folder(item) and item.key != folder:
            yield from _walk(get, item.key)
        else:
            yield item


def _folder(get: Get, folder: str) -> Iterator[Object]:
    """A folder itself and what is in it, by keys; the namenode lists by names, which have no slash."""
    yield Object(folder, 0, None, "")
    later: list[tuple[bytes, Object]] = []
    for row in _rows(get, folder):
        key = f"{folder}{row['pathSuffix']}"
        while later and later[0][0] < order(key):
            yield heapq.heappop(later)[1]
        is_folder, mtime = row["type"] == "DIRECTORY", row["modificationTime"]
        # what a namenode knows of a file's content without reading it
        item = Object(f"{key}/", 0, None, "") if is_folder else Object(key, row["length"], mtime // 1000, str(mtime))
        heapq.heappush(later, (order(item.key), item))
    while later:
        yield heapq.heappop(later)[1]


def _rows(get: Get, folder: str) -> Iterator[dict[str, Any]]:
    """What the namenode lists of a folder; it gives some at a time."""
    after: dict[str, str] = {}
    while True:
        listed = get("LISTSTATUS_BATCH", folder, **after).json()["DirectoryListing"]
        rows = listed["partialListing"]["FileStatuses"]["FileStatus"]
        if any(not row["pathSuffix"] for row in rows):
            raise Answered("NotADirectory", f"/{folder.rstrip('/')} is a file; name its folder")
        yield from rows
        if not listed["remainingEntries"]:
            return
        after = {"startAfter": rows[-1]["pathSuffix"]}


def _is_folder(item: Object) -> bool:
    return item.key.endswith("/")
