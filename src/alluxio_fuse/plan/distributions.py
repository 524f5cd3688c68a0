"""Distributions that the roles know, each by one name, which tables of packages in the roles have too."""

from collections.abc import Mapping
from typing import Final

#: Every role was run for real on these.
RUN: Final = frozenset({"debian-11", "debian-12", "debian-13"})

#: The roles know the packages of these, and were never run on them.
LISTED: Final = frozenset({"ubuntu-22.04", "ubuntu-24.04", "rhel-9", "rocky-9", "almalinux-9"})

#: Versions of libfuse that role libfuse brings and Alluxio can load.
LIBFUSE: Final[Mapping[str, frozenset[int]]] = {
    **dict.fromkeys(RUN | LISTED, frozenset({2, 3})),
    "debian-13": frozenset({2}),
}


def release(distribution: str, version: str) -> str:
    """Its name: `debian-12`, `ubuntu-24.04`, and `rhel-9` for 9.4, as minor versions of RHEL have the same packages."""
    return f"{distribution}-{version if distribution in ('debian', 'ubuntu') else version.partition('.')[0]}"
