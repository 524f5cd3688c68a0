"""Keys in plain text in an inventory are refused before anything is changed; an encrypted file of keys is not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bundle import ANSIBLE_PLAYBOOK, CHECKOUT, Run, playbook

NAME = "refused"
SAID: dict[str, Any] = {"alluxio_name": NAME, "alluxio_environment": NAME, "alluxio_port_offset": 2200}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A file with keys in a copy of the local inventory that is called otherwise."""
    shutil.copytree(CHECKOUT / "inventories/local", tmp_path / "mine")
    path = tmp_path / "mine/group_vars/all/keys.yml"
    path.write_text("alluxio_credentials: {imagenet: {access_key: AK, secret_key: canary}}\n")
    return path


def preflight(keys: Path, *arguments: str, **variables: Any) -> Run:
    run = playbook("playbooks/preflight.yml", "-i", str(keys.parents[2]), *arguments, **SAID, **variables)
    assert "canary" not in run.output
    return run


def test_refused_unless_it_is_allowed(keys: Path) -> None:
    run = preflight(keys)
    assert run.status != 0
    assert run.changed == 0
    assert f"{keys}: plain text: alluxio_credentials.imagenet.secret_key" in run.output
    assert "alluxio_allow_plaintext_credentials: true" in run.output
    allowed = preflight(keys, alluxio_allow_plaintext_credentials=True)
    assert "TASK [preflight : Refuse what cannot work, all findings at once]" in allowed.output
    assert ": plain text: " not in allowed.output


def test_an_encrypted_file_is_fine(keys: Path, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("password\n")
    given = f"--vault-password-file={password}"
    tool = ANSIBLE_PLAYBOOK.with_name("ansible-vault")
    subprocess.run([tool, "encrypt", given, keys], cwd=CHECKOUT, check=True, capture_output=True)
    run = preflight(keys, given)
    assert "TASK [preflight : Refuse what cannot work, all findings at once]" in run.output
    assert ": plain text: " not in run.output
