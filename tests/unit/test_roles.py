"""Every role has the same anatomy, and says in its argument specs exactly what its defaults hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fleets import local
from jinja2 import Environment, StrictUndefined

from alluxio_fuse.plan import plan
from alluxio_fuse.plan.distributions import LIBFUSE, LISTED, RUN, release
from alluxio_fuse.targets import targets

ROLES = sorted(path for path in (Path(__file__).parents[2] / "roles").iterdir() if path.is_dir())
ANATOMY = ("README.md", "defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml")
RENDER = Environment(trim_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701 - no HTML
RENDER.filters["split"] = str.split


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


@pytest.mark.parametrize("role", ["check", "warm"])
def test_what_a_host_reads_is_specified(role: str) -> None:
    said = {"name": "set", "source": "file:///data/set", "files": 1000, "bytes": "1Gi", "stage": "require"}
    (target,) = targets(plan(local(alluxio_datasets=[said])), "localhost", [], None, {"set": ["/shared/set"]})
    specs = load(ROLES[0].parent / role / "meta/argument_specs.yml")["argument_specs"]
    known = specs["main"]["options"][f"{role}_datasets"]["options"]
    assert target.keys() - {"compare"} <= known.keys()
    assert {name for name, option in known.items() if option.get("required")} <= target.keys()


@pytest.mark.parametrize("role", ["libfuse", "jdk"])
@pytest.mark.parametrize("running", [("debian", "12"), ("ubuntu", "24.04"), ("rhel", "9.4"), ("rocky", "9")])
def test_roles_and_planner_call_a_release_alike(role: str, running: tuple[str, str]) -> None:
    tables = load(ROLES[0].parent / role / "vars/main.yml")
    distribution = dict(zip(("id", "version"), running, strict=True))
    said = RENDER.from_string(tables[f"__{role}_system"]).render({f"__{role}_about": {"distribution": distribution}})
    assert said == release(*running)
    assert set(tables[f"__{role}_packages"]) == RUN | LISTED


def test_role_and_planner_agree_on_libfuse() -> None:
    tables = load(ROLES[0].parent / "libfuse/vars/main.yml")
    assert {name: set(versions) for name, versions in tables["__libfuse_packages"].items()} == LIBFUSE
