"""Collects findings and warnings while a plan is made; a forced invariant becomes a warning."""

from dataclasses import dataclass, field
from typing import Final

from alluxio_fuse.plan.refusals import Finding

INVARIANTS: Final = {
    "memory_counted_once": "Reserve, training, services, caches and page cache fit the node's memory.",
    "requests_fit": "Pods ask for no more processors than their node has.",
    "container_holds_jvm": "A container's limit holds heap, direct and native memory and the tmpfs that it writes.",
    "cache_fits_medium": "Caches fit the medium that they are on.",
    "budget_fits": "A declared budget fits what is free.",
    "tier_is_mounted": "A tier below /mnt or /media is on a mount of its own.",
    "inodes_fit": "A filesystem has inodes for the files that caches make.",
    "set_fits_caches": "Where a gate needs it, the caches of the fleet hold the sets.",
    "gate_reachable": "The gate is not above what network and mount can deliver.",
    "shares_hold": "No dataset evicts another below its declared share.",
    "pin_fits": "A pinned dataset fits whole.",
    "kernel_cache_immutable": "The kernel keeps pages and names only as long as the declared freshness allows.",
    "freshness_bounded": "All cache layers together stay within the declared freshness.",
    "durable_writes": "A write that returned survives its worker.",
    "known_properties": "Every property is one that this Alluxio version knows.",
    "listens_where_planned": "Services listen on the planned address only.",
    "page_store_outside_heap": "An in-heap page store (type MEM) is only as large as the heap bears.",
    "page_store_needs_cluster": "Without a cluster there is no data cache: it returns other files' bytes.",
    "store_read_in_order": "Without a cluster a bucket is only copied: reads that skip forward twice answer EIO.",
    "options_known_to_libfuse": "Mount options are those that the chosen libfuse knows.",
    "direct_local_reads_safe": "Direct local reads only of read-only data in one tier with one folder.",
    "libfuse_there": "The chosen libfuse is installed where FUSE runs on the node itself.",
}


@dataclass(slots=True)
class Problems:
    """What stands in the way of a plan, and what is merely unwise."""

    force: frozenset[str]
    findings: list[Finding] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def copy(self) -> "Problems":
        """The same so far."""
        return Problems(self.force, [*self.findings], [*self.warnings])

    def refuse(self, path: str, value: object, reason: str, remedy: str, invariant: str | None = None) -> None:
        """Note one finding."""
        self.add(Finding(path, str(value), reason, remedy, invariant))

    def add(self, finding: Finding) -> None:
        """Note a finding, as a warning if its invariant is forced."""
        if finding.invariant in self.force:
            self.warn(finding.path, f"forced ({finding.invariant}): {finding.reason}")
        else:
            self.findings.append(finding)

    def warn(self, path: str, message: str) -> None:
        """Note what is unwise but holds."""
        self.warnings.append((path, message))
