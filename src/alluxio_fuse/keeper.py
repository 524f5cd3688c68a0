"""The keeper of a node's staged datasets, as a container: it goes on where a run ended, and heals paths."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ansible_collections.alluxio.fuse.plugins.module_utils import keeper

from alluxio_fuse.containers import digest

ROLE: Final = "stage"
ASSIGNMENTS: Final = "assignments"  # folder of what a node is to stage, in the state folder
PROGRAM: Final = "keeper"  # folder of the programs, in the state folder
PACKAGE: Final = "ansible_collections.alluxio.fuse.plugins.module_utils"
#: What it needs to mount, to own what it copies, and to see who reads a copy.
CAPABILITIES: Final = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SYS_ADMIN", "SYS_PTRACE"]


def files(state_dir: str) -> list[dict[str, Any]]:
    """Its programs, as items of the module `files`."""
    return programs(f"{state_dir}/{PROGRAM}", "keeper")


def programs(folder: str, *modules: str) -> list[dict[str, Any]]:
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


def container(name: str, state_dir: str, datasets: Sequence[Mapping[str, Any]], image: str) -> dict[str, Any]:
    """{name, command, capabilities, volumes, env, digest} of it.

    Paths are the same inside as outside. What it mounts at the datasets' paths the host sees, and it sees what FUSE
    mounts.
    """
    program, assignments = f"{state_dir}/{PROGRAM}", f"{state_dir}/{ASSIGNMENTS}"
    volumes = [f"{program}:{program}:ro", f"{assignments}:{assignments}:ro", *places(datasets)]
    about = {
        "name": f"{name}-{ROLE}",
        "command": ["-m", f"{PACKAGE}.keeper", assignments],
        "capabilities": CAPABILITIES,
        "volumes": volumes,
        "env": {"PYTHONPATH": program, "PYTHONDONTWRITEBYTECODE": "1"},
    }
    return {**about, "digest": digest({**about, "programs": files(state_dir)}, image)}


def places(datasets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Volumes of a container that copies datasets and mounts the copies."""
    shared = [one["parent"]["path"] for one in datasets]
    followed = [one["source"].rpartition("/")[0] for one in datasets]
    media = sorted({one["folder"].rpartition("/")[0] for one in datasets if one["folder"]})
    return [
        *(f"{path}:{path}:rshared" for path in shared),
        *(f"{path}:{path}:rslave" for path in followed),
        *(f"{path}:{path}" for path in media),
    ]


def _sources(modules: Sequence[str]) -> list[Path]:
    """Files of modules and of what they import of the collection, in the order of their names."""
    folder, found = Path(keeper.__file__).parent, set[str]()
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
