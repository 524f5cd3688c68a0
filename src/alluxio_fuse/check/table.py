"""The check as a table for the terminal."""

from collections.abc import Iterator
from io import StringIO
from itertools import zip_longest

from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.check.measured import NOT_TESTED
from alluxio_fuse.check.rows import Row, records_against_files
from alluxio_fuse.check.statistics import Spread
from alluxio_fuse.check.verdict import Check, Dataset, again

WIDTH = 132


def render(check: Check) -> str:
    """All datasets, then the gate and the verdict with its reasons."""
    text = StringIO()
    out = Console(file=text, width=WIDTH, highlight=False, soft_wrap=True)
    for dataset in check.datasets:
        out.print(_table(dataset))
        for note in _notes(dataset):
            out.print(f"  {note}", markup=False)
        for mistake in dataset.mistakes[:5]:
            out.print(f"  WRONG  {mistake}", markup=False)
    for one in check.fleet:
        out.print(f"fleet    {one.said()}", markup=False)
    for said in dict.fromkeys(dataset.gate.said() for dataset in check.datasets) or [check.gate.said()]:
        out.print(f"gate     {said}", markup=False)
    out.print(f"verdict  {check.verdict}", markup=False)
    for reason in check.reasons:
        out.print(f"         {reason}", markup=False)
    if check.verdict == "CANNOT TELL":
        for heading, line in zip_longest(("again",), again(check), fillvalue=""):
            out.print(f"{heading:<9}{line}", markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _table(dataset: Dataset) -> Table:
    digests = _digests(dataset)
    title = f"{dataset.name} on {dataset.host}: {dataset.files} files, {dataset.bytes / 1e6:.0f} MB, {digests} compared"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", expand=False)
    for heading in ("files", "path", "state"):
        table.add_column(heading, no_wrap=True)
    for heading in ("files/s", "MB/s", "(min-max)", "p50 ms", "p99 ms", "CPU s/GB", "of disk"):
        table.add_column(heading, justify="right")
    table.add_column("passes")
    for row in dataset.rows:
        table.add_row(row.heading, row.path, row.state, *_figures(row, dataset))
    return table


def _digests(dataset: Dataset) -> str:
    if dataset.coverage == "all":
        return f"every digest ({dataset.etags} are ETags)" if dataset.etags else "every digest"
    return f"a sample's digests and {dataset.etags} ETags" if dataset.etags else "a sample's digests"


def _figures(row: Row, dataset: Dataset) -> list[str]:
    if row.mb_per_s is None or row.files_per_s is None:
        return ["-"] * 7 + ["not tested" if row.why.startswith(NOT_TESTED) else "not proven"]
    return [
        f"{row.files_per_s.median:.0f}",
        *((f"{row.mb_per_s.median:.0f}", f"{row.mb_per_s.least:.0f}-{row.mb_per_s.most:.0f}") if row.bytes else "--"),
        f"{row.p50_ms:.2f}",
        f"{row.p99_ms:.2f}",
        f"{row.cpu_s_per_gb:.2f}" if row.bytes else "-",
        of_disk(row, dataset.rows),
        f"{row.files_per_s.passes}{' *' if row.first_read else ''}{' noisy' if row.files_per_s.noisy else ''}",
    ]


def _notes(dataset: Dataset) -> Iterator[str]:
    first = sorted({row.measured for row in dataset.rows if row.first_read and row.established})
    if first:
        yield f"* measured when these bytes were read for the first time, last at {first[-1]}"
    for path, times in dataset.compared.items():
        yield f"small files are {times.median:.2f} x {path} ({times.least:.2f} to {times.most:.2f})"
    yield from records_against_files(dataset.rows)
    for row in dataset.rows:
        if row.utilisation:
            least, most = row.utilisation.least, row.utilisation.most
            yield f"accelerator utilisation, {row.path}: {row.utilisation.median:.2f} ({least:.2f} to {most:.2f})"
    if dataset.jvm_warm_up_mb_per_s:
        speeds = ", ".join(f"{speed:.0f}" for speed in dataset.jvm_warm_up_mb_per_s)
        yield f"JVM warm-up, MB/s of small files: {speeds}"
    for row in dataset.rows:
        if row.why:
            yield f"{row.heading} files, {row.path}, {row.state}: {row.why}"


def of_disk(row: Row, rows: list[Row]) -> str:
    """The row's speed over that of the local disk, cold, for the same kind of files."""
    disk = next((r.files_per_s for r in rows if (r.path, r.state, r.heading) == ("disk", "disk", row.heading)), None)
    measured: Spread | None = row.files_per_s
    return f"{measured.median / disk.median:.2f}" if disk and measured else "-"
