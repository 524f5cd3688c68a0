"""The record names a thing before it is made, survives a crash, and is never guessed at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.filter.ownership import as_owned_settings, media_left, raised
from ansible_collections.alluxio.fuse.plugins.module_utils import ownership


def item(kind: str, key: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "id": key, "data": data}


def test_round_trip(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    record = ownership.add(ownership.load(state, "a"), [item("mount", "/x", role="r")])
    ownership.save(state, record)
    assert ownership.load(state, "a") == {"version": 1, "name": "a", "items": [item("mount", "/x", role="r")]}
    assert [path.name for path in Path(state).iterdir()] == ["owned.json"]


def test_first_writing_knew_the_state_before() -> None:
    record = ownership.add(ownership.empty("a"), [item("sysctl", "/sys/x", before="128")])
    again = ownership.add(record, [item("sysctl", "/sys/x", before="4096"), item("mount", "/x"), item("mount", "/x")])
    assert [entry["data"] for entry in again["items"]] == [{"before": "128"}, {}]


def test_drop_takes_what_it_names_only() -> None:
    record = ownership.add(ownership.empty("a"), [item("mount", "/x"), item("tmpfs", "/x"), item("mount", "/y")])
    left = ownership.drop(record, [item("mount", "/x")])
    assert [(entry["kind"], entry["id"]) for entry in left["items"]] == [("tmpfs", "/x"), ("mount", "/y")]


def test_empty_record_leaves_nothing_of_ours(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ownership.save(str(state), ownership.add(ownership.empty("a"), [item("mount", "/x")]))
    ownership.save(str(state), ownership.empty("a"))
    assert not state.exists()
    state.mkdir()
    (state / "of-others").touch()
    ownership.save(str(state), ownership.empty("a"))
    assert (state / "of-others").exists()


def test_crash_while_writing_leaves_the_old_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ownership.save(str(tmp_path), ownership.add(ownership.empty("a"), [item("mount", "/x")]))

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", crash)
    with pytest.raises(KeyboardInterrupt):
        ownership.save(str(tmp_path), ownership.add(ownership.empty("a"), [item("mount", "/y")]))
    assert ownership.load(str(tmp_path), "a")["items"] == [item("mount", "/x")]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no ownership record"),
        ("[]", "no ownership record"),
        (json.dumps({"version": 2, "name": "a", "items": []}), "another version"),
        (json.dumps({"version": 1, "name": "a", "items": [{"kind": "planet", "id": "x"}]}), "unknown kinds"),
        (json.dumps({"version": 1, "name": "b", "items": []}), "belongs to deployment 'b'"),
    ],
)
def test_what_cannot_be_trusted_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "owned.json").write_text(text)
    with pytest.raises(ownership.RecordError, match=reason):
        ownership.load(str(tmp_path), "a")


FORMER = [
    ("file", "/etc/security/limits.d/90-a.conf", "open_files"),
    ("directory", "/etc/systemd/system/containerd.service.d", "open_files"),
    ("file", "/etc/systemd/system/containerd.service.d/90-a.conf", "open_files"),
    ("directory", "/etc/sysctl.d", "kernel_settings"),
    ("file", "/etc/sysctl.d/90-a.conf", "kernel_settings"),
    ("directory", "/etc/udev", "kernel_settings"),
    ("file", "/etc/udev/rules.d/90-a.rules", "kernel_settings"),
    ("sysctl", "/sys/devices/x/queue/read_ahead_kb", "kernel_settings"),
    ("sysctl", "/proc/sys/net/core/somaxconn", "kernel_settings"),
    ("directory", "/var/lib/a/mount-settings", "mount_settings"),
    ("file", "/var/lib/a/mount-settings/imagenet", "mount_settings"),
]


def test_what_role_limits_recorded_belongs_to_the_roles_of_now(tmp_path: Path) -> None:
    state, other = str(tmp_path), item("mount", "/x", role="cache_media")
    former = [item(kind, key, role="limits", before="128") for kind, key, _ in FORMER]
    ownership.save(state, {**ownership.empty("a"), "items": [*former, other]})
    now = [*(item(kind, key, role=role, before="128") for kind, key, role in FORMER), other]
    assert ownership.load(state, "a")["items"] == now
    ownership.update(state, "a", ownership.drop, [other])
    assert json.loads((tmp_path / "owned.json").read_text())["items"] == now[:-1]


def test_missing_folders_are_recorded_once_and_first(tmp_path: Path) -> None:
    one, two = item("file", f"{tmp_path}/a/b/one", role="r"), item("file", f"{tmp_path}/a/b/two", role="r")
    named = [entry["id"] for entry in ownership.with_parents([one, two])]
    assert named == [f"{tmp_path}/a", f"{tmp_path}/a/b", one["id"], two["id"]]


def test_media_that_are_not_planned_any_more() -> None:
    """A folder above a medium that is planned stays, and so does a device."""
    media = [
        item("directory", "/a", role="cache_media"),
        item("directory", "/a/tier", role="cache_media"),
        item("tmpfs", "/a/tier", role="cache_media"),
        item("line", "/etc/fstab /a/tier", role="cache_media", path="/a/tier"),
        item("directory", "/a/disk/tier", role="cache_media", contents=True, before=None),
        item("filesystem", "/dev/x", role="cache_media", uuid="u"),
        item("directory", "/a/x", role="cache_media"),
        item("mount", "/a/x", role="cache_media"),
        item("file", "/a/media.json", role="cache_media"),
    ]
    assert media_left(media, [{"path": "/a/tier"}, {"path": "/a/disk/tier"}]) == []
    assert media_left(media, [{"path": "/a/disk/tier"}]) == media[1:4]
    assert media_left(media, [{"path": "/a/tier"}]) == [media[4]]
    assert media_left(media, [{"path": "/a/tier"}, {"path": "/a/disk/tier/one"}]) == []


def test_settings_are_raised_and_never_lowered() -> None:
    read_only, *disks = (
        {"path": f"/sys/{name}", "before": now} for name, now in (("ro", 9000), ("more", 8192), ("less", 128))
    )
    owned = [item("mount", "/x"), *as_owned_settings(disks, "kernel_settings")]
    now = [read_only, *({**disk, "before": 4096} for disk in disks)]
    assert [one["value"] for one in raised(now, owned, 4096)] == [9000, 8192, 4096]
