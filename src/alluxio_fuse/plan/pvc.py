"""Sources that are claims of Kubernetes: `pvc://name`, or `pvc://name/folder`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from alluxio_fuse import names
from alluxio_fuse.plan.schemes import CLAIM

_WELL_FORMED: Final = re.compile(CLAIM + r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[^/\x00-\x1f\x7f]+)*/?")


class Claim(NamedTuple):
    """A PersistentVolumeClaim by name, and the folder of it that is meant, "" for all of it."""

    name: str
    folder: str


def is_claim(source: str) -> bool:
    """Whether a source is a claim, and one that pods can name."""
    return bool(_WELL_FORMED.fullmatch(source)) and not {".", ".."} & set(source.split("/"))


def claim_of(source: str) -> Claim | None:
    """The claim that a source is, if it is one."""
    name, _, folder = source.removeprefix(CLAIM).rstrip("/").partition("/")
    return Claim(name, folder) if source.startswith(CLAIM) else None


def claims(sources: Mapping[str, str]) -> dict[str, str]:
    """Of sources by dataset: by the folder in which our pods see it, each claim, or folder of it as claim/folder."""
    return {
        names.claim_folder(dataset): "/".join(filter(None, claim))
        for dataset, source in sources.items()
        if (claim := claim_of(source))
    }
