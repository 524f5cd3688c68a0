"""Platform host on a node with systemd: real Alluxio FUSE, straight on a folder, every byte compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
NODE = "alluxio-fuse-test-host"
UNIT = "alluxio-fuse-fuse-pictures.service"
MOUNT_POINT = "/mnt/alluxio-fuse/pictures/data"
MAKE_SET = """
import pathlib, random
random.seed(2012)
for number in range(120):
    path = pathlib.Path(f"/srv/pictures/n{number % 3}/{number} of 120.JPEG")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.randbytes(random.randint(1, 200_000)))
pathlib.Path("/srv/pictures/large").write_bytes(random.randbytes(40_000_000))
"""
DIGESTS = "find . -type f -print0 | sort -z | xargs -0 sha256sum"
CHANGED = re.compile(r"^node1\s+: ok=\d+\s+changed=(\d+)", re.MULTILINE)


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)


def inside(command: str) -> str:
    """What a command says on the node; it must succeed."""
    done = podman("exec", NODE, "bash", "-c", command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def job(playbook: str, **variables: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            *("--inventory", "tests/nodes/host", playbook, "--extra-vars", json.dumps(variables)),
        ],
        cwd=CHECKOUT,
        env={
            **os.environ,
            "ANSIBLE_CONNECTION_PLUGINS": "tests/lab/node/connection",
            "ANSIBLE_PIPELINING": "true",
            "ANSIBLE_NOCOLOR": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def changed(done: subprocess.CompletedProcess[str]) -> int:
    """Tasks that changed the node, of a job that succeeded."""
    assert done.returncode == 0, done.stdout[-6000:]
    return sum(int(found) for found in CHANGED.findall(done.stdout))


def snapshot(path: Path) -> Path:
    tool = (CHECKOUT / "tests/snapshot.py").read_text()
    done = subprocess.run(
        ["podman", "exec", "--interactive", NODE, "python3", "-", "take"],
        input=tool,
        capture_output=True,
        text=True,
        check=True,
    )
    path.write_text(done.stdout)
    return path


def mounted() -> bool:
    return podman("exec", NODE, "mountpoint", "--quiet", MOUNT_POINT).returncode == 0


def digests(folder: str) -> str:
    return inside(f"cd {folder} && {DIGESTS}")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The node as it was before the first run: a Debian 12 with a folder of data, without Java and libfuse."""
    subprocess.run(["tests/lab/node/build", "bookworm"], cwd=CHECKOUT, check=True)
    podman("rm", "--force", "--time", "1", NODE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alluxio-fuse/apt/bookworm-host"
    cache.mkdir(parents=True, exist_ok=True)
    packages = f"--volume={cache}:/var/cache/apt/archives"
    node = ["tests/lab/node/up", NODE, "localhost/alluxio-fuse-node:bookworm", packages]
    subprocess.run(node, cwd=CHECKOUT, check=True)
    inside(f"python3 - <<'END'{MAKE_SET}END")
    yield snapshot(tmp_path_factory.mktemp("host") / "before.json")
    podman("rm", "--force", "--time", "1", NODE)


@pytest.fixture(scope="module")
def first(before: Path) -> subprocess.CompletedProcess[str]:
    """The main job, run once."""
    return job("site.yml")


def test_a_data_cache_without_a_cluster_is_refused(before: Path) -> None:
    done = job("playbooks/preflight.yml", alluxio_overrides={"fuse.client_cache_size": "64Mi"})
    assert done.returncode != 0
    assert "alluxio_datasets[0].through: under_store" in done.stdout
    assert "a data cache returns other files' bytes" in done.stdout
    assert "do:  no client_cache_size, or through: cluster" in done.stdout


def test_every_file_is_right(first: subprocess.CompletedProcess[str]) -> None:
    assert changed(first) > 0
    assert mounted()
    assert digests(MOUNT_POINT) == digests("/srv/pictures")


def test_the_check_knows_the_states_there_are(first: subprocess.CompletedProcess[str]) -> None:
    newest = max((CHECKOUT / "runs").glob("*/check.json"))
    (dataset,) = json.loads(newest.read_text())["datasets"]
    rows = {(row["kind"], row["state"]): row for row in dataset["rows"] if row["path"] == "mount"}
    assert set(rows) == {(kind, state) for kind in ("small", "large") for state in ("cold", "page-cache")}
    assert all(row["established"] or row["why"].startswith("not tested") for row in rows.values()), rows
    assert rows["small", "cold"]["origins"]["under_store"] == 1
    assert dataset["wrong"] == 0
    assert dataset["digested"] > 0


def test_nobody_but_the_source_is_written_to(first: subprocess.CompletedProcess[str]) -> None:
    assert podman("exec", NODE, "touch", f"{MOUNT_POINT}/new").returncode != 0
    assert "podman" not in inside("dpkg-query --show --showformat '${Package}\\n'").splitlines()


def test_a_second_run_changes_nothing(first: subprocess.CompletedProcess[str]) -> None:
    was = inside(f"systemctl show --property MainPID {UNIT}")
    done = job("site.yml")
    assert changed(done) == 0, re.findall(r"TASK \[.*\n(?:.*\n)?changed.*", done.stdout)
    assert inside(f"systemctl show --property MainPID {UNIT}") == was


def test_a_killed_process_comes_back_with_the_right_bytes(first: subprocess.CompletedProcess[str]) -> None:
    was = inside(f"systemctl show --property MainPID --value {UNIT}")
    inside(f"kill -KILL {was}")
    deadline = time.monotonic() + 60
    while not (mounted() and inside(f"systemctl show --property MainPID --value {UNIT}") not in (was, "0")):
        assert time.monotonic() < deadline, podman("exec", NODE, "journalctl", "--unit", UNIT).stdout[-3000:]
        time.sleep(0.5)
    assert digests(MOUNT_POINT) == digests("/srv/pictures")


def test_a_stop_under_a_reader_leaves_an_empty_folder_that_nobody_can_write_to(
    first: subprocess.CompletedProcess[str],
) -> None:
    with subprocess.Popen(["podman", "exec", NODE, "bash", "-c", f"exec 3< {MOUNT_POINT}/large; sleep 60"]) as reader:
        time.sleep(1)
        inside(f"systemctl stop {UNIT}")
        assert inside(f"systemctl is-failed {UNIT} || true") == "inactive"
        assert not mounted()
        assert inside(f"ls -A {MOUNT_POINT}") == ""
        assert podman("exec", NODE, "touch", f"{MOUNT_POINT}/file").returncode != 0
        assert inside("pgrep --exact java || true") == ""
        reader.terminate()
    inside("pkill --full 'sleep 60' || true")
    inside(f"systemctl start {UNIT}")
    assert digests(MOUNT_POINT) == digests("/srv/pictures")


def test_teardown_leaves_the_node_as_it_was(
    first: subprocess.CompletedProcess[str], before: Path, tmp_path: Path
) -> None:
    assert changed(job("playbooks/teardown.yml")) > 0
    after = snapshot(tmp_path / "after.json")
    tool = [sys.executable, str(CHECKOUT / "tests/snapshot.py"), "compare", str(before), str(after)]
    compared = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert inside("ls /opt") == ""
    assert changed(job("playbooks/teardown.yml")) == 0
