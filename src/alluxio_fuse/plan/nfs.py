"""Sources that are exports of NFS: `nfs://server/export`, or a folder below it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from alluxio_fuse import names
from alluxio_fuse.plan.schemes import EXPORT
from alluxio_fuse.plan.values import rule

#: Seconds for which a mount without options may answer with attributes of before: acregmax and acdirmax of nfs(5).
#: Kubernetes gives an NFS volume of a pod no options.
UNSAID_KEEPS_S: Final = 60
LEAST_WITHIN_S: Final = 5
_PARTS: Final = 5  # of a freshness: one for the NFS client, the rest for what is above it
_IMMUTABLE_KEEPS_S: Final = 3600
_READ_BYTES: Final = 1 << 20
_WELL_FORMED: Final = re.compile(
    EXPORT + r"(?P<server>[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(?P<path>(/[A-Za-z0-9_.@~-]+)+)"
)


class Export(NamedTuple):
    """An export by its server, and the absolute path that is mounted, which may be a folder below it."""

    server: str
    path: str

    @property
    def address(self) -> str:
        """As mount(8) takes it."""
        return f"{self.server}:{self.path}"


def export_of(source: str) -> Export | None:
    """The export that a source is, if it is one that can be mounted."""
    found = _WELL_FORMED.fullmatch(source.rstrip("/"))
    if not found or {".", ".."} & set(found["path"].split("/")):
        return None
    return Export(found["server"], found["path"])


def exports(sources: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Of sources by dataset: by the folder in which our pods see it, {server, path} of each export."""
    return {
        names.claim_folder(dataset): export._asdict()
        for dataset, source in sources.items()
        if (export := export_of(source))
    }


def is_export(source: str) -> bool:
    """Whether a source is of NFS."""
    return source.startswith(EXPORT)


def keeps_s(within: int | None, *, in_pods: bool) -> int:
    """Seconds for which the NFS client may answer with what was before, of a freshness; 0 where nothing changes."""
    if within is None:
        return 0
    return UNSAID_KEEPS_S if in_pods else max(1, within // _PARTS)


@rule("nfs(5); one connection carries one server's stream, several use several processors and paths")
def export_options(version: str, connections: int, within: int | None) -> tuple[list[str], str]:
    """Options of the mount of an export: read-only, one version, as many connections as said."""
    keeps = keeps_s(within, in_pods=False)
    ages = [f"actimeo={keeps}"] if keeps else ["nocto", f"actimeo={_IMMUTABLE_KEEPS_S}"]
    # NLM, the locks of version 3, wants a daemon on each side, and nobody locks what is read only
    old = ["nolock", "mountproto=tcp"] if version == "3" else []
    several = [f"nconnect={connections}"] if connections > 1 and version != "4.0" else []
    why = (
        f"it is asked again for a file's size and time after {keeps} s"
        if keeps
        else f"immutable: opening a file does not ask again, names and sizes are kept for {_IMMUTABLE_KEEPS_S} s"
    )
    common = ["ro", "nosuid", "nodev", f"vers={version}", "proto=tcp", *old, "hard", f"rsize={_READ_BYTES}"]
    return [*common, *several, *ages], f"a read waits while the server is away, and goes on; {why}"


def probe_options(version: str) -> str:
    """Options of the mount that preflight tries, which gives up within seconds."""
    old = "nolock,mountproto=tcp" if version == "3" else "clientaddr=0.0.0.0"
    return f"vers={version},proto=tcp,{old},soft,timeo=50,retrans=1"
