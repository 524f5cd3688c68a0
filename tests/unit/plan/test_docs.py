"""The pages about the planner say what the planner does."""

from pathlib import Path

import pytest
from fleets import Hosts, document, refusals

from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.problems import INVARIANTS

DOCS = Path(__file__).parents[3] / "docs"


def test_the_examples_are_what_the_planner_prints() -> None:
    assert (DOCS / "plans.md").read_text(encoding="utf-8") == document()


@pytest.mark.parametrize("hosts", refusals().values(), ids=refusals())
def test_what_is_shown_as_refused_is_refused(hosts: Hosts) -> None:
    with pytest.raises(Refused):
        plan(hosts)


def test_every_invariant_is_in_the_page() -> None:
    text = (DOCS / "planner.md").read_text(encoding="utf-8")
    for name, meaning in INVARIANTS.items():
        assert f"| `{name}` | {meaning} |" in text
