"""Properties that the chart derives itself: where pods, ports and folders are."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml

#: The chart, in the checkout that this package is installed from.
CHART = Path(__file__).parents[3] / "charts" / "alluxio-fuse"


@cache
def _reserved() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rule["match"]) for rule in yaml.safe_load((CHART / "files" / "reserved.yaml").read_text()))


def is_reserved(key: str) -> bool:
    """Whether the chart writes this property, and refuses it from anybody else."""
    return any(one.search(key) for one in _reserved())
