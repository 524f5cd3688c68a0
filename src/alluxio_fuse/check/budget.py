"""What a check may cost a node and its under store where nothing may be disturbed."""

from collections.abc import Mapping
from typing import Any

from alluxio_fuse.plan.intent.work import CheckBudget
from alluxio_fuse.plan.units import format_size


class Spent:
    """What passes have cost so far, and whether there is enough left for one more at its worst."""

    def __init__(self, budget: CheckBudget) -> None:
        """Nothing was spent yet."""
        self.budget = budget
        self.bytes = self.under_store = self.seconds = 0.0

    @property
    def seconds_left(self) -> float:
        """For the next pass."""
        return self.budget.seconds - self.seconds

    @property
    def left(self) -> dict[str, int]:
        """The budget of passes after these; the least is one of each, which is enough for nothing."""
        spent = {"bytes": self.bytes, "under_store": self.under_store, "seconds": self.seconds}
        return {name: max(1, int(limit - spent[name])) for name, limit in self.budget.model_dump().items()}

    def short_for(self, one: Mapping[str, Any]) -> str | None:
        """What a pass might cost too much of; None if there is enough for it."""
        most = one["bytes"] * one.get("repeats", 1) if _cold(one) else 0
        if self.bytes + most > self.budget.bytes:
            return self.over("bytes")
        if _may_fetch(one) and self.under_store + most > self.budget.under_store:
            return self.over("under_store")
        return self.over("seconds") if self.seconds_left < 1 else None

    def over(self, what: str) -> str:
        """Why a pass was not made, or not to its end."""
        amount = getattr(self.budget, what)
        most = f"{amount} s" if what == "seconds" else format_size(amount)
        return f"it would go over the budget, alluxio_check_budget.{what} {most}"

    def add(self, one: Mapping[str, Any], result: Mapping[str, Any], seconds: float) -> None:
        """What a pass has cost."""
        self.seconds += seconds
        if not _cold(one):
            return
        for counters in result["repeats_counters"]:
            read = result["expected_bytes"]
            self.bytes += read
            if _may_fetch(one):
                # a worker counts for everybody who reads through it, so that a pass may seem to have fetched more
                counted = [counters.get(name) for name in ("under_store", "client_external")]
                whole = one.get("direct") or one["path"] == "disk"
                fetched = read if whole else next((each for each in counted if each is not None), read)
                self.under_store += min(max(fetched, 0), read)


def _cold(one: Mapping[str, Any]) -> bool:
    """Whether the pass reads from elsewhere than the page cache."""
    return one["before"] is not None


def _may_fetch(one: Mapping[str, Any]) -> bool:
    """Whether its bytes may come from the under store, which a copy on the local disk is not."""
    return one["path"] != "disk" or bool(one.get("source"))
