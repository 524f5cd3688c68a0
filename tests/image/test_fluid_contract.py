"""The image as Fluid's AlluxioRuntime runs one: Fluid's environment, arguments and commands, with nothing of Fluid.

Containers are named ``fluidtest-*``. What Fluid gives a pod is told where it is built.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from bundle import until
from containers import FUSE_DEVICE, IMAGE, Containers, folder_with_mounts, on_loopback, run

FILES = {f"{number:02}": bytes([number]) * (40_000 + number) for number in range(12)}
#: A headless Service's name of a pod, which nobody resolves before the pod is ready: so not within the master's pod.
HEADLESS = "data-master-0.default.svc.cluster.invalid"
KEY = "a$HOME`id`"
ALLUXIO_FUSE = "/opt/alluxio/integration/fuse/bin/alluxio-fuse"
SMALL = "-Xmx300m -XX:MaxDirectMemorySize=300m -XX:TieredStopAtLevel=1"
LOG_LINE = re.compile(r"\[(info|warning)\s*\]|\b(WARN|INFO|ERROR)\b|Picked up")


class Fluid(Containers):
    """A dataset's pods, one container each."""

    def __init__(self, folder: Path) -> None:
        super().__init__("fluidtest", folder)
        self.mount = folder / "mnt" / "alluxio-fuse"
        for name in ("journal", "tier", "source", "secrets"):
            (folder / name).mkdir()
        for name, content in FILES.items():
            (folder / "source" / name).write_bytes(content)
        (folder / "secrets" / "key").write_text(KEY)
        properties = {
            "alluxio.master.hostname": HEADLESS,
            "alluxio.user.hostname": "${ALLUXIO_CLIENT_HOSTNAME}",
            "alluxio.master.journal.type": "UFS",
            "alluxio.master.journal.folder": "/journal",
            "alluxio.master.mount.table.root.ufs": "/underFSStorage",
            "alluxio.security.authorization.permission.enabled": "false",
            "alluxio.worker.tieredstore.levels": "1",
            "alluxio.worker.tieredstore.level0.alias": "SSD",
            "alluxio.worker.tieredstore.level0.dirs.mediumtype": "SSD",
            "alluxio.worker.tieredstore.level0.dirs.path": "/tier",
            "alluxio.worker.tieredstore.level0.dirs.quota": "256MB",
            "alluxio.fuse.jnifuse.libfuse.version": "3",
            "s3a.secretKey": "`cat /etc/fluid/secrets/key`",
            **on_loopback(),
        }
        master = "-Dalluxio.master.hostname=${ALLUXIO_MASTER_HOSTNAME}"
        worker = "-Dalluxio.worker.hostname=${ALLUXIO_WORKER_HOSTNAME}"
        worker_container = "-Dalluxio.worker.container.hostname=${ALLUXIO_WORKER_CONTAINER_HOSTNAME}"
        #: The ConfigMap of a runtime, which every container gets; a user of Fluid added an option that logs.
        self.environment = {
            "ALLUXIO_JAVA_OPTS": " ".join([*(f"-D{key}={said}" for key, said in properties.items()), "-XX:+PrintGC "]),
            "ALLUXIO_MASTER_JAVA_OPTS": f"{master} {SMALL}",
            "ALLUXIO_JOB_MASTER_JAVA_OPTS": f"{master} {SMALL}",
            "ALLUXIO_WORKER_JAVA_OPTS": f"{worker} {worker_container} {SMALL}",
            "ALLUXIO_JOB_WORKER_JAVA_OPTS": f"{worker} {SMALL}",
            "ALLUXIO_FUSE_JAVA_OPTS": SMALL,
            "ALLUXIO_WORKER_TIEREDSTORE_LEVEL0_DIRS_PATH": "${ALLUXIO_WORKER_TIEREDSTORE_LEVEL0_DIRS_PATH}",
        }

    def container(self, name: str, *options: str, **addresses: str) -> list[str]:
        """Command line up to what the container runs; addresses are those of the pod and its node."""
        command = self.command(name, *self.volume("secrets", "/etc/fluid/secrets", "ro"))
        command += [f"--env={key}={value}" for key, value in {**self.environment, **addresses}.items()]
        return [*command, *options]

    def start(self, name: str, *arguments: str, options: tuple[str, ...] = (), **addresses: str) -> None:
        """Starts a service as Fluid's pods do: as root, with the script itself for command."""
        service = ("--detach", "--user", "0:0", "--entrypoint", "/entrypoint.sh", *options)
        run(*self.container(name, *service, **addresses), IMAGE, *arguments)

    def start_master(self) -> None:
        stores = self.volume("journal") + self.volume("source", mode="ro")
        self.start("master", "master-only", "--no-format", options=stores, ALLUXIO_MASTER_HOSTNAME="127.0.0.1")
        until("the master serves", lambda: self.master("fsadmin", "report") or not self.running("master"), 60)

    def start_others(self) -> None:
        resolved = ("--add-host", f"{HEADLESS}:127.0.0.1")
        node = {"ALLUXIO_WORKER_HOSTNAME": "127.0.0.1", "ALLUXIO_WORKER_CONTAINER_HOSTNAME": "127.0.0.1"}
        self.start("job-master", "job-master", ALLUXIO_MASTER_HOSTNAME="127.0.0.1")
        stores = self.volume("tier") + self.volume("source", mode="ro")
        self.start("worker", "worker-only", "--no-format", options=stores + resolved, **node)
        until("the worker serves", lambda: "Live Workers: 1" in self.master("fsadmin", "report", "summary"), 90)

    def start_fuse(self) -> None:
        options = "--fuse-opts=kernel_cache,ro,attr_timeout=7200,entry_timeout=7200,allow_other"
        volume = ("--volume", f"{self.mount.parent}:{self.mount.parent}:rshared")
        privileged = ("--privileged", *FUSE_DEVICE, *volume, "--add-host", f"{HEADLESS}:127.0.0.1")
        self.remove("fuse")
        self.start(
            "fuse", "fuse", options, str(self.mount), "/", options=privileged, ALLUXIO_CLIENT_HOSTNAME="127.0.0.1"
        )
        until("FUSE mounts", lambda: (self.mount / "data").is_dir() or not self.running("fuse"), 60)

    def unmount(self, mount_point: Path) -> subprocess.CompletedProcess[str]:
        """What Kubernetes calls before it stops a FUSE process."""
        return answer("podman", "exec", "fluidtest-fuse", ALLUXIO_FUSE, "unmount", str(mount_point))

    def master(self, *command: str) -> str:
        """Standard output of a command that Fluid has run in the master's container; nothing when it failed."""
        done = answer("podman", "exec", "fluidtest-master", "alluxio", *command)
        return done.stdout if done.returncode == 0 else ""

    def load(self, *commands: str) -> subprocess.CompletedProcess[str]:
        """A DataLoad's pod: the image's own user, and the environment appended to alluxio-env.sh."""
        append = r"""for name in ${!ALLUXIO_*}; do
            [[ $name != *JAVA_OPTS ]] || echo "export $name=\"${!name}\"" >> /opt/alluxio/conf/alluxio-env.sh
        done"""
        pod = self.container("load", "--rm", "--entrypoint", "bash", "--add-host", f"{HEADLESS}:127.0.0.1")
        return answer(*pod, IMAGE, "-c", "\n".join(["set -e", append, *commands]))

    def options(self, name: str) -> list[str]:
        """Command line of a service's JVM."""
        return run("podman", "exec", f"fluidtest-{name}", "cat", "/proc/1/cmdline").split("\0")


def answer(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def fluid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fluid]:
    """Pods of a dataset, its source mounted."""
    with folder_with_mounts(tmp_path_factory.mktemp("fluid")) as folder:
        one = Fluid(folder)
        try:
            one.start_master()
            assert one.running("master"), one.log("master")
            one.start_others()
            assert "Mounted" in one.master("fs", "mount", "--readonly", "/data", "/source")
            yield one
        finally:
            one.remove("fuse", "load", "worker", "job-master", "master")


def test_variables_in_options_are_expanded(fluid: Fluid) -> None:
    for name in ("master", "job-master"):
        assert "-Dalluxio.master.hostname=127.0.0.1" in fluid.options(name), name
    assert "-Dalluxio.worker.hostname=127.0.0.1" in fluid.options("worker")


def test_what_is_not_defined_is_empty(fluid: Fluid) -> None:
    assert "-Dalluxio.user.hostname=" in fluid.options("master")


def test_backticks_in_options_are_run_once(fluid: Fluid) -> None:
    """What they print is no script: a key may have any character."""
    for name in ("master", "worker"):
        assert f"-Ds3a.secretKey={KEY}" in fluid.options(name), name


def test_commands_in_the_pod_use_the_pods_address(fluid: Fluid) -> None:
    assert fluid.master("getConf", "alluxio.master.hostname") == "127.0.0.1\n"


def test_the_root_mount_is_a_folder_of_the_image(fluid: Fluid) -> None:
    roots = [line.split() for line in fluid.master("fs", "mount").splitlines()]
    assert ["/underFSStorage", "on", "/"] in [words[:3] for words in roots]
    assert fluid.load("test -w /underFSStorage").returncode == 0


@pytest.mark.parametrize(
    "command",
    [
        "fsadmin report",
        "fsadmin report summary",
        "fsadmin report metrics",
        "fsadmin report capacity",
        "fs count /data",
        "fs du -s /data",
        "fs ls -R /data",
        "fs mount",
        "fs loadMetadata -R /data",
        "getConf alluxio.home",
        "version",
    ],
)
def test_standard_output_is_the_answer_alone(fluid: Fluid, command: str) -> None:
    lines = fluid.master(*command.split()).splitlines()
    assert lines
    assert [line for line in lines if LOG_LINE.search(line)] == []


def test_answers_have_the_form_that_fluid_reads(fluid: Fluid) -> None:
    head, counts = fluid.master("fs", "count", "/data").splitlines()
    assert head.split()[:2] == ["File", "Count"]
    assert counts.split() == [str(len(FILES)), "0", str(sum(map(len, FILES.values())))]
    assert fluid.master("version") == "2.9.6\n"


def test_a_data_load_puts_every_file_into_the_workers(fluid: Fluid) -> None:
    assert re.findall(r"(\d+)%", fluid.master("fs", "ls", "/data")) == ["0"] * len(FILES)
    done = fluid.load(
        "alluxio version",
        "alluxio fs setReplication --max 1 -R /data",
        "alluxio fs ls -Dalluxio.user.file.metadata.sync.interval=0 -R /data",
        "alluxio fs distributedLoad --replication 1 /data",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Job State: SUCCEEDED" in done.stdout
    assert re.findall(r"(\d+)%", fluid.master("fs", "ls", "/data")) == ["100"] * len(FILES)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--replication 2 /data", "--replication 2 is not offered"),
        ("--replication 1 /none", "/none"),
        ("--batch-size 20 /data", "option --batch-size is not offered"),
        ("/data /other", "more than one path"),
        ("--replication 1", "which path?"),
    ],
)
def test_a_data_load_that_cannot_be_is_refused_with_words(fluid: Fluid, arguments: str, words: str) -> None:
    done = fluid.load(f"alluxio fs distributedLoad {arguments}")
    assert done.returncode != 0
    assert words in done.stdout + done.stderr


def test_bytes_through_the_mount_are_those_of_the_source(fluid: Fluid) -> None:
    fluid.start_fuse()
    assert {path.name: path.read_bytes() for path in (fluid.mount / "data").iterdir()} == FILES
    kind = run("findmnt", "--noheadings", "--output", "FSTYPE", fluid.mount).strip()
    assert kind == "fuse.alluxio-fuse"


def test_unmount_takes_the_mount_away_and_the_process_ends(fluid: Fluid) -> None:
    fluid.start_fuse()
    assert fluid.unmount(fluid.mount).returncode in {0, 137}  # the command ends with its container
    assert not fluid.mount.is_mount()
    until("the FUSE process ends", lambda: not fluid.running("fuse"), 30)
    assert run("podman", "inspect", "--format", "{{.State.ExitCode}}", "fluidtest-fuse").strip() == "0"


def test_unmount_with_a_file_open_leaves_it_readable(fluid: Fluid) -> None:
    fluid.start_fuse()
    name, content = list(FILES.items())[-1]
    file = os.open(fluid.mount / "data" / name, os.O_RDONLY)
    try:
        done = fluid.unmount(fluid.mount)
        assert done.returncode == 0, done.stderr
        assert "has open files" in done.stdout
        assert not fluid.mount.is_mount()
        assert os.read(file, len(content)) == content
    finally:
        os.close(file)


def test_unmount_leaves_what_is_not_its_own(fluid: Fluid) -> None:
    fluid.start_fuse()
    for path, words in [("/proc", "is a mount point of something else"), ("/tmp", "is not mounted")]:
        done = fluid.unmount(Path(path))
        assert done.returncode == 1
        assert words in done.stderr
    assert fluid.mount.is_mount()
