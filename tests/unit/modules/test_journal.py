"""A backup of the journal is believed only when it is read back whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import journal
from ansible_collections.alluxio.fuse.plugins.modules.journal_backup import parse

SMALL, LONG = b"\x03abc", b"\xac\x02" + b"x" * 300


def backup(folder: Path, content: bytes) -> Path:
    (folder / "journal.gz").write_bytes(gzip.compress(content))
    return folder / "journal.gz"


def test_entries_are_counted(tmp_path: Path) -> None:
    assert journal.entries(str(backup(tmp_path, SMALL + LONG + SMALL))) == 3
    assert journal.entries(str(backup(tmp_path, b""))) == 0


@pytest.mark.parametrize("content", [SMALL + b"\x03ab", SMALL + LONG[:200], SMALL + b"\xac"])
def test_one_that_ends_too_early_is_damaged(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(journal.DamagedError, match="ends within"):
        journal.entries(str(backup(tmp_path, content)))


def test_so_is_one_that_was_cut_or_changed_or_is_not_there(tmp_path: Path) -> None:
    path = backup(tmp_path, LONG * 50)
    whole = path.read_bytes()
    for content in (whole[:-9], whole[:20] + bytes([whole[20] ^ 255]) + whole[21:], b"no archive"):
        path.write_bytes(content)
        with pytest.raises(journal.DamagedError):
            journal.entries(str(path))
    with pytest.raises(journal.DamagedError):
        journal.entries(str(tmp_path / "none"))


def test_what_the_master_tells() -> None:
    said = (
        "Backup state: Initiating\r          \rBackup Host        : 192.0.2.2\n"
        "Backup URI         : file:///var/lib/a/journal/backup/alluxio-backup-2026-11-22-1795315481983.gz\n"
        "Backup Entry Count : 13\n"
    )
    assert parse(said) == ("/var/lib/a/journal/backup/alluxio-backup-2026-11-22-1795315481983.gz", 13)
    assert parse("Backup failed") is None
