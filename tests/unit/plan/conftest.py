"""Plans for tests."""

from collections.abc import Callable
from typing import Any

import pytest

from alluxio_fuse.plan import Finding, Plan, Refused, plan

Hosts = dict[str, Any]


@pytest.fixture
def findings() -> Callable[[Hosts], tuple[Finding, ...]]:
    """The findings of a fleet for which there must be no plan."""

    def refuse(hosts: Hosts) -> tuple[Finding, ...]:
        with pytest.raises(Refused) as refused:
            plan(hosts)
        return refused.value.findings

    return refuse


@pytest.fixture
def finding(findings: Callable[[Hosts], tuple[Finding, ...]]) -> Callable[[Hosts], Finding]:
    """The only finding of a fleet."""

    def refuse(hosts: Hosts) -> Finding:
        found = findings(hosts)
        assert len(found) == 1, found
        return found[0]

    return refuse


@pytest.fixture
def planned() -> Callable[[Hosts], Plan]:
    """The plan of a fleet."""
    return plan
