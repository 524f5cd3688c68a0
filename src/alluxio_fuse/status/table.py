"""A deployment's state for the terminal."""

from collections.abc import Iterator, Mapping
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.plan.units import format_size
from alluxio_fuse.status.judge import Mounted, Status, behind, kept_copies, without_direct
from alluxio_fuse.status.services import AS_PLANNED

WIDTH = 132


def render(status: Status, held: Mapping[str, int | None] = {}) -> str:
    """Layers from the source on, every mount, and what to look at first.

    held: bytes of each dataset that workers hold, where the run asks a master; None where that does not tell.
    """
    text = StringIO()
    out = Console(file=text, width=WIDTH, highlight=False, soft_wrap=True)
    planned = sum(one["state"] == AS_PLANNED for one in status.services)
    running = ", ".join(status.versions) or "nothing answers"
    out.print(f"{status.name}: Alluxio {running} (planned {status.planned_version})", markup=False)
    out.print(f"  under store  {status.under_store} since the workers' start", markup=False)
    out.print(f"  masters      {status.masters}", markup=False)
    out.print(f"  workers      {status.workers}", markup=False)
    for line in _in_workers(status, held):
        out.print(f"    {line}", markup=False)
    out.print(f"  services     {planned} of {len(status.services)} as planned", markup=False)
    out.print(_mounts(status.mounts))
    for line in behind(status.services):
        out.print(f"behind   {line}", markup=False)
    for line in kept_copies(status.mounts):
        out.print(f"kept     {line}", markup=False)
    for line in without_direct(status.mounts):
        out.print(f"note     {line}", markup=False)
    for index, line in enumerate(status.failing):
        out.print(f"{'FAILING ' if not index else '        '} {line}", markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _in_workers(status: Status, held: Mapping[str, int | None]) -> Iterator[str]:
    sizes = {one.name: one.bytes for one in status.mounts}
    for name, size in held.items():
        told = "the master did not tell" if size is None else _of(size, sizes.get(name, 0))
        yield f"of {name}  {told}"


def _mounts(mounts: list[Mounted]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=False)
    for heading in ("node", "dataset", "mount"):
        table.add_column(heading, no_wrap=True)
    for heading in ("readers", "waiting", "client cache", "staged"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in mounts:
        known = one.cached is not None and one.cache_bytes
        cache = f"{format_size(one.cached or 0)} of {format_size(one.cache_bytes)}" if known else "-"
        waiting = "-" if one.waiting is None else str(one.waiting)
        staged = "-" if one.staged_bytes is None else _of(one.staged_bytes, one.bytes)
        table.add_row(one.node, one.name, one.state, str(len(one.readers)), waiting, cache, staged)
    return table


def _of(part: int, whole: int) -> str:
    return f"{format_size(part)} of {format_size(whole)}, {part / whole:.0%}" if whole else format_size(part)
