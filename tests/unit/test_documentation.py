"""What ansible-doc shows of our modules, callbacks and lookups is whole."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
TYPES = ("module", "callback", "lookup")


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, Any]]:
    """By type and name, what ansible-doc knows."""
    command = ["ansible-doc", "--metadata-dump", "--no-fail-on-errors", "alluxio.fuse"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)["all"]
    return {kind: {name.split(".")[-1]: one for name, one in found[kind].items()} for kind in TYPES}


def test_everything_is_shown(shown: dict[str, dict[str, Any]]) -> None:
    for kind in TYPES:
        folder = ROOT / "plugins" / ("modules" if kind == "module" else kind)
        assert set(shown[kind]) == {path.stem for path in folder.glob("*.py")}


def test_each_has_a_description_and_examples(shown: dict[str, dict[str, Any]]) -> None:
    lacking = [name for kind in TYPES for name, one in shown[kind].items() if "error" in one or not one["examples"]]
    assert lacking == []


def test_modules_tell_what_they_return_and_do_in_check_mode(shown: dict[str, dict[str, Any]]) -> None:
    modules = shown["module"]
    assert [name for name, one in modules.items() if not one["return"]] == []
    assert [name for name, one in modules.items() if "check_mode" not in one["doc"].get("attributes", {})] == []
    assert [name for name, one in modules.items() if one["doc"]["author"] != ["alluxio-fuse"]] == []


def test_the_action_group_is_of_those_that_talk_to_kubernetes(shown: dict[str, dict[str, Any]]) -> None:
    groups = yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]
    talking = {name for name, one in shown["module"].items() if "kubeconfig" in one["doc"].get("options", {})}
    assert set(groups["kubernetes"]) == talking
