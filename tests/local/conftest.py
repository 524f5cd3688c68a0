"""What tests of S3 sources share."""

from collections.abc import Iterator

import pytest
from object_store import ObjectStore, object_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """A store of the module's own."""
    with object_store(tmp_path_factory.mktemp("store")) as running:
        yield running
