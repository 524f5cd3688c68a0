"""A worker's tiers as levels of Fluid's tieredstore, one for each medium."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from alluxio_fuse.fluid.objects import quantity
from alluxio_fuse.kubernetes.objects import Object
from alluxio_fuse.plan.parts import PlannedTier

MEDIA: Final = {"memory": "MEM", "ssd": "SSD", "hdd": "HDD"}


def levels(tiers: Sequence[PlannedTier], *, watermarks: bool) -> list[Object]:
    """Levels, the fastest first. watermarks: whether the runtime reads `high` and `low`; Alluxio's ignores them.

    Memory is a volume of the pod, which its memory limit counts; /dev/shm of a node would be shared with all others.
    """
    order = sorted(tiers, key=lambda tier: list(MEDIA).index(tier.medium))
    return [_level(medium, list(group), watermarks) for medium, group in groupby(order, lambda tier: tier.medium)]


def _level(medium: str, tiers: list[PlannedTier], watermarks: bool) -> Object:
    quotas = [quantity(tier.quota) for tier in tiers]
    return {
        "mediumtype": MEDIA[medium],
        "volumeType": "emptyDir" if medium == "memory" else "hostPath",
        "volumeSource": {},  # as Fluid's controller writes it back: without it each run would change the object
        "path": ",".join(tier.path for tier in tiers),
        **({"quota": quotas[0]} if len(quotas) == 1 else {"quotaList": ",".join(quotas)}),
        **({"high": str(tiers[0].high), "low": str(tiers[0].low)} if watermarks else {}),
    }
