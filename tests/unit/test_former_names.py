"""A role's variable by its name of before is refused with the new one: it would do nothing, and say nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
RENAMED: dict[str, str] = yaml.safe_load((ROOT / "roles/preflight/vars/main.yml").read_text())["__preflight_renamed"]
PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.import_role:
        name: preflight
        tasks_from: questions
"""


def played(folder: Path, said: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "play.yml").write_text(PLAY)
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", str(folder / "play.yml")]
    return subprocess.run([*command, "-e", json.dumps(said)], cwd=ROOT, capture_output=True, text=True, check=False)


def test_names_of_before_are_refused_with_those_of_now(tmp_path: Path) -> None:
    done = played(tmp_path, dict.fromkeys(RENAMED, "1"))
    assert done.returncode == 2, done.stdout + done.stderr
    for former, now in RENAMED.items():
        assert f"{former}: write {now}" in done.stdout + done.stderr


def test_names_of_now_are_not(tmp_path: Path) -> None:
    done = played(tmp_path, dict.fromkeys(RENAMED.values(), "1"))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", sorted(set(RENAMED.values())))
def test_a_role_has_the_name_of_now(name: str) -> None:
    defaults = [yaml.safe_load(path.read_text()) or {} for path in (ROOT / "roles").glob("*/defaults/main.yml")]
    assert any(name in one for one in defaults)


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_no_role_has_the_name_of_before(name: str) -> None:
    defaults = [yaml.safe_load(path.read_text()) or {} for path in (ROOT / "roles").glob("*/defaults/main.yml")]
    assert not any(name in one for one in defaults)


@pytest.mark.parametrize("playbook", ["preflight", "teardown"])
def test_they_are_refused_first(playbook: str) -> None:
    """By the role's entry that reads the inventory, the first task of each."""
    play = yaml.safe_load((ROOT / f"playbooks/{playbook}.yml").read_text())[0]
    assert play["tasks"][0]["ansible.builtin.import_role"] == {"name": "preflight", "tasks_from": "questions"}
