"""Two runs side by side.

usage: python -m alluxio_fuse.report.compare RUN1 RUN2      (folders of runs/, or check.json files)
"""

import json
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Literal

from pydantic import BaseModel
from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.check.statistics import Spread
from alluxio_fuse.check.verdict import Check

WIDTH = 120
Word = Literal["faster", "slower", "within noise", "only in the first", "only in the second"]
Key = tuple[str, str, str, str, str]


class Change(BaseModel):
    """One row of both runs, in files/s or records/s; beyond noise where no pass of one run reached into the other's."""

    key: Key
    first: Spread | None
    second: Spread | None

    @property
    def ratio(self) -> float | None:
        """Second over first."""
        return self.second.median / self.first.median if self.first and self.second and self.first.median else None

    @property
    def word(self) -> Word:
        """What became of it."""
        if self.second is None:
            return "only in the first"
        if self.first is None:
            return "only in the second"
        if self.second.least > self.first.most:
            return "faster"
        return "slower" if self.second.most < self.first.least else "within noise"


def compare(first: Check, second: Check) -> Iterator[Change]:
    """Every row that was established in either run, in the order of the first."""
    before, after = _figures(first), _figures(second)
    for key in dict.fromkeys([*before, *after]):
        yield Change(key=key, first=before.get(key), second=after.get(key))


def render(first: Check, second: Check) -> str:
    """The changes as a table, the verdicts below, and what makes the runs unlike."""
    table = Table(box=box.SIMPLE_HEAD, expand=False)
    for heading in ("dataset", "files", "path", "state"):
        table.add_column(heading)
    for heading in (first.made, second.made, "ratio"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for change in compare(first, second):
        name, _, kind, path, state = change.key
        ratio = "-" if change.ratio is None else f"{change.ratio:.2f}"
        table.add_row(name, kind, path, state, _said(change.first), _said(change.second), ratio, change.word)
    text = StringIO()
    out = Console(file=text, width=WIDTH, highlight=False, soft_wrap=True)
    out.print(table)
    out.print(f"verdicts {first.verdict}, {second.verdict}", markup=False)
    for what in _unlike(first, second):
        out.print(f"unlike   {what}", markup=False)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _figures(check: Check) -> dict[Key, Spread]:
    return {
        (dataset.name, dataset.host, row.heading, row.path, row.state): row.files_per_s
        for dataset in check.datasets
        for row in dataset.rows
        if row.files_per_s
    }


def _said(spread: Spread | None) -> str:
    return "-" if spread is None else f"{spread.median:.0f} ({spread.least:.0f}-{spread.most:.0f})"


def _unlike(first: Check, second: Check) -> Iterator[str]:
    """Settings, gate, or a dataset's size: where they differ, a ratio says less."""
    for name, one, other in (
        ("settings", first.settings.model_dump(), second.settings.model_dump()),
        ("gate", first.gate.said(), second.gate.said()),
        ("datasets", _sizes(first), _sizes(second)),
        *((part, first.about.get(part), second.about.get(part)) for part in ("machine", "plan")),
    ):
        if one != other:
            yield f"{name}: {one} against {other}"


def _sizes(check: Check) -> dict[str, tuple[int, int]]:
    return {dataset.name: (dataset.files, dataset.bytes) for dataset in check.datasets}


def load(run: str) -> Check:
    """check.json of a run's folder, or that file itself."""
    path = Path(run)
    said = json.loads((path / "check.json" if path.is_dir() else path).read_text())
    said.get("settings", {}).pop("seed", None)  # of an earlier version; it is the manifests' now
    return Check.model_validate(said)


def main(arguments: list[str]) -> None:
    """Prints the comparison."""
    if len(arguments) != 2:
        raise SystemExit((__doc__ or "").partition("\n\n")[2].strip())
    print(render(*map(load, arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
