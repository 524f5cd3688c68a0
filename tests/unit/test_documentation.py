"""What ansible-doc shows of our modules, callbacks, lookups and filters is whole."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TYPES = ("module", "callback", "lookup", "filter")


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, Any]]:
    """By type and name, what ansible-doc knows."""
    command = ["ansible-doc", "--metadata-dump", "--no-fail-on-errors", "alluxio.fuse"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)["all"]
    return {kind: {name.split(".")[-1]: one for name, one in found[kind].items()} for kind in TYPES}


def filters() -> dict[str, Callable[..., Any]]:
    """All filters; a file holds some."""
    files = (ROOT / "plugins/filter").glob("*.py")
    modules = [import_module(f"ansible_collections.alluxio.fuse.plugins.filter.{path.stem}") for path in files]
    return {name: one for module in modules for name, one in module.FilterModule().filters().items()}


def written(kind: str) -> set[str]:
    """Names of what is there of a type."""
    folder = ROOT / "plugins" / ("modules" if kind == "module" else kind)
    return set(filters()) if kind == "filter" else {path.stem for path in folder.glob("*.py")}


def test_everything_is_shown(shown: dict[str, dict[str, Any]]) -> None:
    for kind in TYPES:
        assert set(shown[kind]) == written(kind)


def test_each_has_a_description_and_examples(shown: dict[str, dict[str, Any]]) -> None:
    lacking = [name for kind in TYPES for name, one in shown[kind].items() if "error" in one or not one.get("examples")]
    assert lacking == []


def test_modules_and_filters_tell_what_they_return(shown: dict[str, dict[str, Any]]) -> None:
    told = shown["module"] | shown["filter"]
    assert [name for name, one in told.items() if not one.get("return")] == []


def test_filters_document_their_options(shown: dict[str, dict[str, Any]]) -> None:
    for name, function in filters().items():
        _, *others = signature(function).parameters.values()
        named = {one.name for one in others if one.kind is not Parameter.VAR_KEYWORD}
        assert set(shown["filter"][name]["doc"]["options"]) == {"_input"} | named, name


def test_modules_tell_what_they_do_in_check_mode(shown: dict[str, dict[str, Any]]) -> None:
    modules = shown["module"]
    assert [name for name, one in modules.items() if "check_mode" not in one["doc"].get("attributes", {})] == []
    assert [name for name, one in modules.items() if one["doc"]["author"] != ["alluxio-fuse"]] == []


def test_the_action_group_is_of_those_that_talk_to_kubernetes(shown: dict[str, dict[str, Any]]) -> None:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]
    talking = {name for name, one in shown["module"].items() if "kubeconfig" in one["doc"].get("options", {})}
    assert set(groups["kubernetes"]) == talking
