"""Views of what role `tune` tries on a mount, and of what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse.check.passes import CheckSettings, Pass
from alluxio_fuse.plan import Plan
from alluxio_fuse.targets import targets
from alluxio_fuse.tune import choice, processes, trials

Results = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class ProcessPasses:
    """What is read through processes beside that of a mount.

    fill: what fills their client caches, and warms them. trials: what reads through them in turn, nothing where there
    is none to be compared with the one as planned. not_tried: a line for each that was refused or did not start.
    """

    fill: list[Pass]
    trials: list[Pass]
    not_tried: str


@dataclass(frozen=True)
class Decisions:
    """What was decided: as the node keeps it (record), and as it is shown (text)."""

    record: dict[str, Any]
    text: str


def tunable(plan: Plan, host: str, endpoints: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """The targets of a host, each with `planned`, of its mount: {settings, knobs: those that may be tried, behind}."""
    mounts = plan.mounts(host)
    return [{**one, "planned": trials.planned(mounts[one["name"]])} for one in targets(plan, host, (), endpoints)]


def tune_passes(
    header: Mapping[str, Any],
    dataset: Mapping[str, Any],
    settings: Mapping[str, Any],
    knob: str,
    current: Mapping[str, Any],
    *,
    said: Mapping[str, Sequence[int]] | None = None,
    first: Results | None = None,
) -> list[Pass]:
    """Passes with the current settings and every candidate of a knob in turn, or with the leader of the `first` ones.

    said: amounts to try, by knob. No passes where there is nothing to try.
    """
    if first is None:
        others = trials.candidates(knob, dict(current), said or {})
    else:
        best = choice.leader(knob, current, first, header)
        others = [dict(best)] if best else []  # type: ignore[arg-type]
    how = CheckSettings.model_validate(settings)
    return trials.trial_passes(header, dataset, how, [dict(current), *others]) if others else []


def tune_processes(
    hosts: Mapping[str, Mapping[str, Any]],
    host: str,
    header: Mapping[str, Any],
    dataset: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    said: Results | None = None,
) -> list[dict[str, Any]]:
    """The processes to try: :class:`alluxio_fuse.tune.processes.Process`.

    hosts: what the planner reads. dataset: of `host`, as the filter `targets` gives it. said: variables to try.
    """
    read = processes.bytes_to_read(header, dataset, CheckSettings.model_validate(settings))
    made = processes.processes(hosts, (host, dataset["name"]), read, said)
    return [one.model_dump(mode="json") for one in made]


def tune_process_passes(
    tried: Results,
    started: Mapping[str, Any],
    header: Mapping[str, Any],
    dataset: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    first: Results | None = None,
) -> ProcessPasses:
    """What is read through each process that serves, or again through the leader and the one as planned.

    tried: the processes; started: as the module `fuse_twins` returns what came of them. first: results of the passes
    that tell the leader.
    """
    beside, how = (
        processes.serving(tried, started["started"], dataset["metrics"]),
        CheckSettings.model_validate(settings),
    )
    read = beside if first is None else _leading(beside, first, header)
    comparable = len(read) > 1 and processes.AS_PLANNED in [one["name"] for one in read]
    return ProcessPasses(
        fill=processes.fill_passes(header, dataset, how, beside),
        trials=processes.trial_passes(header, dataset, how, read) if comparable else [],
        not_tried="\n".join(processes.not_tried(tried, started["failed_to_start"])),
    )


def tune_decide(
    rounds: tuple[Results, Results], knob: str, current: Mapping[str, Any], header: Mapping[str, Any], at: str
) -> dict[str, Any]:
    """What came of one knob, or of processes: :class:`alluxio_fuse.tune.choice.Decision`.

    rounds: results of the first passes and of the second ones. at: the time.
    """
    first, second = map(processes.as_trials, rounds) if knob == processes.KNOB else rounds
    return choice.decide(knob, current, (first, second), header, at).model_dump(mode="json")


def tune_decisions(decisions: Results, name: str = "") -> Decisions:
    """What was decided, as it is kept and shown; name: of the mount."""
    return Decisions(record=choice.kept(decisions), text=choice.table(name, decisions))


def _leading(beside: processes.Beside, first: Results, header: Mapping[str, Any]) -> processes.Beside:
    best = choice.leader(processes.KNOB, {processes.KNOB: processes.AS_PLANNED}, processes.as_trials(first), header)
    return [one for one in beside if one["name"] in (processes.AS_PLANNED, best and best[processes.KNOB])]
