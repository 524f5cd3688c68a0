"""A systemd node that platform host deploys on, and playbooks that are run against it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
NODE = "alluxio-fuse-test-host"
INVENTORY = "tests/nodes/host"
VERDICT_TASK = "check : End as the verdict says"
CHANGED = re.compile(r"^node1\s+: ok=\d+\s+changed=(\d+)", re.MULTILINE)


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)


def inside(command: str) -> str:
    """What a command says on the node; it must succeed, or what FUSE complained of last is shown."""
    done = podman("exec", NODE, "bash", "-c", command)
    if done.returncode:
        said = podman("exec", NODE, "journalctl", "--no-pager", "--output=cat", "--unit=alluxio-fuse-*").stdout
        complaints = [line for line in said.splitlines() if not re.search(r" INFO |GC\(", line)]
        raise AssertionError("\n".join([command, done.stderr, *complaints[-60:]]))
    return done.stdout.strip()


def digests(folder: str) -> dict[str, str]:
    """SHA-256 of every file below a folder of the node."""
    lines = inside(f"cd {folder} && find . -type f -print0 | xargs -0 sha256sum").splitlines()
    return {line[66:].removeprefix("./"): line[:64] for line in lines}


def ended(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a job that did all its work. On a busy machine it may leave undecided how fast that is."""
    undecided = "verdict  CANNOT TELL" in done.stdout and VERDICT_TASK in done.stdout.rpartition("\nTASK [")[2]
    assert done.returncode == 0 or undecided, done.stdout[-6000:]
    return done.stdout


def changed(done: subprocess.CompletedProcess[str]) -> int:
    """Tasks that changed the node."""
    return sum(int(found) for found in CHANGED.findall(ended(done)))


def changed_tasks(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Their names."""
    return re.findall(r"TASK \[(.*?)\].*\n(?:(?!TASK).*\n)*?changed", done.stdout)


def snapshot(path: Path) -> Path:
    """What the node has, as `tests/support/snapshot.py` takes it."""
    tool = (CHECKOUT / "tests/support/snapshot.py").read_text()
    take = ["podman", "exec", "--interactive", NODE, "python3", "-", "take"]
    path.write_text(subprocess.run(take, input=tool, capture_output=True, text=True, check=True).stdout)
    return path


def unlike(before: Path, after: Path) -> str:
    """How two of them differ."""
    tool = [sys.executable, str(CHECKOUT / "tests/support/snapshot.py"), "compare", str(before), str(after)]
    compared = subprocess.run(tool, capture_output=True, text=True, check=False)
    return "" if compared.returncode == 0 else compared.stdout + compared.stderr


@contextmanager
def debian12(*options: str) -> Iterator[str]:
    """A Debian 12 without Java and libfuse; options: more of `podman run`."""
    subprocess.run(["tests/lab/node/build", "bookworm"], cwd=CHECKOUT, check=True)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alluxio-fuse/apt/bookworm-host"
    cache.mkdir(parents=True, exist_ok=True)
    packages = f"--volume={cache}:/var/cache/apt/archives"
    up = ["tests/lab/node/up", NODE, "localhost/alluxio-fuse-node:bookworm", packages, *options]
    subprocess.run(up, cwd=CHECKOUT, check=True)
    try:
        yield NODE
    finally:
        podman("rm", "--force", "--time", "1", NODE)
        (CHECKOUT / "oom").unlink(missing_ok=True)  # conmon tells of a process that was killed for memory


def played(playbook: str, extra: Path, said: dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a playbook on the node with variables, by way of the file `extra`."""
    extra.write_text(json.dumps(said))
    ansible = str(Path(sys.executable).with_name("ansible-playbook"))
    plugins = {"ANSIBLE_CONNECTION_PLUGINS": "tests/lab/node/connection", "ANSIBLE_PIPELINING": "true"}
    return subprocess.run(
        [ansible, "--inventory", INVENTORY, "--extra-vars", f"@{extra}", playbook, *arguments],
        cwd=CHECKOUT,
        env={**os.environ, **plugins, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
