"""Services that are not planned any more go by role `undo`, and no reader of their mounts loses a file unasked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
#: A mount that is there, for one of FUSE.
MOUNT = Path("/dev/shm")
pytestmark = pytest.mark.skipif(not MOUNT.is_mount(), reason=f"{MOUNT} is no mount here")


@pytest.fixture
def reader() -> Iterator[str]:
    """A process that has a file of the mount open: this one."""
    with NamedTemporaryFile(dir=MOUNT):
        yield f"({os.getpid()})"


def removed(folder: Path, **said: Any) -> tuple[bool, str]:
    """Whether a file of a service went, and what Ansible said."""
    file = folder / "site.conf"
    file.touch()
    item = {"kind": "file", "id": str(file), "data": {"role": "platform_containers"}}
    role = {"name": "undo", "tasks_from": "unplanned"}
    about = {"undo_name": "x", "undo_state_dir": str(folder / "state"), "undo_items": [item], **said}
    tasks = [{"ansible.builtin.include_role": role, "vars": about}]
    connection = {"ansible_become": False, "ansible_python_interpreter": sys.executable}
    play = {"hosts": "localhost", "gather_facts": False, "vars": connection, "tasks": tasks}
    (folder / "play.yml").write_text(json.dumps([play]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", str(folder / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    assert (done.returncode == 0) is not file.exists(), output
    return not file.exists(), " ".join(output.split())


def test_a_mount_with_readers_stays_with_all_that_serves_it(tmp_path: Path, reader: str) -> None:
    gone, output = removed(tmp_path, undo_mount_points=[str(MOUNT)])
    assert not gone
    assert f"{MOUNT} is not planned any more, and is read by" in output
    assert reader in output
    assert "-e alluxio_under_readers=true" in output


def test_it_goes_from_under_its_readers_where_that_is_said(tmp_path: Path, reader: str) -> None:
    assert removed(tmp_path, undo_mount_points=[str(MOUNT)], undo_in_use=True)[0], reader


def test_what_mounts_nothing_goes(tmp_path: Path) -> None:
    assert removed(tmp_path, undo_mount_points=[])[0]
