"""What an interrupted test run leaves is removed, and what a running one made is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import leftovers
import pytest

SUPPORT = Path(leftovers.__file__).parent
#: A test run that makes one thing of each kind that needs no deployment, says so, and goes on.
RUN = """
import subprocess, sys, time
from pathlib import Path
import leftovers
leftovers.RECORDS = Path(sys.argv[1])
leftovers.label_processes()
base = Path(sys.argv[2])
with leftovers.folder(base / "folder") as folder, leftovers.mounted(base / "point", "-t", "tmpfs", "tests"):
    (folder / "file").touch()
    (folder / "inner").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "inner", folder / "inner"], check=True)
    with leftovers.recorded("command", ["rm", str(base / "made")]):
        (base / "made").touch()
        sleeper = subprocess.Popen(["sleep", "9999"])
        print(sleeper.pid, flush=True)
        time.sleep(9999)
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(leftovers, "RECORDS", tmp_path / "records")
    (tmp_path / "point").mkdir()
    return tmp_path


@contextmanager
def run(base: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A test run in another process, and the process that it started."""
    command = [sys.executable, "-c", RUN, str(base / "records"), str(base)]
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        sleeper = int(process.stdout.readline())
        try:
            yield process, sleeper
        finally:
            process.kill()
            process.wait()
            leftovers.remove()


def there(base: Path, sleeper: int) -> dict[str, bool]:
    """Which of the things that a run made are there."""
    return {
        "folder": (base / "folder").exists(),
        "mount in it": str(base / "folder/inner") in leftovers.mount_points(),
        "mount": str(base / "point") in leftovers.mount_points(),
        "made by a command": (base / "made").exists(),
        "process": runs(sleeper),
    }


def runs(pid: int) -> bool:
    """Whether a process runs; one that has ended has no command line, until its parent has heard of its end."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


def test_what_a_killed_run_left_is_removed(base: Path) -> None:
    with run(base) as (process, sleeper):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert set(there(base, sleeper).values()) == {True}
        removed = leftovers.remove()
        assert set(there(base, sleeper).values()) == {False}
    assert [what.partition(" ")[0] for what in removed] == ["process", "command", "mount", "folder"]
    assert leftovers.remove() == []


def test_what_a_running_one_made_is_left_alone(base: Path) -> None:
    with run(base) as (_, sleeper):
        assert leftovers.remove() == []
        assert set(there(base, sleeper).values()) == {True}


def test_a_run_that_ends_leaves_no_record(base: Path) -> None:
    with leftovers.folder(base / "folder"), leftovers.recorded("command", ["true"]):
        assert len([*leftovers.RECORDS.glob("*.jsonl")]) == 1
    assert [*leftovers.RECORDS.glob("*")] == []
    assert not (base / "folder").exists()


def test_what_could_not_be_undone_stays_recorded(base: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError), leftovers.recorded("command", ["false"]):
        pass
    (record,) = leftovers.RECORDS.glob("*.jsonl")
    assert '"false"' in record.read_text()


def test_an_owner_is_not_another_process_of_the_same_number() -> None:
    owner = leftovers.owner_of(os.getpid())
    assert leftovers.alive(owner)
    assert not leftovers.alive(f"{os.getpid()}-1")
    assert not leftovers.alive("4194305-1")
