"""Median and range of a few passes, and when they are too far apart to mean anything."""

from collections.abc import Sequence
from statistics import median

from pydantic import BaseModel, computed_field

NOISY = 0.5  # (largest - smallest) / median
BUSY = 0.25  # of the processors, with other work: what is left tells nothing of the machine


class Spread(BaseModel):
    """Of some values: median, smallest, largest, how many."""

    median: float
    least: float
    most: float
    passes: int

    @computed_field  # type: ignore[prop-decorator]  # mypy 1.x and 2.x know no decorated properties
    @property
    def noisy(self) -> bool:
        """Whether the range is wider than half of the median."""
        return self.most - self.least > NOISY * self.median


def spread(values: Sequence[float]) -> Spread:
    """Median and range; there is at least one value."""
    return Spread(median=median(values), least=min(values), most=max(values), passes=len(values))
