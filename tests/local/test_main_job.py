"""The main job on this machine, as a newcomer runs it: real Alluxio containers, every byte compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle import CHECKOUT, Run, judged, latest, playbook, succeed

NAME = "alluxio-fuse"
MOUNT_POINT = Path(f"/mnt/{NAME}/imagenet-sample/data")
SOURCE = Path(f"/var/lib/{NAME}/sample")
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-imagenet-sample")


def snapshot(path: Path) -> None:
    with path.open("w") as stream:
        subprocess.run([sys.executable, str(CHECKOUT / "tests/snapshot.py"), "take"], stdout=stream, check=True)


def podman(*arguments: str) -> str:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=True).stdout


def alluxio(*arguments: str, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """The CLI in the master's container, as any user name that it cares to call itself."""
    options = ["-e", f"ALLUXIO_USER_JAVA_OPTS=-Dalluxio.security.login.username={user}"] if user else []
    command = ["podman", "exec", *options, f"{NAME}-master", "/opt/alluxio/bin/alluxio", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def served() -> bool:
    """Whether the mount answers; a dead one may hang, so another process asks."""
    return (
        subprocess.run(["timeout", "5", "ls", f"{MOUNT_POINT}/train"], capture_output=True, check=False).returncode == 0
    )


def started(name: str) -> str:
    return podman("inspect", "--format", "{{.State.StartedAt}} {{.RestartCount}}", f"{NAME}-{name}").strip()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The machine as it was, packages and caches apart: one run and teardown have been here already."""
    path = tmp_path_factory.mktemp("before") / "snapshot.json"
    succeed(playbook("playbooks/teardown.yml"))
    snapshot(path)
    return path


@pytest.fixture(scope="module")
def first(before: Path) -> Iterator[Run]:
    """The first run; what it made is taken away at the end, whatever happened."""
    yield judged(playbook("site.yml"))
    playbook("playbooks/teardown.yml")


def test_verdict(first: Run) -> None:
    """Every state established, every digest right. A busy machine may leave speed undecided, and says so."""
    check = latest("check")
    assert check["verdict"] in ("PASS", "CANNOT TELL"), check["reasons"]
    assert f"verdict  {check['verdict']}" in first.output
    (dataset,) = check["datasets"]
    assert dataset["wrong"] == 0
    assert dataset["digested"] >= dataset["files"]
    states = {(row["kind"], row["state"]) for row in dataset["rows"] if row["path"] == "mount" and row["established"]}
    assert states == {
        (kind, state) for kind in ("small", "large") for state in ("cold", "worker", "client-cache", "page-cache")
    }


def test_reads_are_right(first: Run) -> None:
    """Not by our own check: a few files compared with the source by cmp."""
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file() and not path.name.startswith("."))
    for path in files[:: len(files) // 20]:
        subprocess.run(["cmp", str(path), str(MOUNT_POINT / path.relative_to(SOURCE))], check=True)


def test_listens_on_loopback_only(first: Run) -> None:
    listeners = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in listeners.splitlines() if '"java"' in line]
    assert len(ours) >= 8
    assert [address for address in ours if not address.startswith(("127.0.0.1:", "[::ffff:127.0.0.1]:"))] == []


def test_least_privilege(first: Run) -> None:
    for service in SERVICES:
        inspected: dict[str, Any] = json.loads(podman("inspect", f"{NAME}-{service}"))[0]
        fuse = service.startswith("fuse")
        assert inspected["EffectiveCaps"] == (["CAP_SYS_ADMIN"] if fuse else None) or inspected["EffectiveCaps"] == []
        assert inspected["HostConfig"]["Privileged"] is False
        assert inspected["HostConfig"]["ReadonlyRootfs"] is True
        assert inspected["Config"]["User"] == ("0:0" if fuse else "1000:1000")


def test_second_run_changes_nothing(first: Run) -> None:
    was = {service: started(service) for service in SERVICES}
    again = judged(playbook("site.yml"))
    assert again.changed == 0, again.tasks("changed")
    assert {service: started(service) for service in SERVICES} == was
    assert again.stages["together"] - again.stages["Check"] <= 60, again.stages


@pytest.mark.parametrize("user", [None, "root", "alluxio", "nobody"])
def test_source_cannot_be_changed_through_alluxio(first: Run, user: str | None) -> None:
    def state() -> list[tuple[str, int, int]]:
        return sorted((str(p), p.lstat().st_size, p.lstat().st_mtime_ns) for p in SOURCE.rglob("*"))

    was = state()
    assert alluxio("fs", "rm", "-R", "/imagenet-sample", user=user).returncode != 0
    alluxio("fs", "mount", "/again", str(SOURCE), user=user)
    alluxio("fs", "rm", "-R", "/again", user=user)
    alluxio("fs", "copyFromLocal", "/etc/hostname", "/imagenet-sample/hostname", user=user)
    alluxio("fs", "copyFromLocal", "/etc/hostname", "/again/hostname", user=user)
    assert state() == was
    alluxio("fs", "unmount", "/again")
    assert not os.access(MOUNT_POINT / "new", os.F_OK)
    with pytest.raises(OSError, match="Read-only file system"):
        (MOUNT_POINT / "new").touch()


def test_a_killed_fuse_comes_back(first: Run) -> None:
    fuse = f"{NAME}-fuse-imagenet-sample"
    was = int(podman("inspect", "--format", "{{.State.Pid}}", fuse))
    os.kill(was, signal.SIGKILL)
    time.sleep(1)
    deadline = time.monotonic() + 60
    while not served():
        assert time.monotonic() < deadline, podman("logs", "--tail", "20", fuse)
        time.sleep(1)
    assert int(podman("inspect", "--format", "{{.State.Pid}}", fuse)) != was
    sample = next(path for path in SOURCE.rglob("*.JPEG"))
    subprocess.run(["cmp", str(sample), str(MOUNT_POINT / sample.relative_to(SOURCE))], check=True)


def test_teardown_leaves_the_machine_as_it_was(first: Run, before: Path, tmp_path: Path) -> None:
    succeed(playbook("playbooks/teardown.yml"))
    snapshot(tmp_path / "after.json")
    tool = str(CHECKOUT / "tests/snapshot.py")
    compare = [sys.executable, tool, "compare", str(before), str(tmp_path / "after.json")]
    compared = subprocess.run(compare, capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert succeed(playbook("playbooks/teardown.yml")).changed == 0
