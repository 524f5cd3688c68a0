"""Faults of a deployment of the drills, each until it is over. What becomes of readers meanwhile is the drills'."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from bundle import CHECKOUT, playbook, podman, succeed
from drilled import NAME, java, status


def hang(dataset: str, variables: dict[str, Any], folder: Path) -> None:
    """FUSE is stopped and answers nothing: status tells without hanging itself, and unstick ends the waiting."""
    os.kill(java(f"fuse-{dataset}"), signal.SIGSTOP)
    time.sleep(2)
    run = status(variables)
    assert run.status == 2
    assert f"FUSE process on localhost, {dataset}: the FUSE process is there and does not answer" in run.output
    run = succeed(playbook("playbooks/diagnose.yml", "-e", f"diagnose_dir={folder}", **variables))
    assert f"not in it  nodes/localhost/fuse-{dataset}-metrics.json" in run.output
    run = succeed(playbook("playbooks/unstick.yml", "-e", f"alluxio_unstick={dataset}", **variables))
    assert "requests waited; files were open in" in run.output


def exhaust_memory(service: str) -> None:
    """Something else in its container takes all memory; the kernel is told that the service is to be ended for it."""
    Path(f"/proc/{java(service)}/oom_score_adj").write_text("1000")
    subprocess.run(["podman", "exec", f"{NAME}-{service}", "tail", "/dev/zero"], check=False, capture_output=True)
    (CHECKOUT / "playbooks/oom").unlink(missing_ok=True)  # conmon tells of it where the playbook has started it


def master_away(variables: dict[str, Any]) -> None:
    """The master is stopped for a minute, and status tells of it."""
    podman("stop", "--time", "5", f"{NAME}-master")
    run = status(variables)
    assert run.status == 2
    assert "FAILING  master:" in run.output
    time.sleep(50)
    podman("start", f"{NAME}-master")
