"""Runs the bundle as a user does: ansible-playbook, an inventory, extra variables."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
ANSIBLE_PLAYBOOK = Path(sys.executable).with_name("ansible-playbook")

#: Young JVMs spend half of two processors on C2. Where no speed is told, what C1 makes will do.
C1_ALONE = {
    "alluxio_overrides": {
        f"{service}.jvm_flags": ["-XX:TieredStopAtLevel=1"]
        for service in ("master", "job_master", "worker", "job_worker", "fuse")
    }
}
#: Names the test process that started a process or a container: see leftovers.py.
LABEL = "ALLUXIO_FUSE_TESTS"
#: Of modules of other collections: ansible.posix.mount of ansible 12, kubernetes.core.helm and k8s_exec of ansible 14.
DEPRECATED_ELSEWHERE = (
    "Passing `warnings` to `exit_json` or `fail_json`",
    "The 'status.values' return value",
    "The 'return_code' return value",
)
VERDICT_TASK = "check : End as the verdict says"
_RECAP = re.compile(
    r"^(\S+)\s+: ok=\d+\s+changed=(?P<changed>\d+)\s+unreachable=\d+\s+failed=(?P<failed>\d+)", re.MULTILINE
)
_STAGE = re.compile(r"^(?P<stage>[A-Z]\w+|together)\s+(?P<seconds>\d+\.\d) s$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """A finished run of a playbook."""

    status: int
    output: str

    @property
    def changed(self) -> int:
        """Tasks that changed something, over all hosts."""
        return sum(int(match["changed"]) for match in _RECAP.finditer(self.output))

    @property
    def stages(self) -> dict[str, float]:
        """Seconds of each stage."""
        return {match["stage"]: float(match["seconds"]) for match in _STAGE.finditer(self.output)}

    @property
    def deprecations(self) -> list[str]:
        """What this bundle still does that Ansible will not bear for long."""
        said = [line for line in self.output.splitlines() if line.startswith("[DEPRECATION WARNING]")]
        return [line for line in said if not any(known in line for known in DEPRECATED_ELSEWHERE)]

    def tasks(self, outcome: str) -> list[str]:
        """Names of the tasks that ended so (`changed`, `fatal`), once for each host and item."""
        names, task = [], ""
        for line in self.output.splitlines():
            if line.startswith("TASK ["):
                task = line[len("TASK [") :].partition("]")[0]
            elif line.startswith(f"{outcome}:"):
                names.append(task)
        return names


def playbook(name: str, *arguments: str, timeout: float = 1200, checkout: Path = CHECKOUT, **variables: Any) -> Run:
    """Run a playbook, and further ones if arguments name some, on the default inventory.

    Extra variables go by a file, as secrets among them must. `checkout`: of another version than this one.

    What asks for the environment's name gets it.
    """
    variables = {"alluxio_confirm": variables.get("alluxio_environment", "local"), **variables}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
        json.dump(variables, extra)
        extra.flush()
        done = subprocess.run(
            [str(ANSIBLE_PLAYBOOK), name, *arguments, "-e", f"@{extra.name}"],
            cwd=checkout,
            env={
                **os.environ,
                **({} if checkout == CHECKOUT else {"PYTHONPATH": str(checkout / "src")}),
                "ANSIBLE_FORCE_COLOR": "0",
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_DEPRECATION_WARNINGS": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    return Run(done.returncode, done.stdout)


def stages(*names: str, **variables: Any) -> Run:
    """Run stages of the main job in one go, as site.yml does."""
    first, *others = (f"playbooks/{name}.yml" for name in names)
    return playbook(first, *others, **variables)


def succeed(run: Run) -> Run:
    """The run, or a failure that shows the end of its output, or what it does that is deprecated."""
    assert run.status == 0, f"exit status {run.status}\n{run.output[-6000:]}"
    assert run.deprecations == []
    return run


def judged(run: Run) -> Run:
    """A main job that came to its verdict. On a busy machine that is CANNOT TELL, with which a job ends as failed."""
    undecided = run.tasks("fatal") == [VERDICT_TASK] and latest("check")["verdict"] == "CANNOT TELL"
    return run if undecided else succeed(run)


def until(what: str, look: Callable[[], object], seconds: float = 300) -> Any:
    """Wait until `look` returns something true, and return it; a failure shows what it said last."""
    deadline = time.monotonic() + seconds
    while True:
        last: object
        try:
            if last := look():
                return last
        except (OSError, ValueError, AssertionError, subprocess.SubprocessError) as error:
            last = error
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s; seen last: {last!r}"
        time.sleep(0.3)


def latest(kind: str) -> dict[str, Any]:
    """The newest `kind`.json of runs/."""
    found: dict[str, Any] = json.loads(latest_file(f"{kind}.json").read_text())
    return found


def latest_file(name: str) -> Path:
    """The newest file of that name in runs/."""
    return max((CHECKOUT / "runs").glob(f"*/{name}"))


def podman(*arguments: str) -> str:
    """What podman says; it must succeed."""
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True).stdout


def main_pid(container: str) -> int:
    """The process of a container, as this machine counts."""
    return int(podman("inspect", "--format", "{{.State.Pid}}", container))


def kill(container: str) -> None:
    """Kill -9 a container's process: `podman kill` counts as stopped by the user, who wants no restart."""
    os.kill(main_pid(container), signal.SIGKILL)


def engine_options() -> list[str]:
    """The label of this test process, what podman needs with cgroups of version 1, and limits this machine can give."""
    runtime = [] if Path("/sys/fs/cgroup/cgroup.controllers").exists() else ["--runtime", "runc"]
    limits = {name: resource.getrlimit(number)[1] for name, number in [("nofile", 7), ("nproc", 6)]}
    label = f"--label={LABEL}={os.environ[LABEL]}"
    return [label, *runtime] + [
        f"--ulimit={name}={min(hard, 10000) if hard > 0 else 10000}" for name, hard in limits.items()
    ]
