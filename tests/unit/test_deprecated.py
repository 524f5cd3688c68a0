"""Plugins do nothing that a supported ansible-core calls deprecated, and the normal output says of no other, either."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))
WORDS = ("warnings", "deprecations")


def deprecated(tree: ast.AST) -> Iterator[int]:
    """Lines that hand warnings over in a result, not by module.warn, or ask a callback's result for its task_fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in WORDS:
            yield node.value.lineno
        elif isinstance(node, ast.Dict):
            keys = [key for key in node.keys if isinstance(key, ast.Constant)]
            yield from (key.lineno for key in keys if key.value in WORDS)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield from [node.lineno] * (node.slice.value in WORDS)
        elif isinstance(node, ast.Attribute):
            yield from [node.lineno] * node.attr.endswith("task_fields")


@pytest.mark.parametrize("path", PLUGINS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_plugin_does_what_is_deprecated(path: Path) -> None:
    assert [*deprecated(ast.parse(path.read_text()))] == []


@pytest.mark.parametrize(
    "line",
    [
        "module.exit_json(changed=False, warnings=['x'])",
        "module.fail_json(msg='x', deprecations=[])",
        "result = {'changed': False, 'warnings': []}",
        "result['warnings'] = ['x']",
        "result.task_fields.get('run_once')",
    ],
)
def test_each_way_to_do_so_is_seen(line: str) -> None:
    assert [*deprecated(ast.parse(line))] == [1]


def test_the_normal_output_has_none() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "ansible.cfg")
    assert settings["defaults"].getboolean("deprecation_warnings") is False
