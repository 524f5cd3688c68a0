"""Programs of ours that run on a node beside the services: the keeper of copies and the runner of warm-up tasks.

They are modules of the collection, copied to the node. Each runs as a container or as a unit of systemd, where the
platform's role makes it one; in pods, the chart or a Job runs it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from ansible_collections.alluxio.fuse.plugins import module_utils

from alluxio_fuse.containers import digest, owned_item
from alluxio_fuse.host import unit_command, unit_environment, unit_words
from alluxio_fuse.plan import Plan

PACKAGE: Final = module_utils.__name__
#: Processor time that a program gets at least which serves no reader, where all of it is wanted; a pod requests it.
SPARE_MILLICPU: Final = 50
_PYTHON: Final = "/usr/bin/python3"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the node that a program sees under the same path.

    mounts: what is mounted below it passes from the program to the node and back ("shared"), from the node to the
    program ("followed"), or neither way ("own").
    """

    path: str
    mounts: Literal["shared", "followed", "own"] = "own"
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that is kept running.

    title: what it is, for people. command: arguments of python3; env: its environment. capabilities: names without
    `CAP_`. folders: what it sees of the node. files: items of the module `files`; with others it is started again.
    nofile: files that it may have open. network: whether it asks services. configuration: volumes of a container, for
    what asks services. spare: whether others have the processor first, as it serves no reader.
    """

    name: str
    title: str
    command: list[str]
    env: dict[str, str]
    capabilities: list[str]
    folders: list[Folder]
    files: list[dict[str, Any]]
    nofile: int = 1024
    network: bool = False
    configuration: list[str] = field(default_factory=list)
    spare: bool = False


def placed(plan: Plan, program: Program) -> dict[str, Any] | None:
    """What the platform's role runs, None in pods.

    A container: {name, command, env, capabilities, volumes, network, nofile, weight, digest}. A unit: {name, title,
    requires, command, environment, capabilities, nofile, weight, digest}, with values as a unit file has them. weight:
    against other containers (of 1024 each) or units (100) that want the processor. Another digest starts it again.
    """
    if plan.capabilities.in_pods:
        return None
    if plan.capabilities.runs_cluster:
        about: dict[str, Any] = {
            "name": program.name,
            "command": program.command,
            "env": program.env,
            "capabilities": program.capabilities,
            "volumes": [*program.configuration, *map(volume, program.folders)],
            "network": "host" if program.network else "none",
            "nofile": program.nofile,
            "weight": SPARE_MILLICPU * 1024 // 1000 if program.spare else 1024,
        }
    else:
        about = {
            "name": f"{program.name}.service",
            "title": program.title,
            "requires": unit_words([one.path for one in program.folders if one.mounts == "own" and not one.read_only]),
            "command": unit_command([_PYTHON, *program.command]),
            "environment": unit_environment(program.env),
            "capabilities": [f"CAP_{one}" for one in program.capabilities],
            "nofile": program.nofile,
            "weight": SPARE_MILLICPU // 10 if program.spare else 100,
        }
    return {**about, "digest": digest({**about, "programs": program.files}, plan.fleet["image"].amount)}


def owned(plan: Plan, role: str, made: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Items of the ownership record for what was placed."""
    if made is None:
        return []
    kind = "container" if plan.capabilities.runs_cluster else "unit"
    return [owned_item(role, kind, made["name"], False, False)]


def volume(folder: Folder) -> str:
    """The folder as a volume of a container: paths are the same inside as outside."""
    option = "ro" if folder.read_only else {"shared": "rshared", "followed": "rslave", "own": ""}[folder.mounts]
    return f"{folder.path}:{folder.path}{f':{option}' if option else ''}"


def module_files(folder: str, *modules: str) -> list[dict[str, Any]]:
    """Modules of the collection and what they import of it, as items of the module `files` that go to a folder."""
    package = PACKAGE.replace(".", "/")
    parts = package.split("/")
    folders = ["/".join([folder, *parts[:depth]]) for depth in range(len(parts) + 1)]
    return [
        *({"path": path, "mode": "0755"} for path in folders),
        *(
            {"path": f"{folder}/{package}/{path.name}", "content": path.read_text(), "mode": "0644"}
            for path in _sources(modules)
        ),
    ]


def _sources(modules: Sequence[str]) -> list[Path]:
    """Files of modules and of what they import of the collection, in the order of their names."""
    folder, found = Path(module_utils.__path__[0]), set[str]()
    wanted = [*modules]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += _imported((folder / f"{name}.py").read_text())
    return [folder / f"{name}.py" for name in sorted(found)]


def _imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == PACKAGE:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{PACKAGE}."):
            yield node.module.removeprefix(f"{PACKAGE}.")
