"""Trying an export on this machine, which may have no NFS client: nothing stays mounted, and the reason is told."""

from __future__ import annotations

import errno
import os

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import exports, mount_calls
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import read_mounts

OPTIONS = "vers=4.1,proto=tcp,clientaddr=0.0.0.0,soft,timeo=50,retrans=1"


def test_a_name_that_nobody_knows() -> None:
    found = exports.try_export({"server": "no.such.host.invalid", "path": "/a", "options": OPTIONS}, [0], 5)
    assert found["state"] == "unreachable"
    assert "no.such.host.invalid" in found["detail"]


def test_a_node_without_mounts_of_its_own_is_not_the_server_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError(errno.EPERM, "unshare of the mounts: Operation not permitted")

    monkeypatch.setattr(mount_calls, "leave_namespace", refused)
    found = exports.try_export({"server": "localhost", "path": "/a", "options": OPTIONS}, [0], 5)
    assert found["state"] == "unsupported"
    assert found["detail"].startswith("this node lets nobody mount: unshare")


@pytest.mark.skipif(os.geteuid() != 0, reason="root mounts")
def test_nothing_answers_there() -> None:
    found = exports.try_export({"server": "localhost", "path": "/a", "options": OPTIONS}, [0], 5)
    assert found["state"] in {"unsupported", "unreachable"}  # without an NFS client in the kernel, and with one
    assert found["detail"].startswith("localhost:/a: ")
    assert not [one for one in read_mounts() if one["source"] == "localhost:/a"]


@pytest.mark.skipif(os.geteuid() != 0, reason="root mounts")
@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_it_is_listed_as_each_user(
    tmp_path_factory: pytest.TempPathFactory, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("exported")
    (folder / "a").write_bytes(b"123")
    for path in (folder, *folder.parents[:2]):  # pytest's own
        path.chmod(path.stat().st_mode | 0o055)
    folder.chmod(mode)
    bound = mount_calls.bind
    monkeypatch.setattr(mount_calls, "mount", lambda _kind, _address, path, _options: bound(str(folder), path))
    found = exports.try_export({"server": "localhost", "path": "/a", "options": OPTIONS}, [0, 1000], 5)
    if mode == 0o755:
        assert (found["state"], found["files"], found["bytes"]) == ("ok", 1, 3)
    else:
        assert (found["state"], found["detail"]) == ("denied", "uid 1000 may not read localhost:/a")
