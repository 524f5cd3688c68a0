"""Platform host on a systemd node: real Alluxio FUSE straight on folders, every byte compared."""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import stages, succeed, until
from on_host import (
    CHECKOUT,
    NODE,
    changed,
    changed_tasks,
    debian12,
    digests,
    ended,
    inside,
    played,
    podman,
    snapshot,
    unlike,
)

DATASETS = ("folder", "other")
TEAMS = {"folder": 2001, "other": 2002}
CLUSTER = "elsewhere"
PORT_OFFSET = 2200
UNIT = "alluxio-fuse-fuse-{}.service"
MOUNT_POINT = "/mnt/alluxio-fuse/{}/data"
SOURCE = "/srv/sets"
FILES = {f"n{n % 3}/{n} of 120.JPEG": 1 + 1663 * n for n in range(120)} | {"large": 20_000_000}
Job = Callable[..., subprocess.CompletedProcess[str]]


def mounted(dataset: str) -> bool:
    return podman("exec", NODE, "mountpoint", "--quiet", MOUNT_POINT.format(dataset)).returncode == 0


def main_pid(dataset: str) -> str:
    return inside(f"systemctl show --property MainPID --value {UNIT.format(dataset)}")


def sets(names: Iterable[str]) -> list[dict[str, Any]]:
    """Datasets, as an inventory has them, each for a team of its own."""
    return [
        {
            "name": name,
            "source": f"file://{SOURCE}/{name}",
            "through": "under_store",
            "readers": {"uid": 0, "gid": TEAMS[name], "mode": "0750"},
        }
        for name in names
    ]


@contextmanager
def reading(dataset: str) -> Iterator[None]:
    """Somebody on the node who has a file of the mount open."""
    wait = f"sleep {600 + DATASETS.index(dataset)}"
    command = f"exec 3< {MOUNT_POINT.format(dataset)}/large; exec {wait}"
    reader = subprocess.Popen(["podman", "exec", NODE, "bash", "-c", command])
    time.sleep(1)
    try:
        yield
    finally:
        inside(f"pkill --full '^{wait}' || true")
        reader.wait(10)


def right(dataset: str) -> bool:
    """Whether the mount has every file of the source, and every byte as it is there."""
    assert mounted(dataset)
    return digests(MOUNT_POINT.format(dataset)) == {name: hashlib.sha256(made(name)).hexdigest() for name in FILES}


def made(name: str) -> bytes:
    """The content of a file: the same each time, and unlike any other's."""
    return random.Random(name).randbytes(FILES[name])


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    with debian12() as name:
        yield name


@pytest.fixture(scope="module")
def job(node: str, tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Runs a playbook on that node, with two folders of the same files."""
    folder = tmp_path_factory.mktemp("set")
    for name in FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(made(name))
    inside(f"mkdir {SOURCE}")
    for dataset in DATASETS:
        podman("cp", str(folder), f"{NODE}:{SOURCE}/{dataset}")
    inside(f"chmod --recursive a+rX {SOURCE}")
    said: dict[str, Any] = {"alluxio_datasets": sets(DATASETS)}
    extra = tmp_path_factory.mktemp("said") / "extra.json"

    def run(playbook: str, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        return played(playbook, extra, said | more, *arguments)

    return run


@pytest.fixture(scope="module")
def before(job: Job, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node as it was before the first run."""
    return snapshot(tmp_path_factory.mktemp("before") / "before.json")


@pytest.fixture(scope="module")
def first(job: Job, before: Path) -> subprocess.CompletedProcess[str]:
    """The main job, run once."""
    return job("site.yml")


@pytest.fixture(scope="module")
def again(job: Job, first: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The main job, run once more: tasks that changed something, and whether the processes are the same."""
    was = [main_pid(dataset) for dataset in DATASETS]
    done = job("site.yml")
    return {
        "changed": changed(done),
        "named": changed_tasks(done),
        "kept": was == [main_pid(dataset) for dataset in DATASETS],
    }


def test_a_data_cache_without_a_cluster_is_refused(job: Job, before: Path) -> None:
    done = job("playbooks/preflight.yml", alluxio_overrides={"fuse/folder.client_cache_size": "64Mi"})
    assert done.returncode != 0
    assert "alluxio_datasets[0].through: under_store" in done.stdout
    assert "a data cache returns other files' bytes" in done.stdout
    assert "do:  no client_cache_size, or through: cluster" in done.stdout


@pytest.mark.usefixtures("before")
def test_an_alluxio_that_others_unpacked_is_refused_and_stays(job: Job) -> None:
    jar = "/opt/alluxio-fuse/alluxio-2.9.6/lib/alluxio.jar"
    inside(f"mkdir -p {Path(jar).parent} && echo theirs > {jar}")
    try:
        done = job("playbooks/preflight.yml")
        assert done.returncode != 0
        assert "holds alluxio-2.9.6" in done.stdout
        assert changed(job("playbooks/teardown.yml")) == 0
        assert inside(f"cat {jar}") == "theirs"
    finally:
        inside("rm -r /opt/alluxio-fuse")


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_file_is_right(first: subprocess.CompletedProcess[str], dataset: str) -> None:
    assert changed(first) > 0
    assert right(dataset)


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_team_reads_its_own_dataset_alone(first: subprocess.CompletedProcess[str], dataset: str) -> None:
    """Who is of no team reads none."""
    ended(first)
    for gid in (*TEAMS.values(), 2003):
        who = ["setpriv", "--reuid=5001", f"--regid={gid}", "--clear-groups"]
        done = podman("exec", NODE, *who, "cksum", f"{MOUNT_POINT.format(dataset)}/large")
        assert (done.returncode == 0) is (gid == TEAMS[dataset])
        assert ("Permission denied" in done.stderr) is (gid != TEAMS[dataset])


def test_the_check_knows_the_states_that_there_are(first: subprocess.CompletedProcess[str]) -> None:
    ended(first)
    newest = max((CHECKOUT / "runs").glob("*/check.json"))
    for dataset in json.loads(newest.read_text())["datasets"]:
        rows = {(row["kind"], row["state"]): row for row in dataset["rows"] if row["path"] == "mount"}
        assert set(rows) == {(kind, state) for kind in ("small", "large") for state in ("cold", "page-cache")}
        assert all(row["established"] or row["why"].startswith("not tested") for row in rows.values()), rows
        assert rows["small", "cold"]["origins"]["under_store"] == 1
        assert (dataset["wrong"], dataset["digested"] > 0) == (0, True)


def test_drift_and_diagnosis(job: Job, first: subprocess.CompletedProcess[str], tmp_path: Path) -> None:
    done = job("playbooks/drift.yml", "--check", "--diff")
    assert done.returncode == 0, done.stdout[-6000:]
    assert "drift    none" in done.stdout
    unit = f"/etc/systemd/system/{UNIT.format('folder')}"
    inside(f"cp --archive {unit} /root/unit && echo '# somebody' >> {unit}")
    try:
        done = job("playbooks/drift.yml", "--check", "--diff")
        assert done.returncode == 2
        assert f"Write the units: {UNIT.format('folder')}" in done.stdout
        assert inside(f"tail --lines 1 {unit}") == "# somebody"
    finally:
        inside(f"mv /root/unit {unit}")
    done = job("playbooks/diagnose.yml", diagnose_dir=str(tmp_path))
    assert done.returncode == 0, done.stdout[-6000:]
    with tarfile.open(tmp_path / "diagnosis.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    asked = ("log.txt", "unit.txt", "state.txt", "alluxio-site.properties")
    assert {f"nodes/node1/{UNIT.format('folder')}/{name}" for name in asked} <= names
    assert {"nodes/node1/processes.json", "nodes/node1/fuse-folder-metrics.json", "status.txt"} <= names


def test_least_privilege(first: subprocess.CompletedProcess[str]) -> None:
    """Capabilities as numbers of bits: SYS_ADMIN is 21, DAC_READ_SEARCH 2."""
    assert changed(first) > 0
    for dataset in DATASETS:
        status = inside(f"cat /proc/{main_pid(dataset)}/status")
        held = int(re.findall(r"^CapEff:\s+(\w+)", status, re.MULTILINE)[0], 16)
        assert {bit for bit in range(64) if held >> bit & 1} == {2, 21}
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE)
        assert re.search(r"^Seccomp:\s+2$", status, re.MULTILINE)
        assert podman("exec", NODE, "touch", f"{MOUNT_POINT.format(dataset)}/new").returncode != 0
    assert "podman" not in inside("dpkg-query --show --showformat '${Package}\\n'").splitlines()


def test_a_second_run_changes_nothing(again: dict[str, Any]) -> None:
    assert again["changed"] == 0, again["named"]
    assert again["kept"]


@pytest.mark.usefixtures("again")
def test_a_killed_process_comes_back_with_the_right_bytes() -> None:
    was = main_pid("folder")
    inside(f"kill -KILL {was}")
    until("another process", lambda: main_pid("folder") not in (was, "0") and mounted("folder"))
    assert right("folder")
    device = inside(f"findmnt --noheadings --output MAJ:MIN {MOUNT_POINT.format('folder')}").strip()
    assert inside(f"cat /sys/class/bdi/{device}/read_ahead_kb") == "1024", "settings of a mount come back with it"


@pytest.mark.usefixtures("again")
def test_a_hung_mount_is_told_and_let_go(job: Job) -> None:
    assert "2 of 2 as planned" in ended(job("playbooks/status.yml"))
    inside(f"kill -STOP {main_pid('folder')}")
    said = job("playbooks/status.yml")
    assert said.returncode == 2
    assert "FAILING  FUSE process on node1, folder: the FUSE process is there and does not answer" in said.stdout
    ended(job("playbooks/unstick.yml", alluxio_unstick="folder"))
    assert right("folder")
    assert "FAILING" not in ended(job("playbooks/status.yml"))


@pytest.mark.usefixtures("again")
def test_a_stop_under_a_reader_leaves_an_empty_folder_that_nobody_can_write_to() -> None:
    unit, point = UNIT.format("folder"), MOUNT_POINT.format("folder")
    with reading("folder"):
        inside(f"systemctl stop {unit}")
        assert inside(f"systemctl is-active {unit} || true") == "inactive"
        assert not mounted("folder")
        assert inside(f"ls -A {point}") == ""
        assert podman("exec", NODE, "touch", f"{point}/file").returncode != 0
    inside(f"systemctl start {unit}")
    assert right("folder")


@pytest.mark.usefixtures("again")
def test_only_the_unit_of_what_changed_is_started_again(job: Job) -> None:
    was = {dataset: main_pid(dataset) for dataset in DATASETS}
    overrides = {"fuse.heap": "320Mi", "fuse.direct_memory": "128Mi", "fuse/other.heap": "352Mi"}
    done = [job(f"playbooks/{stage}.yml", alluxio_overrides=overrides) for stage in ("plan", "services")]
    assert changed(done[-1]) > 0
    assert (main_pid("folder") == was["folder"], main_pid("other") == was["other"]) == (True, False)


@pytest.mark.usefixtures("again")
def test_a_unit_that_somebody_reads_through_is_not_started_again(job: Job) -> None:
    """Check mode says so, too; the next run makes up for it."""
    was = main_pid("other")
    ended(job("playbooks/plan.yml", alluxio_overrides={"fuse/other.heap": "384Mi"}))
    with reading("other"):
        said = ended(job("playbooks/services.yml", "--check"))
        assert re.search(rf"waits for its readers +{UNIT.format('other')} on node1: read by 1: sleep \(\d+\)", said)
        said = ended(job("playbooks/services.yml"))
        assert f"node1: {UNIT.format('other')} stays as it was planned before, read by sleep (" in said
        assert main_pid("other") == was
        assert f"behind {UNIT.format('other')}" in " ".join(job("playbooks/status.yml").stdout.split())
    assert changed(job("playbooks/services.yml")) > 0
    assert main_pid("other") != was
    assert "2 of 2 as planned" in ended(job("playbooks/status.yml"))


@pytest.mark.usefixtures("again")
def test_a_dataset_goes_once_nobody_reads_it_and_another_does_not_notice(job: Job) -> None:
    was, rest = main_pid("folder"), [dataset for dataset in sets(DATASETS) if dataset["name"] == "folder"]
    ended(job("playbooks/plan.yml", alluxio_datasets=rest))
    with reading("folder"):
        with reading("other"):
            done = job("playbooks/services.yml")
            assert done.returncode != 0
            said = " ".join(done.stdout.split())
            assert f"{MOUNT_POINT.format('other')} is not planned any more, and is read by sleep (" in said
            assert right("other")
        assert changed(job("playbooks/services.yml")) > 0
    assert main_pid("folder") == was
    assert inside("ls /mnt/alluxio-fuse") == "folder"
    assert "other" not in inside("ls /var/lib/alluxio-fuse/conf /etc/systemd/system")


@pytest.fixture
def source(node: str) -> Iterator[Path]:
    """The same files on this machine, where the service user can read them."""
    with leftovers.folder(Path(f"/var/lib/{CLUSTER}-source")) as folder:
        podman("cp", f"{node}:{SOURCE}/folder", str(folder))
        yield folder / "folder"


@pytest.fixture
def cluster(source: Path) -> Iterator[dict[str, Any]]:
    """A cluster of containers on this machine with the same files, as an inventory says of it."""
    address = inside("ip -4 route show default").split()[2]
    said = {
        "alluxio_name": CLUSTER,
        "alluxio_environment": CLUSTER,
        "alluxio_bind_address": address,
        "alluxio_port_offset": PORT_OFFSET,
        "alluxio_datasets": [{"name": "folder", "source": f"file://{source}"}],
    }
    with leftovers.deployment(said):
        succeed(stages("preflight", "plan", "nodes", "services", **said))
        yield {
            "alluxio_cluster": {"masters": [f"{address}:{19998 + PORT_OFFSET}"], "password": True},
            "alluxio_cluster_password": Path(f"/var/lib/{CLUSTER}/conf/rpc-password").read_text(),
        }


@pytest.mark.usefixtures("again")
def test_through_a_cluster_elsewhere(job: Job, cluster: dict[str, Any]) -> None:
    """With a client cache on the node, which the check proves; what it could not know of the workers it leaves out."""
    through = {"name": "folder", "source": f"file://{SOURCE}/folder", "through": "cluster"}
    ended(job("site.yml", alluxio_datasets=[through], **cluster))
    assert right("folder")
    newest = max((CHECKOUT / "runs").glob("*/check.json"))
    (dataset,) = json.loads(newest.read_text())["datasets"]
    rows = {row["state"]: row for row in dataset["rows"] if (row["path"], row["kind"]) == ("mount", "small")}
    assert rows["client-cache"]["established"], rows["client-cache"]
    assert rows["client-cache"]["origins"]["client_cache"] > 0.98
    assert {state for state, row in rows.items() if row["why"].startswith("not tested")} >= {"cold", "worker"}
    assert (dataset["wrong"], dataset["digested"] > 0) == (0, True)
    assert changed(job("playbooks/services.yml", alluxio_datasets=[through], **cluster)) == 0


def test_teardown_leaves_the_node_as_it_was(
    job: Job, first: subprocess.CompletedProcess[str], before: Path, tmp_path: Path
) -> None:
    inside("echo theirs > /opt/alluxio-fuse/theirs")
    assert changed(job("playbooks/teardown.yml")) > 0
    assert inside("cd /opt && find . -type f -exec cat {} +") == "theirs"
    inside("rm -r /opt/alluxio-fuse")
    assert unlike(before, snapshot(tmp_path / "after.json")) == ""
    assert inside("ls /opt") == ""
    assert changed(job("playbooks/teardown.yml")) == 0
