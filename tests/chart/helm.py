"""Renders the chart, and looks into what came out."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "alluxio-fuse"
CASES = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))

Object = dict[str, Any]
Id = tuple[str, str]


class RefusedError(Exception):
    """What helm said instead of rendering."""


@dataclass(frozen=True)
class Helm:
    """The helm program and a place for values files."""

    program: Path
    folder: Path

    def text(self, *files: Path, release: str = "cache", namespace: str = "data", values: Object | None = None) -> str:
        """The rendered chart, with values from files and from a dictionary, later ones on top."""
        arguments = [argument for path in files for argument in ("--values", str(path))]
        if values is not None:
            extra = self.folder / "values.yaml"
            extra.write_text(yaml.safe_dump(values))
            arguments += ["--values", str(extra)]
        return self.run("template", release, str(CHART), "--namespace", namespace, *arguments)

    def objects(self, *files: Path, **how: Any) -> dict[Id, Object]:
        """Rendered objects by kind and name."""
        rendered = [one for one in yaml.safe_load_all(self.text(*files, **how)) if one]
        return {(one["kind"], one["metadata"]["name"]): one for one in rendered}

    def run(self, *arguments: str) -> str:
        """Runs helm with its own empty configuration; raises `RefusedError` with what it said."""
        env = {"HOME": str(self.folder), "HELM_CONFIG_HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, env=env, check=False)
        if done.returncode != 0:
            raise RefusedError(done.stderr)
        return done.stdout


def case(name: str) -> Path:
    """The values file of a case."""
    return CHART / "ci" / f"{name}-values.yaml"


def pod_template(one: Object) -> Object | None:
    """The pod that an object makes, or is."""
    if one["kind"] == "Pod":
        return one
    template: Object | None = one.get("spec", {}).get("template")
    return template


def containers(template: Object) -> Iterator[Object]:
    """Init containers and containers of a pod."""
    yield from template["spec"].get("initContainers", [])
    yield from template["spec"]["containers"]
