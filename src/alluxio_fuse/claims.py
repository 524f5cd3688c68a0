"""Places that a deployment is to have for itself, as far as they are known before there is a plan."""

from __future__ import annotations

from collections.abc import Iterable

from alluxio_fuse import names

#: Folders of the state folder that are filled on each platform, beside those that every platform fills.
_STATE = {"containers": ("conf", "namespace", "journal"), "host": ("conf",)}
_EVERYWHERE = ("manifests", "disk-copy")
_USES = ("tier", "client-cache")


def claims(
    name: str, platform: str, mounted: Iterable[str], tiers: Iterable[str], *, node_access: bool, sample: bool
) -> list[str]:
    """What preflight looks into; whatever holds something there, and is in no ownership record, is somebody else's.

    mounted: names of datasets; tiers: folders for caches that the inventory names; sample: whether it is made.
    """
    if not node_access:
        return []
    state = names.state_dir(name)
    found = [f"{state}/{part}" for part in (*_STATE.get(platform, ()), *_EVERYWHERE, *(("sample",) if sample else ()))]
    if platform == "host":
        found.append(names.home(name))
    if platform != "kubernetes":  # there, memory is a volume of the pod
        found += [f"{state}/tier/memory", f"{state}/client-cache"]
    found += [names.media_folder(name, base, use) for base in (f"{state}/disk", *tiers) for use in _USES]
    return [*found, *(names.mount_parent(name, dataset) for dataset in mounted)]
