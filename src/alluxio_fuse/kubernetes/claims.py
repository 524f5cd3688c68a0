"""What speaks against claims as sources of datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.schemes import CLAIM

#: Access modes with which pods of several nodes can read a claim at a time.
SHARED: Final = ("ReadOnlyMany", "ReadWriteMany")


def claim_findings(claims: Mapping[str, Mapping[str, Any] | None], namespace: str) -> Iterator[Finding]:
    """Findings on claims as the module `alluxio.fuse.cluster_facts` returns them."""
    for name, found in claims.items():
        if found is None:
            reason = f"namespace {namespace} has no such PersistentVolumeClaim"
            yield _finding(
                name, reason, "make it there, or name another: pods mount claims of their own namespace alone"
            )
        elif found["phase"] != "Bound":
            remedy = f"kubectl -n {namespace} describe pvc {name} says what it waits for"
            yield _finding(name, f"it is {found['phase']}, not Bound: no volume holds its files yet", remedy)
        elif not set(SHARED) & set(found["modes"]):
            modes = " and ".join(found["modes"])
            remedy = "name a claim that is ReadOnlyMany or ReadWriteMany, for example of a snapshot of its volume"
            yield _finding(name, f"it is {modes}: pods of one node alone can mount it", remedy)


def _finding(name: str, reason: str, remedy: str) -> Finding:
    return Finding("alluxio_datasets[].source", f"{CLAIM}{name}", reason, remedy)
