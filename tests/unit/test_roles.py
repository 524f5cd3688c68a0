"""Every role has the same anatomy, and says in its argument specs exactly what its defaults hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = sorted(path for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())
ANATOMY = ("README.md", "defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_anatomy(role: Path) -> None:
    assert [part for part in ANATOMY if not (role / part).is_file()] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_and_specs_agree(role: Path) -> None:
    defaults = load(role / "defaults/main.yml") or {}
    entries = load(role / "meta/argument_specs.yml")["argument_specs"]
    options = {key: option for entry in entries.values() for key, option in entry.get("options", {}).items()}
    documented = {key: option["default"] for key, option in options.items() if "default" in option}
    required = {key for key, option in options.items() if option.get("required")}
    assert documented == defaults
    assert set(options) == set(defaults) | required


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_entry_point_is_specified(role: Path) -> None:
    entries = set(load(role / "meta/argument_specs.yml")["argument_specs"])
    readme = (role / "README.md").read_text()
    assert "main" in entries
    for entry in entries:
        assert (role / f"tasks/{entry}.yml").is_file()
        assert f"`{entry}`" in readme, f"README.md of {role.name} does not tell what {entry} does"
