"""report.html: one file, no scripts, nothing fetched from elsewhere."""

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from alluxio_fuse.check.gate import Gate
from alluxio_fuse.check.profiles import WAYS
from alluxio_fuse.check.rows import Row, records_against_files
from alluxio_fuse.check.table import of_disk
from alluxio_fuse.check.verdict import Check, Dataset
from alluxio_fuse.report import plots

KINDS = {"small": "Small files", "large": "Large files"}
BY_NUMBER = {"readers": "number of readers", "open files": "number of files held open"}


def render(check: Check) -> str:
    """The page of a check."""
    return page("report.html.j2", check=check, datasets=[_view(dataset, dataset.gate) for dataset in check.datasets])


def page(name: str, **values: object) -> str:
    """A template of this folder with its values and the style of all pages."""
    folder = files(__package__)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(folder.joinpath(name).read_text())
    return template.render(style=folder.joinpath("style.css").read_text(), **values)


def _view(dataset: Dataset, gate: Gate) -> dict[str, object]:
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in dataset.rows)]
    drawn = []
    for kind in kinds:
        rows = [row for row in _of(dataset, kind) if row.kind not in BY_NUMBER]
        name = f"{KINDS[kind]} of {dataset.name}"
        drawn.append(
            {
                "heading": KINDS[kind],
                "throughput": plots.ranges(f"{name}: throughput by path and state", rows, *_line(rows, gate)),
                "epochs": plots.epochs(f"{name}: throughput, epoch by epoch", rows),
                "latency": plots.latencies(f"{name}: time from open to close", rows),
            }
        )
    for kind, by in BY_NUMBER.items():
        throughput = plots.ranges(f"Small files of {dataset.name}: throughput by {by}", _of(dataset, kind), None, "")
        drawn.append({"heading": f"Small files, by {by}", "throughput": throughput})
    return {
        "data": dataset,
        "kinds": drawn,
        "origins": plots.origins(f"{dataset.name}: where the bytes came from", dataset.rows),
        "records": list(records_against_files(dataset.rows)),
        "of_disk": [of_disk(row, dataset.rows) for row in dataset.rows],
    }


def _of(dataset: Dataset, kind: str) -> list[Row]:
    """Rows of bytes of a kind, in whatever way they were read."""
    return [row for row in dataset.rows if kind in (row.kind, *WAYS.get(row.kind, ())[:1]) and row.bytes]


def _line(rows: list[Row], gate: Gate) -> tuple[float | None, str]:
    """Where the gate's line stands in MB/s, and what it is called."""
    if gate.mb_per_s:
        return gate.mb_per_s, "gate"
    if gate.unknown or gate.min_disk_ratio is None:
        return None, ""
    disk = next((row.mb_per_s for row in rows if (row.path, row.state, row.kind) == ("disk", "disk", "small")), None)
    return (disk.median * gate.min_disk_ratio, f"gate: {gate.min_disk_ratio:g} x disk, cold =") if disk else (None, "")
