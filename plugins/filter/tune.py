"""Doors from playbooks to `alluxio_fuse.tune`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.check.passes import Settings
from alluxio_fuse.doors import plain
from alluxio_fuse.tune import choice, trials

DOCUMENTATION = """
name: tune
short_description: what is tried on a mount, and what is kept
description:
  - C(tune_planned) says the planned settings of a mount and which of them may be tried.
  - C(tune_passes) lists the passes that try some settings in turn, C(tune_candidates) what there is to try.
  - C(tune_leader) and C(tune_decide) compare what was measured; wrong bytes are an error.
  - C(tune_record) and C(tune_table) give the decisions as they are kept and shown.
"""


def tune_planned(service: Any) -> dict[str, Any]:
    """{settings, knobs, behind} of a FUSE service of the plan."""
    return trials.planned(plain(service))


def tune_candidates(knob: str, current: Any, said: Any) -> list[dict[str, int]]:
    """What there is to try of one knob."""
    return trials.candidates(str(knob), plain(current), plain(said))


def tune_passes(header: Any, dataset: Any, settings: Any, tried: Any) -> list[dict[str, Any]]:
    """Passes that try settings in turn; the first of them are the current ones. None where there is nothing to try."""
    how = Settings.model_validate(plain(settings))
    return trials.trial_passes(plain(header), plain(dataset), how, plain(tried)) if len(tried) > 1 else []


def tune_leader(results: Any, knob: str, current: Any, header: Any) -> dict[str, int]:
    """The settings worth a second look; empty where none is better."""
    try:
        return choice.leader(str(knob), plain(current), plain(results), plain(header)) or {}
    except choice.WrongBytesError as error:
        raise AnsibleFilterError(f"wrong bytes, so nothing is kept: {error}") from None


def tune_decide(rounds: Any, knob: str, current: Any, header: Any, at: str) -> dict[str, Any]:
    """What came of one knob; `rounds` are the results of the first and of the second ones."""
    first, second = plain(rounds)
    try:
        return choice.decide(str(knob), plain(current), (first, second), plain(header), str(at)).model_dump(mode="json")
    except choice.WrongBytesError as error:
        raise AnsibleFilterError(f"wrong bytes, so nothing is kept: {error}") from None


def tune_record(decisions: Any) -> dict[str, Any]:
    """The decisions as the node keeps them."""
    return choice.kept(plain(decisions))


def tune_table(decisions: Any, name: str) -> str:
    """The decisions as text."""
    return choice.table(str(name), plain(decisions))


class FilterModule:
    """Filters of role tune."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names of the filters and what they call."""
        doors = (tune_planned, tune_candidates, tune_passes, tune_leader, tune_decide, tune_record, tune_table)
        return {door.__name__: door for door in doors}
