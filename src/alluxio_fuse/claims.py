"""Places that a deployment is to have for itself, as far as they are known before there is a plan."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.alluxio.fuse.plugins.module_utils.claims import UNITS

from alluxio_fuse import keeper, names, warm
from alluxio_fuse.plan.platforms import Capabilities

#: Folders of the state folder that are filled; in pods, volumes take the place of those that services fill.
_ON_NODES = ("conf", "tier/memory", "client-cache")
_OF_CLUSTER = ("namespace", "journal")
_USES = ("tier", "client-cache")


def claims(
    name: str, can: Capabilities, mounted: Iterable[str], tiers: Iterable[str], *, node_access: bool, sample: bool
) -> list[str]:
    """What preflight looks into; whatever holds something there, and is in no ownership record, is somebody else's.

    mounted: names of datasets; tiers: folders for caches that the inventory names; sample: whether it is made.
    """
    if not node_access:
        return []
    state = names.state_dir(name)
    found = [names.manifests(name), f"{state}/disk-copy", *([f"{state}/sample"] if sample else [])]
    if not can.in_pods:
        found += [f"{state}/{part}" for part in (*_ON_NODES, *(_OF_CLUSTER if can.runs_cluster else ()))]
    if not can.runs_cluster:
        found += [names.home(name), *(f"{UNITS}/{name}-{role}.service" for role in (keeper.ROLE, warm.ROLE))]
    found += [names.media_folder(name, base, use) for base in (f"{state}/disk", *tiers) for use in _USES]
    return [*found, *(names.mount_parent(name, dataset) for dataset in mounted)]
