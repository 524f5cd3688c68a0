"""Folders of ours on the media of a node."""

from alluxio_fuse import names
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.layout import Room


def folder(fleet: Fleet, room: Room, use: str) -> str:
    """Our folder for `tier` or `client-cache` on a medium: below the state folder it needs no name of its own."""
    if room.medium == "memory":
        return f"{fleet.state_dir}/{'tier/memory' if use == 'tier' else use}"
    return names.media_folder(fleet.name, room.base, use)
