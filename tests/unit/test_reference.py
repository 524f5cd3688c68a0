"""The generated reference is what the code says."""

from pathlib import Path

import pytest
import reference
import stores

DOCS = Path(__file__).parents[2] / "docs"


def test_variables_are_up_to_date() -> None:
    assert (DOCS / "variables.md").read_text() == reference.variables(), "run `make docs`"


def test_stores_are_up_to_date() -> None:
    assert (DOCS / "stores.md").read_text(encoding="utf-8") == stores.page(), "run `make docs`"


@pytest.mark.parametrize(
    "row",
    [
        "| `alluxio_workload_memory` | size |  |",
        "| `under_store` | size | `4Gi` |",
        '| `freshness` | `immutable` or `"within: 10m"` |  |',
        "| `alluxio_workload_cpus` | number |  |",
    ],
)
def test_a_shape_is_what_the_user_writes(row: str) -> None:
    assert f"\n{row}" in reference.variables()
