"""Doors from playbooks to `alluxio_fuse.check` and `alluxio_fuse.report`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alluxio_fuse.check import junit, passes, table, verdict, warming
from alluxio_fuse.doors import plain
from alluxio_fuse.report import html

DOCUMENTATION = """
name: check
short_description: passes, verdict, table and report of the read check
description:
  - C(warm_steps) and C(warm_summary) say what is left to fill and how far it is filled.
  - C(check_rounds) and C(check_together) list the passes of a check.
  - C(check_copied) says how many files the local disk needs a copy of.
  - C(check_verdict) judges the passes.
  - C(check_table), C(check_junit) and C(check_report) show the judged result as text, JUnit XML and a page.
"""


def warm_steps(header: Any, dataset: Any, kept: Any, levels: Any, **settings: bool) -> dict[str, Any]:
    """What is left to do to fill the caches with a dataset; settings `workers` and `disruptive`."""
    return warming.steps(plain(header), plain(dataset), plain(kept), plain(levels), settings)


def warm_summary(header: Any, dataset: Any, levels: Any) -> str:
    """A line that says what is resident where."""
    return warming.summary(plain(header), plain(dataset), plain(levels))


def check_rounds(header: Any, dataset: Any, settings: Any) -> list[dict[str, Any]]:
    """The passes of a check."""
    return passes.rounds(plain(header), plain(dataset), passes.Settings.model_validate(plain(settings)))


def check_together(header: Any, dataset: Any, settings: Any) -> list[dict[str, Any]]:
    """The passes that all nodes begin at the same moments."""
    return passes.together(plain(header), plain(dataset), passes.Settings.model_validate(plain(settings)))


def check_copied(header: Any, dataset: Any, settings: Any) -> int:
    """How many small files the local disk needs a copy of; 0 where it holds the source."""
    data, how = plain(dataset), passes.Settings.model_validate(plain(settings))
    return 0 if passes.folder(data["source"]) else passes.files_to_read(plain(header), "small", data, how)


def check_verdict(measured: Any, gate: Any, settings: Any, made: str, about: Any, *, hosts: Any = ()) -> dict[str, Any]:
    """The judged result, as in check.json; `hosts`: all that were to be measured."""
    judged = verdict.check(plain(measured), plain(gate), plain(settings), str(made), plain(about), hosts=plain(hosts))
    return judged.model_dump(mode="json")


def check_table(result: Any) -> str:
    """The result as a table."""
    return table.render(verdict.Check.model_validate(plain(result)))


def check_junit(result: Any) -> str:
    """The result as JUnit XML."""
    return junit.render(verdict.Check.model_validate(plain(result)))


def check_report(result: Any) -> str:
    """The result as a self-contained page."""
    return html.render(verdict.Check.model_validate(plain(result)))


class FilterModule:
    """Filters of warm, check and report."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        doors = (
            warm_steps,
            warm_summary,
            check_rounds,
            check_together,
            check_copied,
            check_verdict,
            check_table,
            check_junit,
            check_report,
        )
        return {door.__name__: door for door in doors}
