"""Who reads from a mount: processes that have files of it open or mapped, in containers, too."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ansible_collections.alluxio.fuse.plugins.module_utils.mount_table import HUNG, Mount, in_child
from ansible_collections.alluxio.fuse.plugins.module_utils.namespaces import Copies, processes
from ansible_collections.alluxio.fuse.plugins.module_utils.open_files import (
    Mapped,
    device_of,
    name_of,
    opened,
    path_below_root,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.opens import openers

STAGE = "alluxio-fuse-stage"  # what overlays of staged parts are called, before what of which FUSE mount they show
TIMEOUT_S = 10.0


def readers_at(path: str, mounts: Sequence[Mount], seconds: float = 0) -> list[str]:
    """Processes that have a file open or mapped of what is mounted at `path` or below it, whatever its kind.

    Where FUSE serves the rest of a dataset that is staged in part, those of the overlay read through it, too.
    seconds: how long to wait for those that open one, as a small file is open for some microseconds; where the kernel
    does not tell (OSError), or the mount is hung, there are those of the look before and the one after.
    """
    below = f"{path.rstrip('/')}/"
    found = [one for one in mounts if f"{one['point']}/".startswith(below) and not _is_plain_folder(one)]
    if not found:
        return []
    found += [one for one in mounts if one not in found and _has_rest_from(found, one)]
    readers = dict.fromkeys(readers_of(*found))
    if seconds:
        readers |= dict.fromkeys(_opening(found, seconds))
        readers |= dict.fromkeys(readers_of(*found))
    return list(readers)


def _has_rest_from(shown: Sequence[Mount], overlay: Mount) -> bool:
    """Whether a mount is the overlay of a staged part, the rest of which comes from one of the mounts `shown`."""
    name, _, below = overlay["source"].partition("/")
    devices = [one["device"] for one in shown]
    return overlay["type"] == "overlay" and name == STAGE and below.rpartition("/")[2] in devices


def _is_plain_folder(mount: Mount) -> bool:
    """Whether a folder was only made a mount of itself, so that mounts below it are shared: nobody reads it."""
    return bool(
        mount["root"] != "/" and mount["point"].endswith(mount["root"]) and not mount["type"].startswith("fuse")
    )


def _opening(shown: Sequence[Mount], seconds: float) -> list[str]:
    whole = all(one["root"] == "/" for one in shown)  # of their filesystems, so that whatever is opened there is ours
    is_ours = (lambda _: True) if whole else Copies(shown).has
    try:
        said = in_child(lambda: openers([one["point"] for one in shown], seconds, is_ours), seconds + TIMEOUT_S)
    except OSError:
        return []
    return [] if said == HUNG else list(said)


def readers_of(*shown: Mount) -> list[str]:
    """Processes, in whatever container, that have a file open or mapped of what the mounts `shown` show.

    Files are told by the number of the mount that they were opened through.
    """
    copies = Copies(shown)
    found: dict[str, dict[Path, str]] = {}
    mapped = Mapped()
    for process in processes():
        try:
            name, held = name_of(process), {**opened(process), **mapped.of(process)}
        except OSError:  # ended meanwhile, or is a thread of the kernel
            continue
        held = {link: number for link, number in held.items() if number not in copies.others}
        if held:
            found[name] = held
    copies.look_again()  # what was mounted since the first look is no former mount
    readers = {name for name, held in found.items() if not copies.numbers.isdisjoint(held.values())}
    unknown = {
        name: [link for link, number in held.items() if number not in copies.others]
        for name, held in found.items()
        if name not in readers
    }
    unknown = {name: links for name, links in unknown.items() if links}
    former = _of_former(unknown, shown) | _of_fuse(unknown, shown)
    return [name for name in found if name in readers or name in former]


def _of_former(unknown: Mapping[str, Sequence[Path]], shown: Collection[Mount]) -> set[str]:
    """Of processes with files whose mount is in no namespace any more, those that read what `shown` shows now.

    Such a file has a path from the root of its former mount, and one that was mounted here before has it here, too.
    """
    points = [one["point"] for one in shown if not _is_fuse(one)]
    below = {name: {path_below_root(link) for link in links} for name, links in unknown.items()}
    paths = {name: found - {"", "/"} for name, found in below.items()}  # any mount has a root

    def look() -> list[str]:
        return [
            name for name, found in paths.items() if any(os.path.lexists(p + path) for p in points for path in found)
        ]

    said = in_child(look, TIMEOUT_S) if points and any(paths.values()) else []
    return set() if said == HUNG else set(said)


def _of_fuse(unknown: Mapping[str, Sequence[Path]], shown: Collection[Mount]) -> set[str]:
    """The same for FUSE: its files are on the device of the mount, whose program is asked for nothing."""
    devices = {one["device"] for one in shown if _is_fuse(one)}
    return {name for name, links in unknown.items() if devices and not devices.isdisjoint(map(device_of, links))}


def _is_fuse(mount: Mount) -> bool:
    return bool(mount["type"].startswith("fuse"))
