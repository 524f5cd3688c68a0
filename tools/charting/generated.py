"""Files of the chart that are made from others, so that they cannot say something else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from charting.planned import planned
from charting.schema import schema

PLANNED = (
    "# What the chart says where its values do not. Made from the planner's rules by `python tools/chart_files.py`.\n"
)
_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z0-9]+):(?P<rest>.*)$")


def generated(chart: Path) -> dict[str, str]:
    """Name and text of every generated file."""
    template = (chart / "README.md.in").read_text()
    table = values_table((chart / "values.yaml").read_text())
    return {
        "README.md": template.replace("@VALUES@", table).replace("@VERSIONS@", _versions(chart)),
        "values.schema.json": json.dumps(schema(), indent=2) + "\n",
        "files/planned.yaml": PLANNED + _dump(planned()),
    }


def values_table(text: str) -> str:
    """A Markdown table of all values that a `# --` comment documents, with their defaults."""
    values = yaml.safe_load(text)
    rows = ["| Value | Default | What it does |", "|---|---|---|"]
    for path, words in documented(text).items():
        default = json.dumps(_at(values, path), ensure_ascii=False).replace("|", "\\|")
        rows.append(f"| `{path}` | `{default}` | {words} |")
    return "\n".join(rows)


def documented(text: str) -> dict[str, str]:
    """Dotted path and comment of each documented value, in the file's order."""
    found: dict[str, str] = {}
    path: list[str] = []
    words = ""
    for line in text.splitlines():
        if line.strip().startswith("# -- "):
            words = line.strip().removeprefix("# -- ").replace("|", "\\|")
            continue
        if words and line.strip().startswith("# "):
            words += " " + line.strip().removeprefix("# ").replace("|", "\\|")
            continue
        match = _KEY.match(line)
        if not match or "- {" in line:
            continue
        path = [*path[: len(match["indent"]) // 2], match["key"]]
        if words:
            found[".".join(path)] = words
        words = ""
    return found


class _Indented(yaml.SafeDumper):
    """A key a line, plain lists in one, and lists in mappings indented, as the lint rules want."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:  # noqa: ARG002
        return super().represent_mapping(tag, mapping, flow_style=False)

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _dump(values: Any) -> str:
    return yaml.dump(values, Dumper=_Indented, sort_keys=False, width=150, default_flow_style=None)


def _at(values: Any, path: str) -> Any:
    for key in path.split("."):
        values = values[key]
    return values


def _versions(chart: Path) -> str:
    about = yaml.safe_load((chart / "Chart.yaml").read_text())
    kubernetes = about["kubeVersion"].removesuffix("-0")
    return f"Chart {about['version']}, Alluxio {about['appVersion']}, Kubernetes {kubernetes}."
