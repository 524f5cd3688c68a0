"""The keeper of a node's staged datasets, a program beside the services: it finishes copies, and heals paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from alluxio_fuse.containers import digest
from alluxio_fuse.programs import PACKAGE, Folder, Program, module_files

ROLE: Final = "stage"
ASSIGNMENTS: Final = "assignments"  # folder of what a node is to stage, in the state folder
PROGRAM: Final = "keeper"  # folder of the programs, in the state folder
#: What it needs to mount, to own what it copies, and to see who reads a copy.
CAPABILITIES: Final = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SYS_ADMIN", "SYS_PTRACE"]


def program(name: str, state_dir: str, datasets: Sequence[Mapping[str, Any]]) -> Program:
    """The keeper of a deployment's node; datasets: those of `alluxio_fuse.stages.Staged`."""
    return Program(
        name=f"{name}-{ROLE}",
        title="keeper of staged datasets",
        command=command(state_dir),
        env=environment(state_dir),
        capabilities=CAPABILITIES,
        folders=folders(state_dir, datasets),
        files=files(state_dir),
    )


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
    return module_files(f"{state_dir}/{PROGRAM}", "keeper")


def programs_digest(state_dir: str) -> str:
    """What tells its programs from others: a keeper reads them once, as it starts."""
    return digest({"programs": files(state_dir)}, "")
