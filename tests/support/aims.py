"""What `make bench` measured, next to the aims of the fast path. They are reported and gate nothing."""

from collections.abc import Callable, Iterator, Sequence

from pydantic import BaseModel

from alluxio_fuse.check.rows import Row

OURS = ("mount", "client-cache")
UPSTREAM = ("upstream", "worker")
DISK = ("disk", "disk")
DISK_AGAIN = ("disk", "page-cache")
OURS_AGAIN = ("mount", "page-cache")
PEER_STATE = "cached"
MEMORY = ("memory", "memory")
STAGED = ("staged", "staged")  # whole in memory, on the disk, in memory in part
STAGED_DISK = ("staged-disk", "staged")
STAGED_DISK_AGAIN = ("staged-disk", "page-cache")
STAGED_PART = ("staged-part", "staged")
WORKER = ("mount", "worker")
STAGED_SHARE = 0.8
LEAST_PASSES = 5  # for a median to count


class Aim(BaseModel):
    """What one run gave, mostly a ratio of medians; None where one of them has too few proven passes."""

    name: str
    value: float | None
    target: float
    at_most: bool = False
    versus: str

    def line(self) -> str:
        """aim NAME VALUE TARGET met|missed, and what it was measured against."""
        value = "-" if self.value is None else f"{self.value:.2f}"
        sign = "<=" if self.at_most else ">="
        met = self.value is not None and (self.value <= self.target if self.at_most else self.value >= self.target)
        return f"aim {self.name} {value} {sign}{self.target:g} {'met' if met else 'missed'} ({self.versus})"


def aims(rows: Sequence[Row]) -> Iterator[Aim]:
    """All aims, from the rows of one run."""
    for kind, target in (("small", 2.0), ("large", 1.7)):
        peer = best_peer(rows, kind)
        yield _aim(rows, f"{kind}_vs_best_peer", (OURS, peer, kind), target)
    yield _aim(rows, "small_vs_disk", (OURS, DISK, "small"), 1.2)
    yield _aim(rows, "large_second_epoch_vs_disk_page_cache", (OURS_AGAIN, DISK_AGAIN, "large"), 0.95)
    yield _aim(rows, "small_vs_upstream_defaults", (OURS, UPSTREAM, "small"), 9.0)
    for kind in ("small", "large"):
        least = _thriftiest(rows, kind)
        yield _aim(rows, f"{kind}_cpu_per_gb_vs_best_peer", (OURS, least, kind), 1.0, cpu=True)
    yield from _of_copies(rows)


def _of_copies(rows: Sequence[Row]) -> Iterator[Aim]:
    """Staged datasets, beside the best peer, the same files on the same medium without us, and FUSE alone."""
    for kind, target in (("small", 10.0), ("large", 4.0)):
        yield _aim(rows, f"staged_{kind}_vs_best_peer", (STAGED, best_peer(rows, kind), kind), target)
    yield _aim(
        rows, "staged_small_cpu_per_gb_vs_best_peer", (STAGED, _thriftiest(rows, "small"), "small"), 0.2, cpu=True
    )
    for kind in ("small", "large"):
        yield _aim(rows, f"staged_{kind}_vs_memory", (STAGED, MEMORY, kind), 0.95)
        yield _aim(rows, f"staged_disk_{kind}_vs_disk", (STAGED_DISK, DISK, kind), 0.95)
        yield _aim(rows, f"staged_disk_{kind}_again_vs_disk", (STAGED_DISK_AGAIN, DISK_AGAIN, kind), 0.95)
    yield _aim(rows, "staged_part_small_vs_memory", (STAGED_PART, MEMORY, "small"), 0.75)
    for rest in (OURS, WORKER):
        fuse, copied = _partly(rows, OURS, rest), _partly(rows, STAGED_PART, rest)
        yield Aim(
            name=f"small_80_percent_staged_vs_client_cache_rest_in_{rest[1].replace('-', '_')}",
            value=copied / fuse if copied and fuse else None,
            target=3.0,
            versus=f"computed: the other {1 - STAGED_SHARE:.0%} from the {rest[1]} for both",
        )


def _partly(rows: Sequence[Row], where: tuple[str, str], others: tuple[str, str]) -> float | None:
    """Small files per second where a part of them is read as in one row, and the rest as in another."""
    held, rest = _figure(rows, where, "small", cpu=False), _figure(rows, others, "small", cpu=False)
    return 1 / (STAGED_SHARE / held + (1 - STAGED_SHARE) / rest) if held and rest else None


def best_peer(rows: Sequence[Row], kind: str) -> tuple[str, str] | None:
    """The fastest other product for these files."""
    return _first(rows, kind, lambda row: -row.files_per_s.median if row.files_per_s else 0.0)


def _thriftiest(rows: Sequence[Row], kind: str) -> tuple[str, str] | None:
    return _first(rows, kind, lambda row: row.cpu_s_per_gb or 0.0)


def _first(rows: Sequence[Row], kind: str, key: Callable[[Row], float]) -> tuple[str, str] | None:
    peers = [row for row in rows if (row.state, row.kind) == (PEER_STATE, kind) and row.established]
    chosen = min(peers, key=key, default=None)
    return (chosen.path, chosen.state) if chosen else None


def _aim(
    rows: Sequence[Row],
    name: str,
    compared: tuple[tuple[str, str], tuple[str, str] | None, str],
    target: float,
    cpu: bool = False,
) -> Aim:
    ours, other, kind = compared
    mine, theirs = _figure(rows, ours, kind, cpu), _figure(rows, other, kind, cpu) if other else None
    value = mine / theirs if mine and theirs else None
    versus = ", ".join(dict.fromkeys(other)) if other else "no peer was measured"
    return Aim(name=name, value=value, target=target, at_most=cpu, versus=versus)


def _figure(rows: Sequence[Row], where: tuple[str, str], kind: str, cpu: bool) -> float | None:
    row = next((row for row in rows if (row.path, row.state, row.kind) == (*where, kind)), None)
    if row is None or row.files_per_s is None or row.files_per_s.passes < LEAST_PASSES:
        return None
    return row.cpu_s_per_gb if cpu else row.files_per_s.median
