"""The keeper of a node's staged datasets, in a container or a pod: it goes on where a run ended, and heals paths."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ansible_collections.alluxio.fuse.plugins.module_utils import keeper

from alluxio_fuse.containers import digest

ROLE: Final = "stage"
ASSIGNMENTS: Final = "assignments"  # folder of what a node is to stage, in the state folder
PROGRAM: Final = "keeper"  # folder of the programs, in the state folder
PACKAGE: Final = "ansible_collections.alluxio.fuse.plugins.module_utils"
#: What it needs to mount, to own what it copies, and to see who reads a copy.
CAPABILITIES: Final = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SYS_ADMIN", "SYS_PTRACE"]


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the node that the keeper sees under the same path.

    mounts: what is mounted below it passes from the keeper to the node and back ("shared"), from the node to the keeper
    ("followed"), or neither way ("own").
    """

    path: str
    mounts: Literal["shared", "followed", "own"] = "own"
    read_only: bool = False


def command(state_dir: str) -> list[str]:
    """Arguments of python3."""
    return ["-m", f"{PACKAGE}.keeper", f"{state_dir}/{ASSIGNMENTS}"]


def environment(state_dir: str) -> dict[str, str]:
    """Environment of python3."""
    return {"PYTHONPATH": f"{state_dir}/{PROGRAM}", "PYTHONDONTWRITEBYTECODE": "1"}


def folders(state_dir: str, datasets: Sequence[Mapping[str, Any]]) -> list[Folder]:
    """What it sees of its node: what it mounts at the datasets' paths the node sees, and it sees what FUSE mounts.

    datasets: those of `alluxio_fuse.stages.Staged`.
    """
    return [*(Folder(f"{state_dir}/{part}", read_only=True) for part in (PROGRAM, ASSIGNMENTS)), *places(datasets)]


def places(datasets: Sequence[Mapping[str, Any]]) -> list[Folder]:
    """What a container sees of its node to copy datasets and to mount the copies."""
    media = sorted({one["folder"].rpartition("/")[0] for one in datasets if one["folder"]})
    return [
        *(Folder(one["parent"]["path"], "shared") for one in datasets),
        *(Folder(one["source"].rpartition("/")[0], "followed") for one in datasets),
        *(Folder(path) for path in media),
    ]


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
    """{name, command, capabilities, volumes, env, digest} of it."""
    about = {
        "name": f"{name}-{ROLE}",
        "command": command(state_dir),
        "capabilities": CAPABILITIES,
        "volumes": [volume(one) for one in folders(state_dir, datasets)],
        "env": environment(state_dir),
    }
    return {**about, "digest": digest({**about, "programs": files(state_dir)}, image)}


def programs_digest(state_dir: str) -> str:
    """What tells its programs from others: a keeper reads them once, as it starts."""
    return digest({"programs": files(state_dir)}, "")


def volume(folder: Folder) -> str:
    """The folder as a volume of a container: paths are the same inside as outside."""
    option = "ro" if folder.read_only else {"shared": "rshared", "followed": "rslave", "own": ""}[folder.mounts]
    return f"{folder.path}:{folder.path}{f':{option}' if option else ''}"


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
