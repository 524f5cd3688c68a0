"""A bucket that is staged whole on platform host, without a cluster: its store fails, and memory, while processes read.

The order matters little: each drill begins when all is as before. A read of what is staged never fails.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trees
from bundle import latest
from object_store import RestartableStore, restartable_store
from on_host import NODE, changed, debian12, digests, ended, inside, played, podman
from staged import PART, REST, WHOLE, Groups
from staged_on_host import DEPLOYED, TIERS, UNIT, main_pid, mount_type, path, read, staged
from store_faults import store_away, store_refuses

FOLDER, FUSE_OF_PART = "/srv/part", "fuse-part"
MOUNT = f"/var/lib/alluxio-fuse/fuse/{WHOLE}/data"  # that the copy is made from
THROUGH = {"through": "under_store"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    trees.fill(folder)
    return folder


@pytest.fixture(scope="module")
def node(source: Path) -> Iterator[str]:
    """A node with a folder of the same files."""
    with debian12() as name:
        podman("cp", str(source), f"{name}:{FOLDER}")
        inside(f"chmod --recursive a+rX {FOLDER}")
        yield name


@pytest.fixture(scope="module")
def store(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableStore]:
    """A store at this machine's address in the node's network."""
    address = podman("inspect", "--format", "{{.NetworkSettings.Gateway}}", node).stdout.strip()
    with restartable_store(tmp_path_factory.mktemp("store"), address) as running:
        yield running


@pytest.fixture(scope="module")
def variables(store: RestartableStore, source: Path) -> dict[str, Any]:
    said = trees.upload(source, store.about, WHOLE)
    (bucket,) = said["alluxio_datasets"]
    folder = {"name": PART, "source": f"file://{FOLDER}", "stage": "auto", **THROUGH}
    return {
        **said,
        "alluxio_datasets": [{**bucket, "stage": "require", **THROUGH}, folder],
        "alluxio_cache_tiers": TIERS,
        "alluxio_libfuse": 2,
    }


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where variables are kept. Before the copy is made, others read here and there in a file of it."""
    extra = tmp_path_factory.mktemp("said") / "extra.json"
    *served, warm = DEPLOYED
    assert changed(played(served[0], extra, variables, *served[1:])) > 0
    for place in range(1, 5):
        inside(f"dd if={MOUNT}/big/shard-0.bin of=/dev/null bs=1M skip={3 * place} count=1")
    assert changed(played(warm, extra, variables)) > 0
    return extra


@pytest.fixture(scope="module")
def readers(deployed: Path, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Groups]:
    with read(tmp_path_factory.mktemp("reading"), trees.digests(source), "store_faults_on_host") as found:
        yield found


def ended_for_memory() -> int:
    """How often the kernel has ended FUSE of the part, by its own words."""
    said = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout
    return len(re.findall(rf"oom-kill:.*{UNIT}-{FUSE_OF_PART}\.service.*,task=java,", said))


def test_the_bucket_is_staged_whole(deployed: Path, source: Path) -> None:
    assert [mount_type(path(dataset)) for dataset in (WHOLE, PART)] == ["tmpfs", "overlay"]
    assert staged(WHOLE) == trees.FILES.keys()
    assert digests(path(WHOLE)) == trees.digests(source)


def test_the_check_proves_it(deployed: Path, variables: dict[str, Any]) -> None:
    ended(played("playbooks/check.yml", deployed, variables))
    (one,) = (dataset for dataset in latest("check")["datasets"] if dataset["name"] == WHOLE)
    rows = {row["kind"]: row for row in one["rows"] if (row["path"], row["state"]) == ("mount", "staged")}
    for kind in ("small", "large"):
        assert rows[kind]["established"], rows[kind]["why"]
    assert (one["wrong"], one["digested"] > 0) == (0, True)


@pytest.mark.parametrize(("what", "code"), [("answers 503", 503), ("refuses the key (403)", 403)])
def test_the_under_store_answers_errors(readers: Groups, store: RestartableStore, what: str, code: int) -> None:
    assert readers.drill(f"under store {what} for 20 s", lambda: store_refuses(store, code))[REST].restarted == []


def test_the_under_store_is_away(readers: Groups, store: RestartableStore) -> None:
    assert readers.drill("under store away for 20 s", lambda: store_away(store))[REST].restarted == []


def test_fuse_is_killed_for_memory(readers: Groups) -> None:
    """Something else in its unit takes all memory; the kernel is told that FUSE is to be ended for it."""
    fill = """
        echo 1000 >/proc/$0/oom_score_adj
        own=$(grep -E "^[0-9]+:(memory)?:/." /proc/$0/cgroup | head -1 | cut -d: -f3)
        for all in /sys/fs/cgroup/memory /sys/fs/cgroup; do echo $$ >$all$own/cgroup.procs && break; done
        exec tail /dev/zero"""
    fuse, before = f"{UNIT}-{FUSE_OF_PART}", ended_for_memory()
    done = readers.drill("FUSE killed for memory", lambda: podman("exec", NODE, "bash", "-c", fill, main_pid(fuse)))
    assert done[REST].restarted == [FUSE_OF_PART]
    assert "ENOTCONN" in done[REST].saw
    assert ended_for_memory() == before + 1


def test_teardown_leaves_no_copy(readers: Groups, deployed: Path, variables: dict[str, Any]) -> None:
    """Readers hold it back until it is told otherwise."""
    refused = played("playbooks/teardown.yml", deployed, variables)
    assert refused.returncode != 0
    assert "python3 (" in refused.stdout
    ended(played("playbooks/teardown.yml", deployed, {**variables, "alluxio_under_readers": True}))
    assert inside("grep --count -E ' /(mnt|var/lib)/alluxio-fuse' /proc/mounts || true") == "0"
