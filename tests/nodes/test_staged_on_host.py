"""Staged datasets on platform host: one whole and one in part, with the keeper and the runner of tasks as units.

The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trees
from bundle import latest, until
from on_host import NODE, changed, changed_tasks, debian12, digests, ended, inside, played, podman, snapshot, unlike
from staged import REST, Groups
from staged_on_host import DEPLOYED, STAGE, TIERS, UNIT, main_pid, mount_type, path, read, staged

SOURCE, DISK = "/srv/sets", "/srv/disk"
KEEPER, RUNNER = f"{UNIT}-stage", f"{UNIT}-warm"
COMMAND = "/var/lib/alluxio-fuse/warm/alluxio-warm"
#: Capabilities: CHOWN, DAC_OVERRIDE, FOWNER, SYS_PTRACE and SYS_ADMIN; DAC_READ_SEARCH.
STAGES, READS = {0, 1, 3, 19, 21}, {2}
LARGE = {name for name in trees.FILES if name.startswith("big/")}
SAID: dict[str, Any] = {
    "alluxio_datasets": [
        {"name": name, "source": f"file://{SOURCE}/{name}", "through": "under_store", "stage": stage}
        for name, stage in STAGE.items()
    ],
    "alluxio_cache_tiers": TIERS,
}
#: What the node has of memory. Training takes as many as it is told, and tells how many it has.
MIB, NODE_MIB, KILLED = 1 << 20, 3072, 137
TRAINING = """
import sys
held = []
for number in range(int(sys.argv[1])):
    held.append(bytes([1]) * (1 << 20))
    print(len(held), flush=True)
"""
Job = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node with two folders of the same files."""
    folder = tmp_path_factory.mktemp("set")
    trees.fill(folder)
    with debian12(f"--memory={NODE_MIB}m", f"--memory-swap={NODE_MIB}m") as name:
        inside(f"mkdir {SOURCE} {DISK}")
        inside(
            f"truncate --size=260M {DISK}.ext4 && mkfs.ext4 -qm0 {DISK}.ext4 && mount --options loop {DISK}.ext4 {DISK}"
        )
        for dataset in STAGE:
            podman("cp", str(folder), f"{name}:{SOURCE}/{dataset}")
        inside(f"chmod --recursive a+rX {SOURCE}")
        yield name


@pytest.fixture(scope="module")
def job(node: str, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Runs playbooks on it."""
    extra = tmp_path_factory.mktemp("said") / "extra.json"

    def run(playbook: str, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        return played(playbook, extra, SAID | more, *arguments)

    return run


@pytest.fixture(scope="module")
def before(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot(tmp_path_factory.mktemp("before") / "before.json")


@pytest.fixture(scope="module")
def deployed(job: Job, before: Path) -> subprocess.CompletedProcess[str]:
    done = job(*DEPLOYED)
    assert changed(done) > 0
    return done


def is_right(dataset: str) -> bool:
    return digests(path(dataset)) == digests(f"{SOURCE}/{dataset}")


def capabilities(unit: str) -> set[int]:
    """Numbers of those that a unit holds; it has no new privileges, and a filter of system calls."""
    held = inside(f"grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/{main_pid(unit)}/status")
    values = dict(line.split(":\t") for line in held.splitlines())
    assert (values["NoNewPrivs"], values["Seccomp"]) == ("1", "2")
    return {bit for bit in range(64) if int(values["CapEff"], 16) >> bit & 1}


def test_one_is_staged_whole_and_the_other_in_part(deployed: Any) -> None:
    assert mount_type(path("whole")) == "tmpfs"
    assert mount_type(path("part")) == "overlay"
    assert staged("whole") == trees.FILES.keys()
    assert staged("part") > trees.FILES.keys() - LARGE
    assert 0 < len(staged("part") & LARGE) < len(LARGE)
    assert is_right("whole")
    assert is_right("part")


def test_the_check_proves_what_is_staged(job: Job, deployed: Any) -> None:
    ended(job("playbooks/check.yml"))
    for dataset in latest("check")["datasets"]:
        rows = {(row["path"], row["state"], row["kind"]): row for row in dataset["rows"]}
        for kind in ("small", "large"):
            assert rows["mount", "staged", kind]["established"], rows["mount", "staged", kind]["why"]
        assert (dataset["wrong"], dataset["digested"] > 0) == (0, True)


def test_fuse_is_stopped_and_started_again(deployed: Any) -> None:
    inside("systemctl stop alluxio-fuse-fuse-whole alluxio-fuse-fuse-part")
    try:
        assert is_right("whole")
        rest = trees.FILES.keys() - staged("part")
        for name in staged("part"):
            inside(f"cmp {path('part')}/{name} {SOURCE}/part/{name}")
        for name in rest:
            read = podman("exec", NODE, "cat", f"{path('part')}/{name}")
            assert "Transport endpoint is not connected" in read.stderr
    finally:
        inside("systemctl start alluxio-fuse-fuse-whole alluxio-fuse-fuse-part")
    until("the keeper has given the part the new mount", lambda: is_right("part"))


def test_the_keeper_is_killed(deployed: Any) -> None:
    was = main_pid(KEEPER)
    inside(f"kill -KILL {was}")
    until("it is back", lambda: main_pid(KEEPER) not in (was, "0"))
    assert is_right("whole")


@pytest.fixture
def readers(deployed: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Groups]:
    with read(tmp_path, digests(f"{SOURCE}/whole"), request.node.name) as found:
        yield found


def test_readers_of_what_is_staged_notice_no_fault(job: Job, readers: Groups) -> None:
    """FUSE, which serves the rest of the part, comes back by itself, or once it is let go."""

    def kill(*parts: str) -> None:
        inside(f"kill -KILL {' '.join(main_pid(f'{UNIT}-{part}') for part in parts)}")

    def hang() -> None:
        inside(f"kill -STOP {main_pid(f'{UNIT}-fuse-part')}")
        said = job("playbooks/status.yml")
        assert said.returncode == 2
        assert "part: the FUSE process is there and does not answer" in said.stdout
        assert "requests waited; files were open in" in ended(job("playbooks/unstick.yml", alluxio_unstick="part"))

    def another_heap() -> None:
        told = ended(job("playbooks/plan.yml", "playbooks/services.yml", alluxio_overrides={"fuse.heap": "448Mi"}))
        assert "fuse-part.service stays as it was planned before, read by python3 (" in " ".join(told.split())

    done = readers.drill("FUSE killed -9", lambda: kill("fuse-whole", "fuse-part"))
    assert "ENOTCONN" in done[REST].saw
    assert done[REST].restarted == ["fuse-part", "fuse-whole"]
    assert readers.drill("FUSE hung, unstuck", hang)[REST].restarted == ["fuse-part"]
    assert readers.drill("keeper killed -9", lambda: kill("stage"))[REST].restarted == ["stage"]
    assert readers.drill("another value of FUSE", another_heap)[REST].restarted == ["fuse-whole"]


def test_without_readers_the_planned_value_comes_back(job: Job, deployed: Any) -> None:
    assert changed(job(*DEPLOYED)) > 0


def test_training_takes_more_than_its_share(job: Job, readers: Groups) -> None:
    """The kernel ends it, and no service, and readers go on. With a copy given up, it gets what it needs."""

    def takes(wanted: int) -> tuple[int, int]:
        """How training ended, and how many MiB it got."""
        done = podman("exec", NODE, "python3", "-c", TRAINING, str(wanted))
        return done.returncode, int(done.stdout.split()[-1])

    def used() -> int:
        """Bytes of the memory that copies lie in."""
        return int(inside("df --block-size=1 --output=used /var/lib/alluxio-fuse/stage").split()[-1])

    def too_much() -> None:
        status, got = takes(NODE_MIB)
        needs.append(got + size // 2 // MIB)
        assert status == KILLED
        assert takes(needs[0])[0] == KILLED

    def given_up() -> None:
        before = used()
        ended(job("playbooks/warm.yml", alluxio_warm={"datasets": ["whole"], "into": "stage", "evict": True}))
        until("the memory is back", lambda: used() <= before - size)
        assert takes(needs[0]) == (0, needs[0])

    size, needs = sum(trees.FILES.values()), list[int]()
    assert readers.drill("training killed for memory, twice", too_much)[REST].restarted == []
    assert readers.drill("the whole copy given up for it", given_up)[REST].restarted == []
    assert readers.drill("and staged again", lambda: ended(job("playbooks/warm.yml")))[REST].restarted == []
    assert staged("whole") == trees.FILES.keys()


def test_after_a_restart_it_is_staged_again(deployed: Any) -> None:
    """What a restart leaves: no mount at the path and nothing in memory."""
    inside(f"systemctl stop {KEEPER} && umount --lazy {path('whole')} && rm -r /var/lib/alluxio-fuse/stage/whole/*")
    inside(f"systemctl start {KEEPER}")
    until("it is staged", lambda: mount_type(path("whole")) == "tmpfs" and is_right("whole"))


def test_tasks_give_up_and_stage(job: Job, deployed: Any) -> None:
    def warm(**wish: Any) -> subprocess.CompletedProcess[str]:
        return job("playbooks/warm.yml", alluxio_warm={"datasets": ["whole"], **wish})

    refused = warm(into="workers")
    assert refused.returncode != 0
    assert "into: workers: this deployment has no workers of its own; load into: stage" in refused.stdout
    ended(warm(into="stage", evict=True, paths=["big"]))
    assert staged("whole") == trees.FILES.keys() - LARGE
    assert is_right("whole")
    inside(f"{COMMAND} start --into stage --dataset whole --quiet")
    assert staged("whole") == trees.FILES.keys()
    assert is_right("whole")
    assert {one["state"] for one in json.loads(inside(f"{COMMAND} list --json"))} == {"done"}


def test_a_disk_that_others_fill(job: Job, deployed: Any) -> None:
    """FUSE serves what did not fit, and the next plan goes by what is free."""
    disk = {"alluxio_cache_tiers": [{"medium": "ssd", "path": f"{DISK}/copies"}]}
    ended(job(*DEPLOYED[:-1], **disk))
    inside(f"fallocate --length 100MiB {DISK}/theirs")
    try:
        full = job("playbooks/warm.yml", **disk)
        assert full.returncode != 0
        assert "No space left on device" in full.stdout
        assert mount_type(path("part")) == "ext4"
        assert mount_type(path("whole")).startswith("fuse")
        assert is_right("whole")
        ended(job(*DEPLOYED, **disk))
        assert mount_type(path("whole")) == "ext4"
        assert mount_type(path("part")) == "overlay"
        assert is_right("whole")
        assert is_right("part")
    finally:
        inside(f"rm {DISK}/theirs")
    ended(job(*DEPLOYED, **disk))
    assert mount_type(path("part")) == "ext4"
    assert is_right("part")
    assert changed(job(*DEPLOYED)) > 0


def test_drift_finds_none(job: Job, deployed: Any) -> None:
    assert "drift    none" in ended(job("playbooks/drift.yml", "--check", "--diff"))


def test_a_second_run_changes_nothing(job: Job, deployed: Any) -> None:
    was = [main_pid(unit) for unit in (KEEPER, RUNNER)]
    done = job(*DEPLOYED)
    assert changed(done) == 0, changed_tasks(done)
    assert was == [main_pid(unit) for unit in (KEEPER, RUNNER)]


def test_least_privilege(deployed: Any) -> None:
    assert capabilities(KEEPER) == STAGES
    assert capabilities(RUNNER) == STAGES | READS


def test_a_reader_is_told_of_and_kept(job: Job, deployed: Any) -> None:
    reader = subprocess.Popen(
        ["podman", "exec", NODE, "tail", "--follow", f"{path('whole')}/{min(LARGE)}"], stdout=subprocess.DEVNULL
    )
    try:
        until("it reads", lambda: inside("pgrep --exact tail"))
        refused = job("playbooks/teardown.yml")
        assert refused.returncode != 0
        assert "tail (" in refused.stdout
        assert is_right("whole")
    finally:
        inside("pkill --exact tail || true")
        reader.wait(10)


def test_what_is_staged_no_more_leaves_no_keeper(job: Job, deployed: Any) -> None:
    """What carries tasks out stays, and may do no more than it has to."""
    sets = [{**one, "stage": "off"} for one in SAID["alluxio_datasets"]]
    assert changed(job(*DEPLOYED, alluxio_datasets=sets)) > 0
    assert inside(f"ls /etc/systemd/system/{KEEPER}.service || true") == ""
    assert inside(f"systemctl is-active {KEEPER} || true") == "inactive"
    assert capabilities(RUNNER) == READS
    assert mount_type(path("whole")).startswith("fuse")
    assert is_right("whole")


def test_teardown_leaves_the_node_as_it_was(job: Job, deployed: Any, before: Path, tmp_path: Path) -> None:
    assert changed(job("playbooks/teardown.yml")) > 0
    assert unlike(before, snapshot(tmp_path / "after.json")) == ""


def test_a_unit_of_others_is_refused_and_stays(job: Job, before: Path) -> None:
    file = f"/etc/systemd/system/{KEEPER}.service"
    inside(f"echo theirs > {file}")
    try:
        refused = job(*DEPLOYED)
        assert refused.returncode != 0
        assert file in refused.stdout
        job("playbooks/teardown.yml")
        assert inside(f"cat {file}") == "theirs"
    finally:
        inside(f"rm {file}")
    assert changed(job("playbooks/teardown.yml")) == 0
