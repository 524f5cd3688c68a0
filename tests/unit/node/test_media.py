"""What is refused of a medium, and what it needs; nothing here is changed."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    blockdev,
    filesystems,
    media,
    mount_calls,
    mount_table,
    ownership,
    speed,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.filesystems import read_filesystems
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import Mount
from ansible_collections.alluxio.fuse.plugins.modules import cache_media_speed, tmpfs_size

BLANK: dict[str, Any] = {"block": True, "signature": None, "uuid": None, "partitions": [], "holders": [], "busy": False}
ROOT: Mount = {"point": "/", "type": "ext4", "source": "/dev/vda", "options": ["rw"], "device": "254:0", "root": "/"}


def medium(path: Path | str, kind: str, **more: Any) -> dict[str, Any]:
    about = {"name": "m", "medium": "ssd", "kind": kind, "path": str(path), "size": 4096, "owner": 1000, "mode": "0750"}
    return {**about, "mount": None, "device": None, "filesystem": "xfs", "wipe": False, **more}


def look(about: dict[str, Any], mounts: list[Mount], *items: dict[str, Any], numa: int = 1) -> dict[str, Any]:
    record = ownership.add(ownership.empty("a"), list(items))
    found: dict[str, Any] = media.inspect(about, [ROOT, *mounts], record, "machine", numa)
    return found


def reasons(state: dict[str, Any]) -> str:
    assert all(finding["remedy"] for finding in state["findings"])
    return "; ".join(f"{finding['path']}: {finding['reason']}" for finding in state["findings"])


def test_new_tmpfs(tmp_path: Path) -> None:
    state = look(medium(tmp_path / "x/y", "tmpfs"), [], numa=2)
    assert (state["action"], state["source"], state["parents"]) == ("mount", "a-m", [str(tmp_path / "x")])
    assert state["options"][:4] == ["size=4096", "mode=0750", "uid=1000", "gid=1000"]
    assert "mpol=interleave" in state["options"]
    assert not reasons(state)


@pytest.mark.parametrize(
    ("takes", "there", "wanted"),
    [
        ({"huge", "noswap"}, None, {mount_calls.HUGE, mount_calls.NOSWAP}),
        ({"huge", "noswap"}, ["rw"], {mount_calls.HUGE}),
        ({"huge", "noswap"}, ["rw", mount_calls.NOSWAP], {mount_calls.HUGE, mount_calls.NOSWAP}),
        ({"huge"}, None, {mount_calls.HUGE}),
        (set(), None, set()),
    ],
    ids=["new", "mounted before", "mounted without swap", "before 6.4", "neither"],
)
def test_tmpfs_gets_what_the_kernel_has_and_a_remount_can_set(
    takes: set[str], there: list[str] | None, wanted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mount_calls, "accepts", lambda _, option: option.partition("=")[0] in takes)
    mounts = [{**ROOT, "point": "/t", "type": "tmpfs", "source": "a-m", "options": there}] if there else []
    monkeypatch.setattr(media, "tmpfs_size", lambda _: 4096)
    options = look(medium("/t", "tmpfs"), mounts)["options"]
    assert {mount_calls.HUGE, mount_calls.NOSWAP} & {*options} == wanted
    assert (mount_calls.ALL_FILES in options) == (not there)
    assert ("nofail" in options) == (mount_calls.NOSWAP in wanted)  # for a boot into an older kernel


def test_a_tmpfs_of_caches_holds_as_many_files_as_there_is_room_for(tmp_path: Path) -> None:
    options = media.memory_options(None)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", ",".join(["size=8m", *options]).replace(",nofail", ""), "none", tmp_path],
        check=True,
    )
    try:
        assert os.statvfs(tmp_path).f_files == 0
        mounts = mount_table.read_mounts()
        assert media.memory_options(mount_table.mount_at(mounts, str(tmp_path))) == options
        (found,) = [one for one in read_filesystems(mounts, ownership.empty("")) if one["mount"] == str(tmp_path)]
        assert found["inodes_free"] is None
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_the_kernel_is_asked_without_a_mount(tmp_path: Path) -> None:
    """What it accepts it mounts, and what it refuses it does not."""
    before = mount_table.read_mounts()
    for option in (mount_calls.HUGE, mount_calls.NOSWAP, "huge=sometimes", "no-such-option"):
        taken = mount_calls.accepts("tmpfs", option)
        assert mount_table.read_mounts() == before
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", option, "none", tmp_path], check=False, capture_output=True
        )
        if done.returncode == 0:
            subprocess.run(["umount", tmp_path], check=True)
        assert taken == (done.returncode == 0), option
    assert not mount_calls.accepts("no-such-filesystem", mount_calls.NOSWAP)


def test_tmpfs_grows_by_remount_and_shrinks_once_it_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Room:
        f_blocks, f_bfree, f_frsize = 4, 2, 4096

    monkeypatch.setattr(os, "statvfs", lambda _: Room)
    mount = {**ROOT, "point": "/t", "type": "tmpfs", "source": "a-m"}
    assert look(medium("/t", "tmpfs", size=4 * 4096), [mount])["action"] == "none"
    assert look(medium("/t", "tmpfs", size=9 * 4096), [mount])["action"] == "remount"
    less = look(medium("/t", "tmpfs", size=4096), [mount])
    assert (less["action"], reasons(less)) == ("shrink", "")


@pytest.mark.parametrize(
    ("given", "holds", "answer"),
    [
        ({"patience": 0}, [8192], {"changed": False, "full": 8192}),
        ({"patience": 60}, [8192, 8192, 4096], {"changed": True}),
        ({"patience": 0, "_ansible_check_mode": True}, [8192], {"changed": False, "full": 8192}),
        ({"patience": 60, "_ansible_check_mode": True}, [8192], {"changed": True}),
        ({"patience": 0}, [4096], {"changed": True}),
    ],
)
def test_a_tmpfs_keeps_its_size_while_it_holds_more(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    given: dict[str, Any],
    holds: list[int],
    answer: dict[str, Any],
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(mount_table, "read_mounts", lambda: [{**ROOT, "point": "/t", "type": "tmpfs"}])
    monkeypatch.setattr(media, "tmpfs_size", lambda _: 1 << 20)
    monkeypatch.setattr(media, "tmpfs_used", lambda _: holds.pop(0))
    monkeypatch.setattr(media, "resize_tmpfs", lambda _, size: sizes.append(size))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with patch_module_args({"path": "/t", "size": 4096, **given}), pytest.raises(SystemExit):
        tmpfs_size.main()
    said = json.loads(capsys.readouterr().out)
    assert {key: said[key] for key in ("changed", "full") if key in said} == answer
    assert sizes == ([4096] if answer["changed"] and "_ansible_check_mode" not in given else [])


def test_what_others_mounted_is_refused() -> None:
    mount = {**ROOT, "point": "/t", "type": "xfs", "source": "/dev/sdb"}
    assert "xfs /dev/sdb is mounted there" in reasons(look(medium("/t", "tmpfs"), [mount]))


@pytest.mark.parametrize("kind", ["tmpfs", "directory"])
def test_files_of_others_are_refused_and_ours_are_not(tmp_path: Path, kind: str) -> None:
    (tmp_path / "photo").touch()
    assert "files of others: photo" in reasons(look(medium(tmp_path, kind), []))
    assert not reasons(look(medium(tmp_path, kind), [], {"kind": "directory", "id": str(tmp_path)}))


def test_filesystem_must_be_mounted(tmp_path: Path) -> None:
    about = medium(tmp_path / "tier", "filesystem", mount=str(tmp_path))
    assert f"not mounted at {tmp_path}" in reasons(look(about, []))
    assert not reasons(look(about, [{**ROOT, "point": str(tmp_path), "type": "xfs"}]))


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"signature": "ext4"}, "it holds data (ext4)"),
        ({"signature": "gpt", "partitions": ["sdb1"]}, "it has partitions: sdb1"),
        ({"holders": ["md0"]}, "it is part of md0"),
        ({"busy": True}, "mounted or otherwise in use"),
    ],
)
def test_device_that_is_not_empty_is_refused(state: dict[str, Any], reason: str) -> None:
    found = media.device_findings(medium("/t", "device", device="/dev/sdb"), {**BLANK, **state})
    assert reason in "; ".join(finding["reason"] for finding in found)
    assert found[0]["value"] == "/dev/sdb"


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "signature"),
    [
        (0, "DEVNAME=/dev/x\nTYPE=ext4\n", "", "ext4"),
        (0, "PTTYPE=gpt\n", "", "gpt"),
        (2, "", "", None),
        (
            2,
            "",
            "blkid: error: /dev/x: Permission denied\n",
            "something unknown (blkid: error: /dev/x: Permission denied)",
        ),
        (1, "", "", "something unknown (blkid ends with 1)"),
        (4, "", "", "something unknown (blkid ends with 4)"),
        (8, "", "", "several signatures"),
        (-9, "", "", "something unknown (blkid ends with -9)"),
    ],
)
def test_only_what_blkid_finds_nothing_on_is_blank(
    monkeypatch: pytest.MonkeyPatch, code: int, stdout: str, stderr: str, signature: str | None
) -> None:
    answer = subprocess.CompletedProcess(["blkid"], code, stdout, stderr)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    assert blockdev.signature("/dev/x") == signature


def test_wiping_waives_signatures_and_nothing_else() -> None:
    about = medium("/t", "device", device="/dev/sdb", wipe=True)
    assert media.device_findings(about, {**BLANK, "signature": "ext4"}) == []
    for state in ({"partitions": ["sdb1"]}, {"holders": ["md0"]}, {"busy": True}):
        assert media.device_findings(about, {**BLANK, "signature": "ext4", **state})


def test_our_filesystem_is_known_by_record_and_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    device = "/dev/disk/by-id/x"
    ours = media.filesystem_id("a", "machine", device)
    about, owned = medium("/t", "device", device=device), {"kind": "filesystem", "id": device}
    monkeypatch.setattr(media, "device_state", lambda _: {**BLANK, "signature": "xfs", "uuid": ours})
    assert not reasons(look(about, [], owned))
    assert look(about, [], owned)["source"] == f"UUID={ours}"
    assert "it holds data" in reasons(look(about, []))
    monkeypatch.setattr(media, "device_state", lambda _: {**BLANK, "signature": "xfs", "uuid": "of-others"})
    assert "it holds data" in reasons(look(about, [], owned))
    monkeypatch.setattr(media, "device_state", lambda _: {**BLANK, "block": False})
    assert "no block device" in reasons(look(about, []))


def test_record_of_what_will_be_made(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir(mode=0o700)
    states = [
        look(medium(tmp_path / "new/t", "tmpfs"), []),
        look(medium(old, "directory"), []),
    ]
    items = media.record_items(states, systemd=True)
    kinds = [(item["kind"], item["id"]) for item in items]
    assert kinds == [
        ("directory", str(tmp_path / "new")),
        ("directory", str(tmp_path / "new/t")),
        ("tmpfs", str(tmp_path / "new/t")),
        ("line", f"/etc/fstab {tmp_path}/new/t"),
        ("directory", str(old)),
    ]
    assert items[-1]["data"]["before"]["mode"] == "0700"
    assert items[-1]["data"]["contents"]


def test_folders_on_a_medium_wait_for_its_mount(tmp_path: Path) -> None:
    states = [
        look(medium(tmp_path / "media/one", "tmpfs"), []),
        look(medium(tmp_path / "media/one/deep/tier", "directory"), []),
        look(medium(tmp_path / "media/only/tier", "directory"), []),
    ]
    assert media.parents_to_make(states) == [str(tmp_path / "media"), str(tmp_path / "media/only")]


def test_what_this_deployment_holds_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "state/tier").mkdir(parents=True)
    (tmp_path / "state/tier/block").write_bytes(b"x" * 100_000)
    record = ownership.add(
        ownership.empty("a"),
        [
            {"kind": "directory", "id": str(tmp_path / "state")},
            {"kind": "directory", "id": str(tmp_path / "state/tier")},
            {"kind": "image", "id": "i", "data": {"path": "/var/lib/containers", "bytes": 7}},
            {"kind": "directory", "id": str(tmp_path / "gone")},
        ],
    )
    held = filesystems.disk_usage(str(tmp_path / "state"), set())
    assert held > 100_000
    assert filesystems.owned_bytes([ROOT], record) == {"/": held + 7}
    assert filesystems.disk_usage(str(tmp_path / "state"), {str(tmp_path / "state/tier")}) < 10_000


def test_each_disk_is_measured_once(tmp_path: Path) -> None:
    device = {"kind": "device", "medium": "ssd", "path": "/m/nvme", "device": "/dev/disk/by-id/nvme"}
    below = {"kind": "directory", "medium": "ssd", "path": "/m/nvme/tier"}
    folders = [{"kind": "directory", "medium": "hdd", "path": f"/srv/{use}"} for use in ("tier", "client-cache")]
    memory = {"kind": "tmpfs", "medium": "memory", "path": "/m/memory"}
    mounts = [{"point": "/"}, {"point": "/srv"}]
    wanted = speed.disks([device, below, *folders, memory], mounts)
    assert {disk: medium["path"] for disk, medium in wanted.items()} == {
        device["device"]: "/m/nvme",
        "/srv": "/srv/tier",
    }
    speed.save(str(tmp_path), {"/srv": {"read_mb_s": 150, "write_mb_s": 140}})
    assert speed.load(str(tmp_path)) == {"/srv": {"read_mb_s": 150, "write_mb_s": 140}}
    assert speed.load(str(tmp_path / "none")) == {}


def test_an_absurdly_slow_disk_is_refused() -> None:
    wanted = {"/srv": {"medium": "ssd"}, "/old": {"medium": "hdd"}, "/new": {"medium": "ssd"}}
    speeds = {"/srv": {"read_mb_s": 99}, "/old": {"read_mb_s": 99}}
    found = speed.findings(speeds, wanted)
    assert list(found) == ["/srv"]
    assert found["/srv"].startswith("/srv: 99 MB/s; why: an ssd reads at least 100 MB/s")
    assert "run again, which measures it again" in found["/srv"]


def test_a_refused_disk_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(read: int) -> dict[str, Any]:
        monkeypatch.setattr(speed, "measure", lambda _: {"read_mb_s": read, "write_mb_s": read})
        arguments = {"state_dir": str(tmp_path), "media": [{"kind": "directory", "medium": "ssd", "path": "/x"}]}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            cache_media_speed.main()
        return dict(json.loads(capsys.readouterr().out))

    assert len(measure(99)["findings"]) == 1
    assert speed.load(str(tmp_path)) == {}
    repaired = measure(500)
    assert (repaired["changed"], repaired["findings"]) == (True, [])
    assert not measure(99)["changed"]
    speed.save(str(tmp_path), {disk: {"read_mb_s": 3, "write_mb_s": 3} for disk in repaired["speeds"]})
    assert measure(500)["changed"]
