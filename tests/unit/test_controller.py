"""What acts on the controller acts as the user who runs Ansible, whatever an inventory says of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted([ROOT / "site.yml", *(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/*.yml")])
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


def on_controller(path: Path) -> list[dict[str, Any]]:
    return [task for task in tasks(yaml.safe_load(path.read_text()), {}) if task.get("delegate_to") == "localhost"]


CASES = [(path, task) for path in FILES for task in on_controller(path)]


def test_there_are_some() -> None:
    assert len(CASES) > 30


@pytest.mark.parametrize(
    ("path", "task"), CASES, ids=[f"{path.relative_to(ROOT)}: {task['name']}" for path, task in CASES]
)
def test_it_does_not_become_root(path: Path, task: dict[str, Any]) -> None:
    """The variable, too: one of an inventory is stronger than the keyword."""
    assert task["vars"].get("ansible_become") is False
    assert not task.get("become")
