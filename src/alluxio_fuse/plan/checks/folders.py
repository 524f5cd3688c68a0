"""Folders that are named: of datasets that there are, and apart from each other."""

from collections.abc import Iterable

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.schemes import FOLDER


def check_folders(intent: FleetIntent, problems: Problems) -> None:
    """Folders to compare with belong to datasets."""
    known = {dataset.name for dataset in intent.alluxio_datasets} or {intent.alluxio_sample.name}
    for name in sorted(intent.alluxio_check_folders.keys() - known):
        remedy = f"write {' or '.join(sorted(known))}"
        problems.refuse(f"alluxio_check_folders.{name}", "a dataset's name", "there is no such dataset", remedy)


def check_paths(fleet: Fleet, tiers: Iterable[str], problems: Problems) -> None:
    """Sources, cache media and mounts never lie within each other."""
    places = [(f"alluxio_datasets[{d.index}].source", d.source.removeprefix(FOLDER)) for d in fleet.shapes if d.source]
    places += [("alluxio_cache_tiers", path) for path in dict.fromkeys(tiers)]
    places += [("alluxio_name", fleet.mount_root), ("alluxio_name", fleet.state_dir)]
    outer, first = "", ""
    for inner, variable in sorted((f"{path}/", variable) for variable, path in places):
        if not outer or not inner.startswith(outer):
            outer, first = inner, variable
            continue
        how = "is the same as" if inner == outer else "lies within"
        named, other = (variable, first) if variable != "alluxio_name" else (first, variable)
        problems.refuse(
            named,
            inner.rstrip("/"),
            f"it {how} {outer.rstrip('/')} ({other})",
            "name folders that do not contain each other",
        )
