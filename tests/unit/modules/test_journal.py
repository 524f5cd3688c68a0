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


def entry(*fields: bytes) -> bytes:
    message = b"".join(fields)
    return bytes([len(message)]) + message


SEQUENCE = b"\x08\x96\x01"  # field 1, as a varint
FILE = b"\x5a\x05inode"  # field 11
CLUSTER = b"\xd2\x02\x05\x0a\x03abc"  # field 42: its first field is the id


class TestDisown:
    def test_only_the_cluster_s_id_is_left_out(self, tmp_path: Path) -> None:
        others = [entry(SEQUENCE, FILE), entry(b"\x22\x02\xd2\x02"), entry(b"\x09" + bytes(8), b"\x15" + bytes(4))]
        source = backup(tmp_path, others[0] + entry(SEQUENCE, CLUSTER) + b"".join(others[1:]))
        target = tmp_path / "copy.gz"
        target.write_text("of an earlier run")
        assert journal.disown(str(source), target) == 3
        assert gzip.decompress(target.read_bytes()) == b"".join(others)
        assert target.stat().st_mode & 0o777 == 0o600
        assert journal.entries(str(target)) == 3
        assert journal.entries(str(source)) == 4

    def test_a_long_entry_stays_as_it_is(self, tmp_path: Path) -> None:
        content = b"\xc8\x01" + b"\x5a\xc5\x01" + b"x" * 197
        journal.disown(str(backup(tmp_path, content)), tmp_path / "copy.gz")
        assert gzip.decompress((tmp_path / "copy.gz").read_bytes()) == content

    @pytest.mark.parametrize(
        "content", [entry(FILE)[:-1], entry(b"\x5a\x06inode"), entry(b"\x5b"), entry(b"\x08\x96"), b"\xac"]
    )
    def test_a_damaged_backup_leaves_nothing(self, tmp_path: Path, content: bytes) -> None:
        source = backup(tmp_path, entry(SEQUENCE, FILE) + content)
        with pytest.raises(journal.DamagedError):
            journal.disown(str(source), tmp_path / "copy.gz")
        assert [*tmp_path.iterdir()] == [source]

    def test_so_does_one_that_was_cut_or_is_not_there(self, tmp_path: Path) -> None:
        source = backup(tmp_path, entry(SEQUENCE, FILE) * 50)
        source.write_bytes(source.read_bytes()[:-9])
        for path in (source, tmp_path / "none"):
            with pytest.raises(journal.DamagedError):
                journal.disown(str(path), tmp_path / "copy.gz")
        assert [*tmp_path.iterdir()] == [source]
