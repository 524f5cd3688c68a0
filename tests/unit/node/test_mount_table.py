"""Mounts are read from the kernel's table, and what may hang is touched by a child only."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
60 27 0:50 / /mnt/data\040set rw,nosuid,nodev shared:7 master:2 - fuse.alluxio-fuse alluxio-fuse rw,user_id=0
61 27 0:51 / /var/lib/a rw - tmpfs one rw,size=1024k
62 61 0:52 / /var/lib/a ro - tmpfs two ro
63 27 254:0 /srv/x /var/lib/ab rw,relatime - ext4 /dev/vda rw
"""


def test_what_was_mounted_beneath_is_not_the_topmost() -> None:
    """It is newer, and the kernel lists it later."""
    beneath = "64 27 0:53 / /mnt/data\\040set rw - overlay later rw"
    table = mount_table.parse_mountinfo(TABLE.replace("60 27 ", "60 64 ") + beneath)
    found = mount_table.mount_at(table, "/mnt/data set")
    assert found
    assert found["number"] == "60"


def test_table() -> None:
    table = mount_table.parse_mountinfo(TABLE)
    assert [mount["shared"] for mount in table] == [False, True, True, False, False, False]
    assert table[2] == {
        "number": "60",
        "parent": "27",
        "point": "/mnt/data set",
        "type": "fuse.alluxio-fuse",
        "source": "alluxio-fuse",
        "options": ["rw", "nosuid", "nodev", "user_id=0"],
        "device": "0:50",
        "root": "/",
        "shared": True,
    }


def test_topmost_mount_counts() -> None:
    table = mount_table.parse_mountinfo(TABLE)
    found = mount_table.mount_at(table, "/var/lib/a")
    assert found is not None
    assert found["source"] == "two"
    assert mount_table.mount_at(table, "/var/lib") is None


@pytest.mark.parametrize(
    ("path", "point"),
    [
        ("/var/lib/a/x", "/var/lib/a"),
        ("/var/lib/abc", "/"),
        ("/var/lib/ab", "/var/lib/ab"),
        ("/", "/"),
        ("/mnt/data set/y", "/mnt/data set"),
    ],
)
def test_mount_that_holds_a_path(path: str, point: str) -> None:
    assert mount_table.mount_of(mount_table.parse_mountinfo(TABLE), path)["point"] == point


def test_child_answers() -> None:
    assert mount_table.in_child(lambda: {"a": [1, None]}, 5) == {"a": [1, None]}
    assert len(mount_table.in_child(lambda: "x" * 1_000_000, 5)) == 1_000_000


def test_error_of_the_child_is_raised_here() -> None:
    with pytest.raises(FileNotFoundError):
        mount_table.in_child(lambda: Path("/nope").stat().st_size, 5)
    with pytest.raises(RuntimeError, match="UnicodeDecodeError: 'utf-8'"):
        mount_table.in_child(b"\xff".decode, 5)


def test_child_that_hangs_is_left_behind() -> None:
    started = time.monotonic()
    assert mount_table.in_child(lambda: time.sleep(600), 0.2) == mount_table.HUNG
    assert time.monotonic() - started < 300  # it did not wait for its child


def test_mount_point_states(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "files").mkdir()
    (tmp_path / "files/one").touch()
    nothing = {"type": None, "source": None}
    for name, state in {"absent": "absent", "empty": "empty", "files": "files", "files/one/below": "absent"}.items():
        assert mount_table.mount_point_state([], str(tmp_path / name)) == {"state": state, **nothing}


def test_mount_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = mount_table.parse_mountinfo(f"60 27 0:50 / {tmp_path} rw - fuse.x source rw")
    about = {"type": "fuse.x", "source": "source"}
    assert mount_table.mount_point_state(table, str(tmp_path)) == {"state": "mounted", **about}

    def gone(_path: str) -> os.statvfs_result:
        raise OSError(107, "Transport endpoint is not connected")

    with monkeypatch.context() as remembered:
        remembered.setattr(os, "statvfs", gone)
        assert mount_table.mount_point_state(table, str(tmp_path)) == {"state": "stale", **about}
        remembered.setattr(os, "statvfs", lambda _: time.sleep(60))  # its master is away, for example
        assert mount_table.mount_point_state(table, str(tmp_path), 0.2) == {"state": "mounted", **about}

    def dead(path: str, mounted: bool) -> int:
        raise OSError(107, f"Transport endpoint is not connected: {path} {mounted}")

    monkeypatch.setattr(mount_table, "_glance", dead)
    assert mount_table.mount_point_state(table, str(tmp_path)) == {"state": "stale", **about}
    monkeypatch.setattr(mount_table, "_glance", lambda *_: time.sleep(60))
    assert mount_table.mount_point_state(table, str(tmp_path), 0.2) == {"state": "hung", **about}
