"""Whether a setting is better beyond noise. Candidate and current setting are compared within each round only."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, Final

from pydantic import BaseModel

from alluxio_fuse.check.evidence import Result, doubt, mistakes
from alluxio_fuse.check.statistics import Spread, spread
from alluxio_fuse.tune.processes import KNOB
from alluxio_fuse.tune.trials import Amounts

GAIN: Final = 1.05  # at the median, and above 1 in every round, of at least one kind of files
LEAST_ROUNDS: Final = 3
Speeds = Mapping[tuple[str, int, int | str], float]  # by kind, round and amount


class WrongBytesError(ValueError):
    """A pass whose bytes are not those of the manifest: no speed counts, and something is badly wrong."""


class Trial(Result):
    """One pass with certain settings of the mount."""

    round: int
    settings: Amounts


class Compared(BaseModel):
    """One candidate: its amount, its speed over the current one's by kind of files, and of the whole set."""

    amount: int | str
    by_kind: dict[str, Spread]
    whole: float
    verdict: str

    @property
    def better(self) -> bool:
        return self.verdict == "better"


class Decision(BaseModel):
    """What came of one knob. `settings` hold from now on; `kept` is None where the current amount stays."""

    knob: str
    at: str
    current: int | str
    kept: int | str | None
    why: str
    settings: Amounts
    tried: list[Compared]
    confirmed: list[Compared]


def leader(knob: str, current: Amounts, results: Sequence[Any], header: Mapping[str, Any]) -> Amounts | None:
    """The settings worth a second look: of those that are better, the ones by which the whole set is read fastest."""
    tried = _compared(knob, current, results, header)
    best = max((one for one in tried if one.better), key=lambda one: one.whole, default=None)
    return None if best is None else _settings(knob, best.amount, results)


def decide(
    knob: str, current: Amounts, rounds: tuple[Sequence[Any], Sequence[Any]], header: Mapping[str, Any], at: str
) -> Decision:
    """Kept is what led in the first rounds and is better in the second ones, too: the best of many is often luck."""
    first, second = rounds
    tried, confirmed = _compared(knob, current, first, header), _compared(knob, current, second, header)
    winner = next((one for one in confirmed if one.better), None)
    settings = current if winner is None else _settings(knob, winner.amount, second)
    return Decision(
        knob=knob,
        at=at,
        current=current[knob],
        kept=None if winner is None else winner.amount,
        why=_why(current[knob], winner, tried, confirmed),
        settings=settings,
        tried=tried,
        confirmed=confirmed,
    )


def kept(decisions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is recorded: the amount, reason and time of each setting that was kept, and all that was tried."""
    read = [Decision.model_validate(one) for one in decisions]
    found = {one.knob: {"amount": one.kept, "why": one.why, "at": one.at} for one in read if one.kept is not None}
    return {**found, "tried": [one.model_dump(mode="json") for one in read]}


def _compared(knob: str, current: Amounts, results: Sequence[Any], header: Mapping[str, Any]) -> list[Compared]:
    trials = [Trial.model_validate(one) for one in results if one.get("settings")]
    for trial in trials:
        if wrong := mistakes(trial):
            raise WrongBytesError(f"{knob} {trial.settings[knob]}: {wrong[0]}")
    amounts = dict.fromkeys(trial.settings[knob] for trial in trials)
    return [_compare(knob, current[knob], amount, trials, header) for amount in amounts if amount != current[knob]]


def _compare(
    knob: str, current: int | str, amount: int | str, trials: Sequence[Trial], header: Mapping[str, Any]
) -> Compared:
    concerned = [trial for trial in trials if trial.settings[knob] in (current, amount)]
    speeds = {(one.kind, one.round, one.settings[knob]): one.mb_per_s for one in concerned}
    by_kind = {
        kind: spread([speeds[kind, number, amount] / speeds[kind, number, current] for number in _rounds(kind, speeds)])
        for kind in dict.fromkeys(kind for kind, _, _ in speeds)
    }
    whole = _seconds(header, current, speeds) / _seconds(header, amount, speeds)
    unproven = next((why for trial in concerned if (why := doubt(trial))), None)
    verdict = f"not proven: {unproven}" if unproven else _verdict(by_kind)
    return Compared(amount=amount, by_kind=by_kind, whole=whole, verdict=verdict)


def _rounds(kind: str, speeds: Speeds) -> list[int]:
    return sorted({number for of, number, _ in speeds if of == kind})


def _seconds(header: Mapping[str, Any], amount: int | str, speeds: Speeds) -> float:
    """How long the whole set would take."""
    by_kind: dict[str, list[float]] = {}
    for (kind, _, of), speed in speeds.items():
        if of == amount:
            by_kind.setdefault(kind, []).append(speed)
    return sum(float(header[kind]["bytes"]) / 1e6 / median(found) for kind, found in by_kind.items())


def _verdict(by_kind: Mapping[str, Spread]) -> str:
    if any(ratios.passes < LEAST_ROUNDS for ratios in by_kind.values()):
        return "too few rounds"
    if any(ratios.median * GAIN < 1 for ratios in by_kind.values()):
        return "worse"
    if any(ratios.least > 1 and ratios.median >= GAIN for ratios in by_kind.values()):
        return "better"
    return "no difference beyond noise"


def _why(current: int | str, winner: Compared | None, tried: Sequence[Compared], confirmed: Sequence[Compared]) -> str:
    if winner:
        speeds = "; ".join(_text(kind, ratios) for kind, ratios in winner.by_kind.items())
        return f"measured over {current}: {speeds}"
    if confirmed:
        return f"{confirmed[0].amount} led, but not in the rounds after: {confirmed[0].verdict}"
    return "nothing to try" if not tried else "nothing that was tried is better beyond noise"


def _text(kind: str, ratios: Spread) -> str:
    return f"{kind} files x{ratios.median:.2f} ({ratios.least:.2f} to {ratios.most:.2f})"


def _settings(knob: str, amount: int | str, results: Sequence[Any]) -> Amounts:
    return next(dict(one["settings"]) for one in results if one.get("settings", {}).get(knob) == amount)


def table(name: str, decisions: Sequence[Mapping[str, Any]]) -> str:
    """Everything that was tried, as text."""
    lines = []
    for one in map(Decision.model_validate, decisions):
        stays = f"{one.current} stays" if one.kept is None else f"{one.current} -> {one.kept}"
        lines.append(f"{name}  {one.knob}: {stays}: {one.why}")
        for compared, again in [*((each, "") for each in one.tried), *((each, " again") for each in one.confirmed)]:
            speeds = "; ".join(_text(kind, ratios) for kind, ratios in compared.by_kind.items())
            lines.append(f"    {compared.amount:>6}{again:<6}  {speeds}: {compared.verdict}")
        if one.knob == KNOB and one.kept:
            lines.append(f"    write {one.kept} and run site.yml: FUSE is started again where nobody reads")
    return "\n".join(lines)
