"""The spec of a JindoRuntime. Its services are native: the plan's JVM options mean nothing to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from alluxio_fuse.fluid.objects import image
from alluxio_fuse.fluid.tiers import levels
from alluxio_fuse.kubernetes.objects import Object, pulled_with
from alluxio_fuse.plan.parts import PlannedTier
from alluxio_fuse.plan.values import Amounts

#: Options of the plan that Jindo's FUSE knows, too: its own, and libfuse's.
_KNOWN: Final = ("ro", "kernel_cache", "allow_other")


def jindo_runtime(
    services: Mapping[str, Amounts],
    labels: Mapping[str, Object],
    *,
    whole_image: str,
    masters: int,
    workers: int,
    pull_secrets: list[str],
) -> Object:
    """The spec. Jindo uses one level only, so the tiers of the medium that holds most are that one.

    labels: of the pods of `master`, `worker` and `fuse`, by which we find them. whole_image: name:tag of its services,
    "" for what Fluid's controller names.
    """
    tiers: list[PlannedTier] = services["worker"]["tiers"]
    most = max(
        {tier.medium for tier in tiers}, key=lambda medium: sum(one.quota for one in tiers if one.medium == medium)
    )
    options = [*(one for one in services["fuse"]["mount_options"] if one in _KNOWN), *_timeouts(services["fuse"])]
    return {
        **({"jindoVersion": image(whole_image)} if whole_image else {}),
        "replicas": workers,
        "networkmode": "ContainerNetwork",
        "tieredstore": {"levels": levels([tier for tier in tiers if tier.medium == most], watermarks=True)},
        "master": {"replicas": masters, "podMetadata": {"labels": labels["master"]}},
        "worker": {"podMetadata": {"labels": labels["worker"]}},
        "fuse": {
            "args": [f"-o{option}" for option in options],
            "cleanPolicy": "OnRuntimeDeleted",
            "podMetadata": {"labels": labels["fuse"]},
        },
        **pulled_with(pull_secrets),
    }


def _timeouts(fuse: Amounts) -> list[str]:
    """How long the kernel keeps names, as the dataset's freshness has it."""
    return [one for one in fuse["mount_options"] if one.startswith(("attr_timeout=", "entry_timeout="))]
