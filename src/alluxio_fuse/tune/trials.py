"""What is tried, and the passes that try it: candidates take turns in every round, so that whatever drifts hits all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from alluxio_fuse.check import passes
from alluxio_fuse.check.passes import CheckSettings, Pass
from alluxio_fuse.check.profiles import KINDS
from alluxio_fuse.plan.mount_settings import CONGESTION, MOUNT_SETTINGS
from alluxio_fuse.plan.rules.fuse import WITHIN_A_PAGE
from alluxio_fuse.plan.values import Service

READ_AHEAD_KB: Final = (WITHIN_A_PAGE // 4, WITHIN_A_PAGE // 2, WITHIN_A_PAGE)  # more multiplies what is read cold
MAX_BACKGROUND: Final = (12, 32, 64, 128)
CONGESTION_SHARES: Final = (0.5, 0.75, 1.0)  # of max_background
Amounts = Mapping[str, int | str]  # setting: amount, or "process": its name
Kernel = dict[str, int]
T = TypeVar("T")


def candidates(knob: str, current: Kernel, said: Mapping[str, Sequence[int]]) -> list[Kernel]:
    """Settings that differ from the current ones in one knob, and in what follows from it. `said`: amounts to try."""
    wanted = {
        "read_ahead_kb": READ_AHEAD_KB,
        "max_background": MAX_BACKGROUND,
        CONGESTION: tuple(int(current["max_background"] * share) for share in CONGESTION_SHARES),
    }[knob]
    made = []
    for amount in said.get(knob, wanted):
        follows = {CONGESTION: amount * 3 // 4} if knob == "max_background" else {}
        made.append(current | follows | {knob: amount})
    return [one for one in made if one[knob] != current[knob]]


def trial_passes(
    header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings, tried: Sequence[Kernel]
) -> list[Pass]:
    """Rounds of the check's passes with an empty page cache, each gone through with every one of `tried` in turn."""
    alone = {**dataset, "stage": None, "compare": [], "disk_copy": ""}
    wanted = [one for one in passes.rounds(header, alone, settings) if _is_wanted(one)]
    return [changed for one in wanted for changed in _with_each(one, tried)]


def planned(service: Service) -> dict[str, Any]:
    """{settings, knobs, behind} of a FUSE service of the plan; knobs in the order of trying, none overridden."""
    free = [knob for knob in MOUNT_SETTINGS if not service[knob].source.startswith("alluxio_overrides")]
    settings = {knob: int(service[knob].amount) for knob in MOUNT_SETTINGS}
    return {"settings": settings, "knobs": free, "behind": service["behind"].amount}


def in_turn(items: Sequence[T], number: int) -> list[T]:
    """All of them; which one begins changes with the number of the round."""
    begin = number % len(items)
    return [*items[begin:], *items[:begin]]


def _is_wanted(one: Pass) -> bool:
    return one["path"] == "mount" and one["kind"] in KINDS and (one["state"] == "warm-up" or one["before"] is not None)


def _with_each(one: Pass, tried: Sequence[Kernel]) -> Iterator[Pass]:
    if one["state"] == "warm-up":
        yield one
        return
    for settings in in_turn(tried, one["round"]):
        differs = ", ".join(f"{key} {amount}" for key, amount in settings.items() if amount != tried[0][key])
        name = f"{one['round']}: {one['kind']} files, {differs or 'as it is'}"
        yield one | {"name": name, "settings": settings}
