"""Trying the JVM flags of a plan; the local layer does it with a real JVM."""

import sys

from fleets import local

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.flags import flag_sets, refusal


def test_each_set_of_flags_is_listed_once() -> None:
    sets = flag_sets(plan(local()))
    assert sum(map(len, sets.values())) == 5
    assert ["localhost.master"] in sets.values()


def test_a_program_that_refuses_its_arguments_is_quoted() -> None:
    assert refusal(("-c", "pass"), sys.executable) is None
    assert refusal(("-c", "raise SystemExit('no such flag')"), sys.executable) == "no such flag"
