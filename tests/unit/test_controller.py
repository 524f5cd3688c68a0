"""Delegated tasks: on the controller as the user who runs Ansible, and on another node by that node's own address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from alluxio_fuse.check.verdict import check

ROOT = Path(__file__).parents[2]
BOOKS = [*(ROOT / "playbooks").glob("*.yml"), *(ROOT / "playbooks/tasks").glob("*.yml")]
FILES = sorted([ROOT / "site.yml", *BOOKS, *(ROOT / "roles").glob("*/tasks/*.yml")])
SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}
INHERITED = ("delegate_to", "become")


def tasks(found: Any, outer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every task of a file with what its play and blocks say for it."""
    for one in found or []:
        said = outer | {key: one[key] for key in INHERITED if key in one}
        said["vars"] = outer.get("vars", {}) | (one.get("vars") or {})
        nested = [
            part
            for key in ("pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always")
            for part in one.get(key, [])
        ]
        if nested:
            yield from tasks(nested, said)
        elif "hosts" not in one:
            yield one | said


DELEGATED = [
    (path, task) for path in FILES for task in tasks(yaml.safe_load(path.read_text()), {}) if "delegate_to" in task
]
CASES = [(path, task) for path, task in DELEGATED if task["delegate_to"] == "localhost"]
TO_NODES = [(path, task) for path, task in DELEGATED if task["delegate_to"] != "localhost"]


def named(cases: list[tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    return {"argvalues": cases, "ids": [f"{path.relative_to(ROOT)}: {task['name']}" for path, task in cases]}


def test_there_are_some() -> None:
    assert len(CASES) > 30
    assert len(TO_NODES) > 5


@pytest.mark.parametrize(("path", "task"), **named(TO_NODES))
def test_another_node_is_reached_by_its_own_address(path: Path, task: dict[str, Any]) -> None:
    """Else `ansible_host: "{{ inventory_hostname }}.example"` is read with the name of the node that delegates."""
    host = task["delegate_to"].strip("{} ")
    assert task["vars"]["ansible_host"] == f"{{{{ hostvars[{host}].ansible_host | default({host}) }}}}"


@pytest.mark.parametrize(("path", "task"), **named(CASES))
def test_it_does_not_become_root(path: Path, task: dict[str, Any]) -> None:
    """The variable, too: one of an inventory is stronger than the keyword."""
    assert task["vars"].get("ansible_become") is False
    assert not task.get("become")


@pytest.mark.parametrize(("path", "task"), **named(CASES))
def test_it_runs_with_the_python_that_runs_ansible(path: Path, task: dict[str, Any]) -> None:
    """Else Ansible looks for one, and takes a name on PATH that is not installed, or one that nodes have."""
    assert task["vars"].get("ansible_python_interpreter") == "{{ ansible_playbook_python }}"


def test_no_task_of_a_role_has_a_variable_of_a_play() -> None:
    """One that is made of the other would be made of itself: Ansible reads both where they are used."""
    plays = [play for path in FILES if path.parent.name == "playbooks" for play in yaml.safe_load(path.read_text())]
    of_plays = {name for play in plays for name in play.get("vars", {})}
    roles = [path for path in FILES if path.parent.name == "tasks" and path.parents[2].name == "roles"]
    of_tasks = {name for path in roles for task in tasks(yaml.safe_load(path.read_text()), {}) for name in task["vars"]}
    assert of_plays
    assert not {name for name in of_plays & of_tasks if not name.startswith("ansible_")}


def test_an_inventory_that_becomes_root_on_nodes_does_not_on_the_controller(tmp_path: Path) -> None:
    """What would become another user here ends the run: there is no way to become one."""
    saved = {"version": 1, "nodes": {}}
    (tmp_path / "plan-here.json").write_text(json.dumps(saved))
    inventory = {
        "all": {
            "hosts": {"node": {"ansible_connection": "local"}},
            "vars": {"ansible_become": True, "ansible_become_user": "nobody", "ansible_become_exe": "/bin/false"},
        }
    }
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(inventory))
    load = {"name": "Load", "ansible.builtin.include_role": {"name": "plan", "tasks_from": "load"}}
    load["vars"] = {"plan_environment": "here", "plan_runs_dir": str(tmp_path)}
    keep = {"name": "Keep", "ansible.builtin.include_role": {"name": "check", "tasks_from": "keep"}}
    keep["vars"] = {"check_run_dir": f"{tmp_path}/run"}
    ready = {"check_result": check([], {}, SETTINGS, "", {}).model_dump(mode="json")}
    play = {"hosts": "all", "gather_facts": False, "vars": ready, "tasks": [load, keep]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kept = sorted((tmp_path / "run").iterdir())
    assert [path.name for path in kept] == ["check.json", "check.xml"]
    assert {path.stat().st_uid for path in kept} == {os.getuid()}
    node = {"name": "Ask the node", "ansible.builtin.command": "true"}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play | {"tasks": [node]}]))
    assert subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).returncode != 0
