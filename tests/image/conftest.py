"""The image that these tests run is that of this checkout."""

import pytest
from bundle import playbook, succeed


@pytest.fixture(scope="session", autouse=True)
def _image() -> None:
    succeed(playbook("playbooks/image.yml"))
