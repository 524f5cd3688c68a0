"""The container image with real services: least privilege, right bytes, and caches that never outlive their cluster.

Everything is the test's own: ports that were free, a folder that pytest made, containers named ``imgtest-*``.
"""

import hashlib
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundle import main_pid, until
from containers import FUSE_DEVICE, IMAGE, Containers, folder_with_mounts, run, throwaway
from fleets import local

from alluxio_fuse.plan import plan

SERVICE, FUSE = "1000:1000", "0:0"
PLANNED = plan(local()).nodes["localhost"]["worker"]["properties"].amount
SOON_ENDED = "alluxio.user.metrics.collection.enabled"


class Cluster(Containers):
    """One Alluxio of throwaway containers, each with a read-only root and no capability that it does not need."""

    def __init__(self, folder: Path) -> None:
        super().__init__("imgtest", folder)
        self.mount = folder / "mnt" / "data"
        for name in ("journal", "namespace", "tier", "cache"):
            (folder / name).mkdir()
        for name in ("journal", "namespace", "tier"):
            os.chown(folder / name, 1000, 1000)
        self.fill(seed=1)
        properties = {
            **throwaway("256MB"),
            "alluxio.job.master.hostname": "127.0.0.1",
            "alluxio.user.client.cache.enabled": "true",
            "alluxio.user.client.cache.dirs": "/cache",
            "alluxio.user.client.cache.size": "64MB",
            "alluxio.fuse.jnifuse.libfuse.version": "3",
        }
        (folder / "site.properties").write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        (folder / "site.properties").chmod(0o644)

    def fill(self, seed: int) -> None:
        """Puts 60 files in the source: names and sizes always the same, bytes by the seed."""
        generator = random.Random(seed)
        (self.folder / "source").mkdir(exist_ok=True)
        for number in range(60):
            (self.folder / "source" / f"{number:02}").write_bytes(generator.randbytes(50_000 + 1000 * number))

    def digests(self, folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}

    def right(self) -> bool:
        """Whether every file reads through the mount as it is in the source."""
        return self.digests(self.mount) == self.digests(self.folder / "source")

    def start(self, name: str, verb: str, *arguments: str, user: str = SERVICE, options: tuple[str, ...] = ()) -> None:
        self.remove(name)
        service = name.upper().replace("-", "_")
        confined = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        environment = ["--env", f"ALLUXIO_{service}_JAVA_OPTS=-Xmx300m -XX:MaxDirectMemorySize=300m"]
        site = ["--volume", f"{self.folder}/site.properties:/opt/alluxio/conf/alluxio-site.properties:ro"]
        command = self.command(name, "--detach", "--user", user, *confined, *environment, *site)
        run(*command, *options, IMAGE, verb, *arguments)

    def start_master(self) -> None:
        stores = self.volume("namespace") + self.volume("source", mode="ro")
        self.start("master", "master-only", options=self.volume("journal") + stores)
        until("the master serves", lambda: "data" in self.alluxio("fs", "ls", "/") or self.mounted_source())

    def mounted_source(self) -> bool:
        return "Mounted" in self.alluxio("fs", "mount", "--readonly", "/data", "/source")

    def start_worker(self, quota: str = "256MB") -> None:
        stores = self.volume("namespace") + self.volume("source", mode="ro")
        said = {"alluxio.worker.tieredstore.level0.dirs.quota": quota, SOON_ENDED: PLANNED[SOON_ENDED]}
        room = ("--env", "ALLUXIO_JAVA_OPTS=" + " ".join(f"-D{key}={value}" for key, value in said.items()))
        self.start("worker", "worker-only", "--no-format", options=self.volume("tier") + stores + room)

    def has_worker(self) -> bool:
        return "Live Workers: 1" in self.alluxio("fsadmin", "report", "summary")

    def start_jobs(self) -> None:
        journal = "ALLUXIO_JAVA_OPTS=-Dalluxio.master.journal.folder=/tmp/journal"
        self.start("job-master", "job-master", options=("--env", journal))
        # A job worker that meets a master which listens but does not serve yet ends, for its restart policy to mend.
        until("the job master serves", lambda: "Failed" not in self.alluxio("job", "ls"))
        self.start("job-worker", "job-worker")

    def start_fuse(self) -> None:
        """Starts FUSE, until its files are there or it has ended."""
        volumes = ("--volume", f"{self.mount.parent}:/mnt/shared:rshared", *self.volume("cache"))
        options = "--fuse-opts=ro,allow_other,attr_timeout=600,entry_timeout=600"
        self.start("fuse", "fuse", options, "/mnt/shared/data", "/data", user=FUSE, options=FUSE_DEVICE + volumes)
        until("FUSE mounts", lambda: self.serves() or not self.running("fuse"))

    def serves(self) -> bool:
        """Whether a living process answers at the mount point; the kernel may still know a dead one's attributes."""
        try:
            return any(self.mount.iterdir())
        except OSError:
            return False

    def alluxio(self, *command: str) -> str:
        return run("podman", "exec", "imgtest-master", "alluxio", *command, check=False)

    def pid(self, name: str, process: str = "java") -> int:
        """Process id on the host of a service's JVM."""
        init = str(main_pid(f"imgtest-{name}"))
        table = [line.split() for line in run("ps", "-e", "-o", "pid=,ppid=,comm=").splitlines()]
        family = {init}
        for _ in range(3):
            family |= {pid for pid, parent, *_ in table if parent in family}
        return next(int(pid) for pid, _, name, *_ in table if pid in family and name == process)

    def stop(self, name: str) -> None:
        run("podman", "stop", "--time", "15", f"imgtest-{name}")

    def forget_journal(self) -> None:
        self.remove("master")
        run("find", self.folder / "journal", "-mindepth", "1", "-delete")

    def blocks(self) -> set[str]:
        return {path.name for path in (self.folder / "tier" / "alluxioworker").glob("*") if path.is_file()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that was read once: blocks in the worker, pages in the client cache."""
    with folder_with_mounts(tmp_path_factory.mktemp("image")) as folder:
        one = Cluster(folder)
        try:
            one.start_master()
            one.start_worker()
            one.start_jobs()
            one.start_fuse()
            yield one
        finally:
            one.remove("fuse", "job-worker", "worker", "job-master", "master", "other")


def capabilities(pid: int) -> tuple[int, int]:
    """User and effective capabilities of a process."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(status["Uid"].split()[1]), int(status["CapEff"], 16)


def test_every_service_runs_with_least_privilege(cluster: Cluster) -> None:
    sys_admin = 1 << 21
    for name in ("master", "job-master", "worker", "job-worker"):
        assert capabilities(cluster.pid(name)) == (1000, 0), name
    assert capabilities(cluster.pid("fuse")) == (0, sys_admin)


def test_bytes_through_the_mount_are_those_of_the_source(cluster: Cluster) -> None:
    assert cluster.right()
    assert len(cluster.blocks()) == 60
    assert any((cluster.folder / "cache" / "LOCAL").rglob("*"))


def test_a_restart_keeps_caches_of_the_same_cluster(cluster: Cluster) -> None:
    blocks = cluster.blocks()
    for name, start in [("worker", cluster.start_worker), ("fuse", cluster.start_fuse)]:
        start()
        assert "Discarding" not in cluster.log(name)
    assert cluster.blocks() == blocks
    assert cluster.right()


def test_a_worker_with_less_room_keeps_what_fits(cluster: Cluster) -> None:
    """Alluxio's own ends at once where a tier holds more than it may."""
    before = cluster.blocks()
    cluster.start_worker(quota="1MB")
    until("the worker has less", lambda: cluster.blocks() < before or not cluster.running("worker"))
    until("the worker serves", cluster.has_worker)
    held = [path.stat().st_size for path in (cluster.folder / "tier" / "alluxioworker").glob("[0-9]*")]
    assert 0 < sum(held) <= 1 << 20
    assert "Discarding blocks" in cluster.log("worker")
    cluster.start_worker()
    assert cluster.right()


def test_a_worker_ends_by_itself_while_the_master_is_away(cluster: Cluster) -> None:
    """Alluxio's defaults have it try for two minutes to reach the master: a pod would be killed at its grace."""
    for name in ("master", "worker"):
        cluster.stop(name)
    assert run("podman", "inspect", "--format", "{{.State.ExitCode}}", "imgtest-worker").strip() == "143"  # not 137
    cluster.start_master()
    cluster.start_worker()
    until("the worker serves", cluster.has_worker)
    cluster.start_fuse()
    assert cluster.right()


def test_a_stop_unmounts_while_a_file_is_open(cluster: Cluster) -> None:
    file = os.open(cluster.mount / "00", os.O_RDONLY)
    cluster.stop("fuse")
    with pytest.raises(OSError, match="not connected"):
        os.close(file)
    assert not cluster.mount.is_mount()
    assert cluster.digests(cluster.mount) == {}


def test_a_dead_mount_is_cleared_by_the_next_start(cluster: Cluster) -> None:
    cluster.start_fuse()
    # With its first process a container ends whole, and nobody is left to clean up.
    os.kill(cluster.pid("fuse", "tini"), 9)
    until("FUSE is dead", lambda: not cluster.running("fuse"))
    with pytest.raises(OSError, match="not connected"):
        list(cluster.mount.iterdir())
    cluster.start_fuse()
    assert "clearing the mount that a dead alluxio-fuse left" in cluster.log("fuse")
    assert cluster.right()


def test_a_second_fuse_does_not_take_a_served_mount(cluster: Cluster) -> None:
    shared = ("--volume", f"{cluster.mount.parent}:/mnt/shared:rshared")
    cluster.start("other", "fuse", "/mnt/shared/data", "/data", user=FUSE, options=(*FUSE_DEVICE, *shared))
    until("it ends", lambda: not cluster.running("other"))
    assert "served by another running alluxio-fuse" in cluster.log("other")
    assert cluster.right()


def test_a_mount_of_something_else_is_left_alone(cluster: Cluster) -> None:
    cluster.stop("fuse")
    run("mount", "-t", "tmpfs", "somebody", cluster.mount)
    try:
        cluster.start_fuse()
        until("FUSE refuses", lambda: not cluster.running("fuse"))
        assert "is a mount point of something else (tmpfs somebody)" in cluster.log("fuse")
        assert "somebody" in run("findmnt", "--noheadings", "--output", "SOURCE", cluster.mount)
    finally:
        run("umount", cluster.mount)


def test_caches_of_a_forgotten_journal_are_discarded(cluster: Cluster) -> None:
    """The same names, sizes and so block and file ids, but other bytes: what was cached must not be read."""
    for name in ("fuse", "worker"):
        cluster.remove(name)
    old = cluster.blocks()
    cluster.forget_journal()
    cluster.fill(seed=2)
    cluster.start_master()
    cluster.start_worker()
    cluster.start_fuse()
    assert cluster.right()
    assert old
    assert old <= cluster.blocks(), "the ids were to be the same, or nothing is shown"
    for name in ("worker", "fuse"):
        assert "Discarding" in cluster.log(name)


def test_running_services_end_when_the_cluster_becomes_another(cluster: Cluster) -> None:
    cluster.forget_journal()
    cluster.start_master()
    for name in ("worker", "fuse"):
        until(f"{name} ends", lambda name=name: not cluster.running(name))
        assert "ending, to start again with empty caches" in cluster.log(name)
    assert not cluster.mount.is_mount()


@pytest.mark.parametrize("stranger", [Path("thesis.txt"), Path("alluxioworker/thesis.txt")], ids=str)
def test_a_folder_with_files_of_others_is_refused_untouched(cluster: Cluster, stranger: Path) -> None:
    file = cluster.folder / "tier" / stranger
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine")
    try:
        cluster.start_worker()
        until("the worker refuses", lambda: not cluster.running("worker"))
        assert f"Alluxio did not make /tier/{stranger.parts[0]}" in cluster.log("worker")
        assert file.read_text() == "mine"
    finally:
        file.unlink()


def test_a_damaged_journal_is_not_formatted(cluster: Cluster) -> None:
    cluster.remove("master")
    journal = cluster.folder / "journal"
    for mark in journal.rglob("_format_*"):
        mark.unlink()
    entries = {path for path in journal.rglob("*") if path.is_file()}
    assert entries
    cluster.start("master", "master-only", options=cluster.volume("journal") + cluster.volume("namespace"))
    until("the master refuses", lambda: not cluster.running("master"))
    assert "restore the journal, or empty the folder" in cluster.log("master")
    assert {path for path in journal.rglob("*") if path.is_file()} == entries
