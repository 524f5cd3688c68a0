"""Training runs as a table for the terminal."""

from collections.abc import Iterator
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.check.evidence import LEVELS
from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.train.result import Node, Training
from alluxio_fuse.train.rows import Row

WIDTH = 150  # of notes, too; a table of all columns has about 140
SHORT = dict(zip(LEVELS, ("store", "worker", "cache", "stage", "pages"), strict=True))


def render(made: Training) -> str:
    """All nodes, then the verdict with its reasons, and at the end each node's answer."""
    text = StringIO()
    out = Console(file=text, width=WIDTH, highlight=False, soft_wrap=True)
    for node in made.nodes:
        out.print(_table(node, made.settings))
        for note in _notes(node):
            out.print(f"  {note}", markup=False)
    for node in made.nodes:
        for finding in node.findings:
            out.print(f"{finding.outcome:<12}{node.host}: {finding.reason}", markup=False)
    for line in made.saturation:
        out.print(f"source      {line}", markup=False)
    out.print(f"verdict     {made.verdict}", markup=False)
    for node in made.nodes:
        out.print(f"answer      {node.host}: {node.answer}", markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _table(node: Node, train: Train) -> Table:
    title = (
        f"{node.dataset} on {node.host}: {node.images} images, {node.held}, {node.bytes / 1e6:.0f} MB;"
        f" {node.framework} on {node.device}"
    )
    table = Table(
        title=title, box=box.SIMPLE_HEAD, title_justify="left", expand=False, pad_edge=False, collapse_padding=True
    )
    for heading in ("path", "epoch 1", "later"):
        table.add_column(heading, no_wrap=True)
    learned = ("AU",) if train.emulated else ("top-1", "top-5")
    headings = ("img/s", "min-max", "later", f"@{train.mark}", "wait", *learned, "hours", "+copy", "steps")
    for heading in (*headings, "CPU s", "KB/read", "runs"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in node.rows:
        table.add_row(row.path, row.state or "-", row.state_later or "-", *_figures(row))
    return table


def utilisation(row: Row) -> tuple[float, float | None] | None:
    """Of emulated accelerators, in epoch 1 and after it."""
    if not row.utilisation:
        return None
    return row.utilisation.median, row.utilisation_later.median if row.utilisation_later else None


def _figures(row: Row) -> tuple[str, ...]:
    return (
        f"{row.first.median:.0f}",
        f"{row.first.least:.0f}-{row.first.most:.0f}",
        f"{row.later.median:.0f}" if row.later else "-",
        f"{row.marked.median:.0f}",
        _shares(row.waiting, row.waiting_later),
        *([_shares(*used)] if (used := utilisation(row)) else [f"{row.top1:.1%}", f"{row.top5:.1%}"]),
        f"{row.hours:.4f}",
        f"{row.hours_with_copy:.4f}" if row.copy_s else "-",
        f"{row.steps}",
        f"{row.cpu_s_per_1000:.1f}",
        f"{row.read_bytes / 1e3:.0f}" if row.read_bytes else "-",
        f"{row.first.passes}{' *' if row.first_read else ''}{' noisy' if row.first.noisy else ''}",
    )


def _shares(first: float, later: float | None) -> str:
    """Of epoch 1, and of later ones."""
    return f"{first:.0%}" + ("" if later is None else f"/{later:.0%}")


def _notes(node: Node) -> Iterator[str]:
    for row in node.rows:
        for epoch, shares in (("epoch 1", row.origins), ("later", row.origins_later)):
            if shares:
                said = ", ".join(f"{SHORT[level]} {share:.0%}" for level, share in shares.items() if share >= 0.005)
                yield f"{row.label}: bytes of {epoch} came from {said}"
        if row.source_mb_per_s is not None:
            yield f"{row.label}: the source gave {row.source_mb_per_s:.0f} MB/s in epoch 1"
        if row.medium:
            disk = row.medium
            yield (
                f"{row.label}: the disk served epoch 1 in reads of {disk.read_bytes / 1e3:.0f} KB, which took"
                f" {disk.wait_ms:.2f} ms, {disk.queue:.1f} of them at a time, on average"
            )
        if row.copy_s:
            yield f"{row.label}: copying took {row.copy_s:.1f} s before the first run"
        if row.why:
            yield f"{row.label}: no single state is proven: {row.why}"
    first = sorted(row.measured for row in node.rows if row.first_read)
    if first:
        yield f"* measured when these bytes were read for the first time, last at {first[-1]}"
    learned = "AU: accelerator utilisation" if node.fed else "top-1 and top-5 of training images"
    yield f"img/s and wait are of epoch 1, and of later ones; CPU s of 1000 images; {learned}"
    yield from node.fed
    for one in node.sweep:
        yield (
            f"{one.loaders} loaders, {one.path}: {one.images_per_s:.0f} images/s, waiting {one.waiting:.0%},"
            f" processors {one.busy:.0%} busy"
        )
    if node.limit:
        yield node.limit
    for mistake in node.mistakes[:5]:
        yield f"WRONG  {mistake}"
