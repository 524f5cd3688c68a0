"""Mounts of a node, read without ever touching what is mounted: a dead FUSE mount hangs whoever calls stat on it."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOUNTINFO = "/proc/self/mountinfo"
HUNG = "hung"

Mount = dict[str, Any]


def parse_mountinfo(text: str) -> list[Mount]:
    """Mounts as the kernel lists them: {number, parent, point, type, source, options, device "MAJ:MIN", root, shared}.

    parent: the number of the mount that this one is mounted on.
    """
    mounts = []
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        options = fields[5].split(",") + [option for option in tail[2].split(",") if option not in fields[5].split(",")]
        mounts.append(
            {
                "number": fields[0],
                "parent": fields[1],
                "point": _unescape(fields[4]),
                "type": tail[0],
                "source": _unescape(tail[1]),
                "options": options,
                "device": fields[2],
                "root": _unescape(fields[3]),
                "shared": any(field.startswith("shared:") for field in fields[6:]),
            }
        )
    return mounts


def read_mounts() -> list[Mount]:
    """Mounts that this process sees."""
    return parse_mountinfo(Path(MOUNTINFO).read_text(encoding="utf-8", errors="surrogateescape"))


def mount_at(mounts: list[Mount], point: str) -> Mount | None:
    """The topmost mount at `point`, if there is one: the last on which no other one there is mounted."""
    there = [mount for mount in mounts if mount["point"] == point]
    if len(there) < 2:
        return next(iter(there), None)
    lower = {mount["parent"] for mount in there}
    return next(mount for mount in reversed(there) if mount["number"] not in lower)


def mount_of(mounts: list[Mount], path: str) -> Mount:
    """The mount that holds `path` (existing or not), by the longest mount point that leads to it."""
    leading = [mount for mount in mounts if path == mount["point"] or path.startswith(mount["point"].rstrip("/") + "/")]
    return max(reversed(leading), key=lambda mount: len(mount["point"]))


def in_child(work: Callable[[], Any], limit: float, uid: int | None = None) -> Any:
    """JSON value of `work()` as run by a child process (as user `uid` if root asks); or "hung" after `limit` seconds.

    A child stuck in the kernel cannot be reaped, so it is killed and left behind rather than waited for.
    An OSError of the child is raised here as it was there, another error of it as a RuntimeError that names it.
    """
    source, sink = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(work, sink, uid)
    os.close(sink)
    os.set_blocking(source, False)
    answer, deadline = b"", time.monotonic() + limit
    try:
        while time.monotonic() < deadline:
            try:
                chunk = os.read(source, 65536)
            except BlockingIOError:
                time.sleep(0.002)
                continue
            if chunk:
                answer += chunk
                continue
            os.waitpid(pid, 0)
            kind, value = json.loads(answer)
            if kind == "errno":
                raise OSError(value, os.strerror(value))
            if kind == "error":
                raise RuntimeError(value)
            return value
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
        os.waitpid(pid, os.WNOHANG)
        return HUNG
    finally:
        os.close(source)


def _answer(work: Callable[[], Any], sink: int, uid: int | None) -> None:
    try:
        if uid is not None and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        answer = ["value", work()]
    except OSError as error:
        answer = ["errno", error.errno or errno.EIO]
    except Exception as error:
        answer = ["error", f"{type(error).__name__}: {error}"]
    view = memoryview(json.dumps(answer).encode())
    while view:
        view = view[os.write(sink, view) :]
    os._exit(0)


def mount_point_state(mounts: list[Mount], path: str, limit: float = 2.0) -> dict[str, str | None]:
    """What is at a place meant for a mount: {state, type, source}.

    state: absent | empty | files | mounted | stale (its daemon is dead) | hung (its daemon does not answer).
    """
    mount = mount_at(mounts, path)
    about: dict[str, str | None] = {
        "type": mount["type"] if mount else None,
        "source": mount["source"] if mount else None,
    }
    try:
        names = in_child(lambda: _glance(path, bool(mount)), limit)
        if mount and mount["type"].startswith("fuse") and names != HUNG:
            # The kernel may know the folder for hours after its daemon died; this the daemon is always asked.
            in_child(lambda: os.statvfs(path).f_namemax, limit)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and not mount:
            return {"state": "absent", **about}
        if mount or error.errno == errno.ENOTCONN:
            return {"state": "stale", **about}
        raise
    if names == HUNG:
        return {"state": HUNG, **about}
    if mount:
        return {"state": "mounted", **about}
    return {"state": "files" if names else "empty", **about}


def _glance(path: str, mounted: bool) -> int:
    """1 if there is something in the folder; of a mount, only that it answers."""
    if mounted:
        os.stat(path)  # noqa: PTH116
        return 1
    with os.scandir(path) as entries:
        return int(next(entries, None) is not None)


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)
