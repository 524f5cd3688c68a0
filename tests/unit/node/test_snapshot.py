"""The comparison of a node before and after must be able to fail."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "support" / "snapshot.py"
NODE = {
    "files": {"/etc/passwd": "-rw-r--r-- 0:0 aa"},
    "mounts": {"/": "ext4"},
    "units": {"ssh.service": "loaded active"},
    "processes": {"sshd": "1"},
    "packages": {"bash": "installed 5"},
    "packaged": {"/etc/bash.bashrc": "bash"},
    "settings": {"/sys/block/sda/queue/read_ahead_kb": "128"},
}


@pytest.fixture(scope="module")
def snapshot() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snapshot", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("section", "what", "how"),
    [
        ("files", "/etc/passwd", "-rw-rw-rw- 0:0 aa"),
        ("files", "/var/lib/alluxio-fuse", "drwxr-xr-x 0:0"),
        ("mounts", "/var/lib/alluxio-fuse/tier/memory", "tmpfs"),
        ("units", "alluxio-fuse.service", "loaded active"),
        ("processes", "java", "1"),
        ("packages", "bash", "installed 6"),
        ("settings", "/sys/block/sda/queue/read_ahead_kb", "4096"),
    ],
)
def test_a_difference_is_seen(snapshot: ModuleType, section: str, what: str, how: str) -> None:
    after = copy.deepcopy(NODE)
    after[section][what] = how
    found = snapshot.compare(NODE, after, snapshot.read_exceptions())
    assert len(found) == 1
    assert found[0].startswith(f"{section}: {what}: ")
    assert len(snapshot.compare(after, NODE, snapshot.read_exceptions())) == 1


def test_packages_that_came_and_their_files_are_none(snapshot: ModuleType) -> None:
    after = copy.deepcopy(NODE)
    after["packages"]["fuse3"] = "installed 3"
    after["packaged"]["/etc/fuse.conf"] = "fuse3"
    after["files"]["/etc/fuse.conf"] = "-rw-r--r-- 0:0 bb"
    assert snapshot.compare(NODE, after, {}) == []
    after["files"]["/etc/fuse.conf.d"] = "drwxr-xr-x 0:0"
    assert len(snapshot.compare(NODE, after, {})) == 1


def test_it_sees_this_machine(snapshot: ModuleType) -> None:
    taken = snapshot.take()
    assert "/" in taken["mounts"]
    assert "/etc/passwd" in taken["files"]
    assert "/proc/sys/fs/nr_open" in taken["settings"]


def test_what_changed_on_this_machine(snapshot: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "take", lambda: NODE)
    assert snapshot.changes(NODE) == []
    assert snapshot.changes({**NODE, "mounts": {}}) == ["mounts: /: absent -> ext4"]
