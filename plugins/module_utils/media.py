"""What a cache medium needs on a node, and what stands against it: the reading half of role cache_media."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import blockdev, mount_calls, ownership
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_calls import ALL_FILES, HUGE, NOSWAP
from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import HUNG, Mount, in_child, mount_at, mount_of
from ansible_collections.alluxio.fuse.plugins.module_utils.system import SYSTEM_PATH, TOOLS

Medium = dict[str, Any]
Finding = dict[str, str]

TMPFS_OPTIONS = ("nodev", "nosuid", "noexec")
AT_BOOT = ("nofail", "x-systemd.before=local-fs.target")  # an older kernel refuses noswap: the node starts without
DEVICE_OPTIONS = ("noatime", "nodev", "nosuid", "noexec", "nofail", "x-systemd.device-timeout=30s")
PACKAGES = {"xfs": "xfsprogs", "ext4": "e2fsprogs"}
LIMIT = 2.0  # seconds: a healthy local folder answers at once


def finding(medium: Medium, key: str, reason: str, remedy: str) -> Finding:
    """A refusal: where in the input, what was given, why not, and what to do."""
    return {
        "path": f"cache_media_media[{medium['name']}].{key}",
        "value": str(medium.get(key)),
        "reason": reason,
        "remedy": remedy,
    }


def filesystem_id(deployment: str, machine: str, device: str) -> str:
    """The UUID that our filesystem on a device gets: known before it is made, so it can be recorded and mounted by."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{deployment}/{machine}/{device}"))


def numa_options(nodes: int) -> list[str]:
    """Pages of a tmpfs spread over NUMA nodes: one node's memory is not filled by a cache that all readers share."""
    return ["mpol=interleave"] if nodes > 1 else []


def memory_options(mount: Mount | None) -> list[str]:
    """Large pages for large files, no swap, as many files as there is room for; each where the kernel has it.

    Only a new mount takes NOSWAP, and only a new one gets ALL_FILES: a run remounts no tmpfs for that under readers.
    """
    resident = mount_calls.accepts("tmpfs", NOSWAP) if mount is None else NOSWAP in mount["options"]
    return [
        *([HUGE] if mount_calls.accepts("tmpfs", HUGE) else []),
        *([ALL_FILES] if mount is None or ALL_FILES in mount["options"] else []),
        *([NOSWAP, *AT_BOOT] if resident else []),
    ]


def inspect(medium: Medium, mounts: list[Mount], record: dict[str, Any], machine: str, numa_nodes: int) -> Medium:
    """The medium with what applies to it.

    Adds parents (folders to make), fstype, source, options (of its mount), mounted, action (none | mount | remount |
    shrink, once services have let go of what it holds), and findings (refusals; nothing may be changed while there are
    any).
    """
    path = medium["path"]
    mount = mount_at(mounts, path)
    about = {
        **medium,
        "parents": ownership.missing_parents(path),
        "mounted": mount is not None,
        "action": "none",
        "findings": [],
    }
    if medium["kind"] == "tmpfs":
        return _inspect_tmpfs(about, mount, record, numa_nodes)
    if medium["kind"] == "device":
        return _inspect_device(about, mount, record, machine)
    return _inspect_directory(about, mounts, record)


def _inspect_tmpfs(about: Medium, mount: Mount | None, record: dict[str, Any], numa_nodes: int) -> Medium:
    path, owner = about["path"], about["owner"]
    about["fstype"], about["source"] = "tmpfs", f"{record['name']}-{about['name']}"
    about["options"] = [
        f"size={about['size']}",
        f"mode={about['mode']}",
        f"uid={owner}",
        f"gid={owner}",
        *TMPFS_OPTIONS,
        *numa_options(numa_nodes),
        *memory_options(mount),
    ]
    if mount is None:
        about["action"] = "mount"
        about["findings"] += _foreign_files(about, record)
        return about
    if mount["type"] != "tmpfs" or mount["source"] != about["source"]:
        what = f"{mount['type']} {mount['source']} is mounted there"
        about["findings"].append(finding(about, "path", what, "unmount it, or give the tier another path"))
        return about
    if tmpfs_size(path) != whole_pages(about["size"]):
        about["action"] = "shrink" if about["size"] < tmpfs_used(path) else "remount"
    return about


def _inspect_directory(about: Medium, mounts: list[Mount], record: dict[str, Any]) -> Medium:
    path = about["path"]
    about["findings"] += _foreign_files(about, record)
    root = about.get("mount")
    if about["kind"] == "filesystem" and (root is None or mount_of(mounts, path)["point"] != root):
        reason = f"its filesystem is not mounted at {root}: the tier would fill the disk below"
        about["findings"].append(finding(about, "mount", reason, "mount the filesystem, or name another path"))
    below = [mount["point"] for mount in mounts if mount["point"].startswith(path + "/")]
    if below:
        reason = f"{below[0]} is mounted inside of it"
        about["findings"].append(finding(about, "path", reason, "unmount it, or name another path"))
    return about


def _inspect_device(about: Medium, mount: Mount | None, record: dict[str, Any], machine: str) -> Medium:
    device = about["device"]
    identity = filesystem_id(record["name"], machine, device)
    about["uuid"], about["fstype"], about["source"] = identity, about["filesystem"], f"UUID={identity}"
    about["options"] = list(DEVICE_OPTIONS)
    found = device_state(device)
    about["made"] = found["uuid"] != identity
    if not found["block"]:
        about["findings"].append(finding(about, "device", "it is no block device", "name it by /dev/disk/by-id/…"))
    elif not about["made"] and ownership.find(record, "filesystem", device):
        if mount and not Path(device).resolve().samefile(mount["source"]):
            reason = f"{mount['source']} is mounted there"
            about["findings"].append(finding(about, "path", reason, "unmount it, or give the tier another path"))
    else:
        about["findings"] += device_findings(about, found)
        if mount:
            reason = f"{mount['source']} is mounted there"
            about["findings"].append(finding(about, "path", reason, "unmount it, or give the tier another path"))
    if mount is None:
        about["action"] = "mount"
        about["findings"] += _foreign_files(about, record)
    return about


def device_state(device: str) -> dict[str, Any]:
    """{block, signature, uuid, partitions, holders, busy} of a device as it is now."""
    if not blockdev.is_block_device(device):
        return {"block": False, "signature": None, "uuid": None, "partitions": [], "holders": [], "busy": False}
    real = Path(device).resolve()
    entry = Path(blockdev.SYS) / real.name
    tags = blockdev.probe(str(real))
    return {
        "block": True,
        "signature": tags.get("TYPE") or tags.get("PTTYPE"),
        "uuid": tags.get("UUID"),
        "partitions": sorted(part.parent.name for part in entry.glob("*/partition")),
        "holders": sorted(holder.name for holder in (entry / "holders").glob("*")),
        "busy": blockdev.in_use(str(real)),
    }


def device_findings(medium: Medium, state: dict[str, Any]) -> list[Finding]:
    """Why a device may not be formatted. Only what is written on it can be waived, by `wipe: true` for that device."""
    reasons = []
    if state["partitions"]:
        reasons.append((f"it has partitions: {', '.join(state['partitions'])}", "name an empty device"))
    if state["holders"]:
        reasons.append((f"it is part of {', '.join(state['holders'])}", "name an empty device"))
    if state["busy"] and not reasons:
        reasons.append(("it is mounted or otherwise in use", "free it, or name another device"))
    if state["signature"] and not medium["wipe"]:
        reasons.append(
            (f"it holds data ({state['signature']})", "name another device, or `wipe: true` to destroy them")
        )
    return [finding(medium, "device", reason, remedy) for reason, remedy in reasons]


def make_filesystem(device: str, fstype: str, identity: str) -> None:
    """Make a filesystem with that UUID; whoever calls has made sure that nothing of value is on the device."""
    commands = {
        "xfs": ["mkfs.xfs", "-q", "-f", "-K", "-m", f"uuid={identity}", device],
        "ext4": ["mkfs.ext4", "-q", "-F", "-m", "0", "-U", identity, device],
    }
    subprocess.run(commands[fstype], check=True, capture_output=True, text=True, env=TOOLS)


def tmpfs_size(path: str) -> int:
    """Bytes that the tmpfs mounted at `path` may hold."""
    room = os.statvfs(path)
    return room.f_blocks * room.f_frsize


def tmpfs_used(path: str) -> int:
    """Bytes that the files of the tmpfs mounted at `path` take."""
    room = os.statvfs(path)
    return (room.f_blocks - room.f_bfree) * room.f_frsize


def whole_pages(size: int) -> int:
    """A size as the kernel rounds it for a tmpfs."""
    page = os.sysconf("SC_PAGE_SIZE")
    return -(-size // page) * page


def resize_tmpfs(path: str, size: int) -> None:
    """Give a mounted tmpfs another bound; its files stay, and the kernel refuses a bound below what they take."""
    subprocess.run(["mount", "-o", f"remount,size={size}", path], check=True, capture_output=True, text=True, env=TOOLS)


def wipe_signatures(device: str) -> None:
    """Take every signature off a device."""
    subprocess.run(["wipefs", "--all", "--quiet", device], check=True, capture_output=True, text=True, env=TOOLS)


def record_items(states: list[Medium], systemd: bool) -> list[dict[str, Any]]:
    """What making the media will leave on the node, for the ownership record, in the order of making."""
    items = []
    for state in states:
        path = state["path"]
        items += [_item("directory", parent) for parent in state["parents"]]
        if "options" not in state:
            items.append(_item("directory", path, contents=True, before=_ownership_of(path)))
            continue
        items.append(_item("directory", path))
        if state["kind"] == "device":
            items.append(_item("filesystem", state["device"], uuid=state["uuid"]))
        items.append(_item("tmpfs" if state["kind"] == "tmpfs" else "mount", path))
        if systemd:
            items.append(_item("line", f"/etc/fstab {path}", path=path))
    return items


def parents_to_make(states: list[Medium]) -> list[str]:
    """Missing folders above the media, outermost first; what lies on a medium is made once that is mounted."""
    points = {state["path"] for state in states if "options" in state}
    missing = dict.fromkeys(parent for state in states for parent in state["parents"])
    return [path for path in missing if not any(f"{path}/".startswith(f"{point}/") for point in points)]


def missing_tools(states: list[Medium]) -> list[dict[str, Any]]:
    """Packages to install before filesystems can be made, for the ownership record."""
    types = {state["filesystem"] for state in states if state["kind"] == "device"}
    missing = sorted(kind for kind in types if not shutil.which(f"mkfs.{kind}", path=SYSTEM_PATH))
    return [_item("package", PACKAGES[kind]) for kind in missing]


def _item(kind: str, key: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "id": key, "data": {"role": "cache_media", **data}}


def _ownership_of(path: str) -> dict[str, Any] | None:
    """Owner and mode of a folder that was there before us, None if it was not."""
    if not Path(path).is_dir():
        return None
    about = Path(path).stat()
    return {"uid": about.st_uid, "gid": about.st_gid, "mode": f"{about.st_mode & 0o7777:04o}"}


def _foreign_files(medium: Medium, record: dict[str, Any]) -> list[Finding]:
    """A refusal if the tier's folder holds something and the record does not name it."""
    path = medium["path"]
    if ownership.find(record, "directory", path):
        return []
    try:
        names = in_child(lambda: sorted(entry.name for entry in Path(path).iterdir())[:3], LIMIT)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [finding(medium, "path", f"it cannot be read: {error.strerror}", "repair it, or name another path")]
    if names == HUNG:
        return [finding(medium, "path", "it does not answer", "clear the mount that hangs there")]
    if names:
        return [finding(medium, "path", f"it holds files of others: {', '.join(names)}", "name an empty folder")]
    return []
