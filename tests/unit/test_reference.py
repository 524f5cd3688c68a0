"""The generated reference is what the code says."""

from pathlib import Path

import reference


def test_variables_are_up_to_date() -> None:
    text = (Path(__file__).parents[2] / "docs/variables.md").read_text()
    assert text == reference.variables(), "run `make docs`"
