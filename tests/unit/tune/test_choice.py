"""A setting is kept where it is better beyond noise, twice, and where every byte was right."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from alluxio_fuse.tune import choice

CURRENT = {"read_ahead_kb": 1024, "max_background": 64, "congestion_threshold": 48}
HEADER = {"small": {"bytes": 400_000_000}, "large": {"bytes": 800_000_000}}
AT = "2026-11-22T03:00:00Z"
Rounds = Mapping[int, tuple[Sequence[float], Sequence[float]]]
STEADY = ([1000, 1010, 990], [2000, 2020, 1980])


@pytest.fixture
def tried(result: dict[str, Any]) -> Callable[..., list[dict[str, Any]]]:
    """Passes of {read-ahead: (MB/s of small files, of large files) by round}."""

    def make(speeds: Rounds, **changed: Any) -> list[dict[str, Any]]:
        results = []
        for amount, by_kind in speeds.items():
            for kind, rounds in zip(("small", "large"), by_kind, strict=True):
                for number, speed in enumerate(rounds, 1):
                    settings = CURRENT | {"read_ahead_kb": amount}
                    one = {"round": number, "kind": kind, "settings": settings, "mb_per_s": speed}
                    results.append(result | one | changed)
        return results

    return make


def decided(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> choice.Decision:
    return choice.decide("read_ahead_kb", CURRENT, (first, second), HEADER, AT)


def led(results: list[dict[str, Any]]) -> int | str | None:
    found = choice.leader("read_ahead_kb", CURRENT, results, HEADER)
    return found["read_ahead_kb"] if found else None


def test_better_in_every_round_twice_is_kept(tried: Callable[..., list[dict[str, Any]]]) -> None:
    first = tried({1024: STEADY, 2048: (STEADY[0], [2600, 2500, 2700])})
    assert led(first) == 2048
    decision = decided(first, first)
    assert decision.kept == 2048
    assert decision.settings == CURRENT | {"read_ahead_kb": 2048}
    assert decision.why == "measured over 1024: small files x1.00 (1.00 to 1.00); large files x1.30 (1.24 to 1.36)"


@pytest.mark.parametrize(
    ("small", "large", "why"),
    [
        (STEADY[0], [2040, 2060, 2020], "too little"),
        (STEADY[0], [2600, 2010, 2700], "one round without a gain"),
        ([900, 920, 880], [2600, 2500, 2700], "small files pay for it"),
        (STEADY[0], [600, 620, 590], "a cliff"),
    ],
)
def test_what_is_not_better_beyond_noise_does_not_lead(
    tried: Callable[..., list[dict[str, Any]]], small: list[float], large: list[float], why: str
) -> None:
    assert led(tried({1024: STEADY, 2048: (small, large)})) is None, why


def test_what_led_by_luck_is_not_kept(tried: Callable[..., list[dict[str, Any]]]) -> None:
    first = tried({1024: STEADY, 2048: (STEADY[0], [2600, 2500, 2700])})
    decision = decided(first, tried({1024: STEADY, 2048: STEADY}))
    assert (decision.kept, decision.settings) == (None, CURRENT)
    assert decision.why == "2048 led, but not in the rounds after: no difference beyond noise"


def test_of_several_the_one_that_reads_the_whole_set_fastest_leads(tried: Callable[..., list[dict[str, Any]]]) -> None:
    results = tried({1024: STEADY, 512: ([1100, 1110, 1090], STEADY[1]), 2048: (STEADY[0], [2400, 2400, 2400])})
    assert led(results) == 2048


def test_a_pass_that_proves_no_state_keeps_nothing(tried: Callable[..., list[dict[str, Any]]]) -> None:
    fast = {1024: STEADY, 2048: (STEADY[0], [2600, 2500, 2700])}
    assert led(tried(fast, resident_before=0.7)) is None
    assert led(tried(fast, counters={"client_cache": 10, "client_external": 990})) is None


def test_wrong_bytes_are_an_error(tried: Callable[..., list[dict[str, Any]]]) -> None:
    wrong = {"compared": 10, "digested": 10, "wrong": 1, "problems": [{"path": "a", "what": "wrong digest"}]}
    with pytest.raises(choice.WrongBytesError, match="read_ahead_kb 2048: a: wrong digest"):
        led(tried({1024: STEADY}) + tried({2048: STEADY}, verified=wrong))


def test_the_record_has_what_was_kept_and_all_that_was_tried(tried: Callable[..., list[dict[str, Any]]]) -> None:
    first = tried({1024: STEADY, 2048: (STEADY[0], [2600, 2500, 2700]), 128: (STEADY[0], [900, 910, 890])})
    decision = decided(first, tried({1024: STEADY, 2048: (STEADY[0], [2600, 2500, 2700])})).model_dump(mode="json")
    record = choice.kept([decision])
    assert record["read_ahead_kb"] == {"amount": 2048, "why": decision["why"], "at": AT}
    assert {one["amount"]: one["verdict"] for one in record["tried"][0]["tried"]} == {2048: "better", 128: "worse"}
    assert "1024 -> 2048" in choice.table("set", [decision])


def test_nothing_is_recorded_of_what_stays() -> None:
    decision = decided([], [])
    assert decision.why == "nothing to try"
    assert set(choice.kept([decision.model_dump(mode="json")])) == {"tried"}
