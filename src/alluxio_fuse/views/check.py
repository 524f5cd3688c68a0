"""Views of warm-up and check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from alluxio_fuse import targets
from alluxio_fuse.check import junit, passes, table, verdict, warming
from alluxio_fuse.check.passes import Pass
from alluxio_fuse.plan import Plan
from alluxio_fuse.report import html

_FORMATS: Final[Mapping[str, Callable[[verdict.Check], str]]] = {
    "text": table.render,
    "junit": junit.render,
    "html": html.render,
}


@dataclass(frozen=True)
class WarmSteps:
    """What is left to do to fill the caches with a dataset.

    first: passes before workers are loaded; load: whether they are; fill: passes after it. summary: a line that says
    what is resident where.
    """

    first: list[Pass]
    load: bool
    fill: list[Pass]
    summary: str


@dataclass(frozen=True)
class CheckPasses:
    """The passes of a check.

    rounds: of one node. together: those that all nodes begin at the same moments, empty where there is none to be made.
    copied: how many small files the local disk needs a copy of; 0 where it holds the source.
    """

    rounds: list[Pass]
    together: list[Pass]
    copied: int


@dataclass(frozen=True)
class CheckTerms:
    """What figures are held against: the gate of a host, and what a report says about the machine and the plan."""

    gate: dict[str, Any]
    about: dict[str, Any]


def warm_steps(
    header: Mapping[str, Any],
    dataset: Mapping[str, Any],
    kept: Mapping[str, Any],
    levels: Mapping[str, Any],
    *,
    workers: bool,
    disruptive: bool,
) -> WarmSteps:
    """What is left to do to fill the caches with a dataset, whose manifest has this header.

    kept: figures of first reads. levels: what is resident. workers: whether some can be loaded.
    """
    settings = {"workers": workers, "disruptive": disruptive}
    steps = warming.steps(header, dataset, kept, levels, settings)
    return WarmSteps(**steps, summary=warming.summary(header, dataset, levels))


def check_passes(header: Mapping[str, Any], dataset: Mapping[str, Any], settings: Mapping[str, Any]) -> CheckPasses:
    """The passes of a check on a dataset, whose manifest has this header."""
    how = passes.CheckSettings.model_validate(settings)
    return CheckPasses(
        rounds=passes.rounds(header, dataset, how),
        together=passes.together(header, dataset, how),
        copied=0 if dataset["folder"] else passes.files_to_read(header, "small", dataset, how),
    )


def check_terms(plan: Plan, host: str, facts: Mapping[str, Any], inventories: Sequence[str] = ()) -> CheckTerms:
    """What figures of a host are held against; inventories: as Ansible's `ansible_inventory_sources` names them."""
    return CheckTerms(gate=targets.gate(plan, host), about=targets.about(plan, host, facts, inventories))


def check_verdict(
    measured: Sequence[Mapping[str, Any]],
    gate: Mapping[str, Any],
    settings: Mapping[str, Any],
    made: str,
    about: Mapping[str, Any],
    *,
    hosts: Sequence[str] = (),
) -> dict[str, Any]:
    """The judged result, as in check.json; hosts: all that were to be measured."""
    return verdict.check(measured, gate, settings, made, about, hosts=hosts).model_dump(mode="json")


def check_report(result: Mapping[str, Any], format: str = "text") -> str:
    """The judged result as text, JUnit XML (junit) or a page that holds all it needs (html)."""
    return _FORMATS[format](verdict.Check.model_validate(result))
