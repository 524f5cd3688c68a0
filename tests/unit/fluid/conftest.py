"""What tests of Fluid's objects share."""

from __future__ import annotations

import pytest
from fluid_systems import Nodes, four_nodes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden objects anew; review the diff")


@pytest.fixture(scope="session")
def nodes() -> Nodes:
    """Four nodes of V100."""
    return four_nodes()
