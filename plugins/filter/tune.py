"""Doors from playbooks to `alluxio_fuse.tune`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from alluxio_fuse.check.passes import Settings
from alluxio_fuse.doors import door, plain
from alluxio_fuse.plan import Refused
from alluxio_fuse.tune import choice, processes, trials

DOCUMENTATION = """
name: tune
short_description: what is tried on a mount, and what is kept
description:
  - C(tune_planned) says the planned settings of a mount and which of them may be tried.
  - C(tune_passes) lists the passes that try some settings in turn, C(tune_candidates) what there is to try.
  - C(tune_leader) and C(tune_decide) compare what was measured; wrong bytes are an error.
  - C(tune_processes) says which processes to try beside that of a mount, C(tune_beside) which of them serve,
    C(tune_not_tried) which do not, and C(tune_fill_passes) and C(tune_process_passes) list what they read;
    C(tune_trials) gives what came of it as C(tune_leader) and C(tune_decide) compare it.
  - C(tune_record) and C(tune_table) give the decisions as they are kept and shown.
"""


def tune_candidates(knob: str, current: Any, said: Any) -> list[dict[str, int]]:
    """What there is to try of one knob."""
    return trials.candidates(str(knob), plain(current), plain(said))


def tune_passes(header: Any, dataset: Any, settings: Any, tried: Any) -> list[dict[str, Any]]:
    """Passes that try settings in turn; the first of them are the current ones. None where there is nothing to try."""
    how = Settings.model_validate(plain(settings))
    return trials.trial_passes(plain(header), plain(dataset), how, plain(tried)) if len(tried) > 1 else []


def tune_leader(results: Any, knob: str, current: Any, header: Any) -> Mapping[str, int | str]:
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


def tune_processes(hosts: Any, place: Any, header: Any, settings: Any, said: Any) -> list[dict[str, Any]]:
    """The processes to try; place: a host and its dataset as filter C(targets) returns it; said: variables or None."""
    host, dataset = plain(place)
    read = processes.bytes_to_read(plain(header), dataset, Settings.model_validate(plain(settings)))
    try:
        made = processes.processes(plain(hosts), (str(host), dataset["name"]), read, plain(said))
    except Refused as refused:
        raise AnsibleFilterError(f"what the inventory says now is refused, so nothing is tried:\n{refused}") from None
    return [one.model_dump(mode="json") for one in made]


def tune_beside(tried: Any, started: Any, metrics: Any) -> list[dict[str, Any]]:
    """The processes that serve: {name, mount_point, metrics}; metrics: those of the mount."""
    names = {one["number"]: one["name"] for one in plain(tried)}
    addresses = plain(metrics)
    host = addresses["fuse"][0].rpartition(":")[0] if addresses["fuse"] else ""
    return [
        {
            "name": names[one["number"]],
            "mount_point": one["mount_point"],
            "metrics": {**addresses, "fuse": [f"{host}:{one['port']}"] if one["port"] and host else []},
        }
        for one in plain(started)
    ]


def tune_not_tried(tried: Any, failed: Any) -> list[str]:
    """A line for each process that the planner refused or that did not start."""
    why = {one["number"]: one["why"] for one in plain(failed)}
    reasons = {one["name"]: one["refused"] or why.get(one["number"]) for one in plain(tried)}
    return [f"not tried: {name}: {reason}" for name, reason in reasons.items() if reason]


def tune_fill_passes(header: Any, dataset: Any, settings: Any, beside: Any) -> list[dict[str, Any]]:
    """What fills the client caches of processes, and warms them."""
    how = Settings.model_validate(plain(settings))
    return processes.fill_passes(plain(header), plain(dataset), how, plain(beside))


def tune_process_passes(header: Any, dataset: Any, settings: Any, beside: Any) -> list[dict[str, Any]]:
    """Passes that read through processes in turn; none where there is none to be compared with the one as planned."""
    how, served = Settings.model_validate(plain(settings)), plain(beside)
    comparable = len(served) > 1 and processes.AS_PLANNED in [one["name"] for one in served]
    return processes.trial_passes(plain(header), plain(dataset), how, served) if comparable else []


def tune_trials(results: Any) -> list[dict[str, Any]]:
    """Results of passes of processes, as they are compared."""
    return processes.as_trials(plain(results))


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
        settings = (tune_candidates, tune_passes)
        beside = (tune_processes, tune_beside, tune_not_tried, tune_fill_passes, tune_process_passes, tune_trials)
        decisions = (tune_leader, tune_decide, tune_record, tune_table)
        doors = {one.__name__: one for one in (*settings, *beside, *decisions)}
        return {"tune_planned": door(trials.planned), **doors}
