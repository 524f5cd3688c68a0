"""The main job of a source; each file says its `variables`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import leftovers
import pytest
from bundle import Run, judged, playbook, succeed


@pytest.fixture(scope="module")
def first(variables: dict[str, Any]) -> Iterator[Run]:
    """The first run of the whole job, as talkative as it can be."""
    leftovers.remove_deployment(variables)
    succeed(playbook("playbooks/image.yml"))
    with leftovers.deployment(variables):
        yield judged(playbook("site.yml", "-vvv", **variables))
