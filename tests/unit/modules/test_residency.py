"""What the page cache holds of files, seen on real files."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, residency


@pytest.fixture
def files() -> Iterator[list[str]]:
    # beside the checkout: /tmp may be a tmpfs, which forgets nothing
    with TemporaryDirectory(dir=Path(__file__).parents[3], prefix=".residency-") as folder:
        Path(folder).chmod(0o755)
        paths = [Path(folder) / f"{index}" for index in range(3)]
        for path in paths:
            path.write_bytes(os.urandom(100_000))
            with path.open("rb") as written:
                os.fsync(written.fileno())
        yield [str(path) for path in paths]


def test_what_was_written_is_resident_until_it_is_forgotten(files: list[str]) -> None:
    assert residency.resident_share(files) == 1.0
    residency.forget(files[:1])
    assert residency.resident_share(files[:1]) == 0.0
    assert residency.resident_share(files) == pytest.approx(2 / 3)
    Path(files[0]).read_bytes()
    assert residency.resident_share(files) == 1.0


def test_a_sample_of_many_files_is_looked_at(files: list[str]) -> None:
    residency.forget(files[1:2])
    assert residency.resident_share(files, 2) == 1.0  # the first and the third


def test_what_cannot_be_looked_at_is_unknown(files: list[str], tmp_path: Path) -> None:
    residency.forget([str(tmp_path / "missing"), files[0]])
    assert residency.resident_share(files[:1]) == 0.0
    assert residency.resident_share([*files, str(tmp_path / "missing")]) is None
    assert residency.resident_share([]) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_of_files_of_others_nothing_is_known(files: list[str]) -> None:
    """To them the kernel says that all of it is there, also when nothing is."""
    residency.forget(files)
    assert residency.resident_share(files) == 0.0
    assert mount_table.in_child(lambda: residency.resident_share(files), 5, uid=65534) is None


def test_an_empty_file_has_no_pages(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert residency.resident_share([str(tmp_path / "empty")]) is None
