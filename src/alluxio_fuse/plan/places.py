"""Folders of ours on the media of a node."""

from typing import Any

from alluxio_fuse import names
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.layout import Shape, Space


def folder(fleet: Fleet, space: Space, use: str) -> str:
    """Our folder for `tier`, `client-cache` or `stage` on a medium; in the state folder without a name of its own."""
    if space.medium == "memory":
        return f"{fleet.state_dir}/{'tier/memory' if use == 'tier' else use}"
    return names.media_folder(fleet.name, space.base, use)


def entered(fleet: Fleet, shape: Shape) -> dict[str, Any]:
    """The folder above a dataset's path, which its readers enter: {path, uid, gid, mode}."""
    uid, gid, mode = shape.readers
    return {"path": names.mount_parent(fleet.name, shape.name), "uid": uid, "gid": gid, "mode": mode}


def mount_parent(fleet: Fleet, shape: Shape) -> dict[str, Any]:
    """The folder above a dataset's FUSE mount: that of its path, or out of its way where a copy is read there."""
    if not shape.staged:
        return entered(fleet, shape)
    return {"path": names.hidden_parent(fleet.name, shape.name), "uid": 0, "gid": 0, "mode": "0700"}
