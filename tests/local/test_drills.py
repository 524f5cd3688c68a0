"""Faults while others read, on this machine: what they saw, how long it took, and that no byte was wrong.

The order matters little: each drill begins when all is as before. The table is printed at the end, and kept in runs/.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bundle import CHECKOUT, Run, kill, playbook, podman, stages, succeed, teardown
from drills import READING, Drill, Readers, reading
from object_store import HTTPS_PORT, ObjectStore, RestartableStore, restartable_store
from refusing import refusing
from test_sources import FILES, fill

NAME = "drills"
MOUNT_POINT = Path(f"/mnt/{NAME}/bucket/data")
IMAGE = "localhost/alluxio-fuse:2.9.6"
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-bucket")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableStore]:
    with restartable_store(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    fill(folder)
    return folder


@pytest.fixture(scope="module")
def another_image() -> Iterator[str]:
    """The same, made once more."""
    name = f"localhost/{NAME}:next"
    file = f"FROM {IMAGE}\nLABEL made=again\n"
    subprocess.run(["podman", "build", "--quiet", "--tag", name, "-"], input=file, text=True, check=True)
    yield name
    podman("rmi", "--force", name)


@pytest.fixture(scope="module")
def variables(store: RestartableStore, source: Path, another_image: str) -> Iterator[dict[str, Any]]:
    """Caches that hold a part of the set, so that every read may need every layer."""
    client = store.about.client()
    client.create_bucket(Bucket="training")
    for name in FILES:
        client.upload_file(str(source / name), "training", f"set/{name}")
    about = store.about
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 1000,
        "alluxio_datasets": [{"name": "bucket", "source": "s3://training/set", "s3": about.s3}],
        "alluxio_credentials": {"bucket": {"access_key": about.access_key, "secret_key": about.secret_key}},
        "alluxio_overrides": {"fuse.client_cache_size": "16Mi", "worker.tier_quota": "64Mi"},
    }
    teardown(**said)
    yield said
    teardown(**said)


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> None:
    succeed(stages("preflight", "plan", "nodes", "services", **variables))


@pytest.fixture(scope="module")
def readers(deployed: None, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Readers]:
    digests = {name: hashlib.sha256((source / name).read_bytes()).hexdigest() for name in FILES}
    folder = tmp_path_factory.mktemp("reading")
    (folder / "digests.json").write_text(json.dumps(digests))
    command = [sys.executable, str(READING), str(MOUNT_POINT), str(folder / "digests.json")]
    with reading([[*command, str(seed)] for seed in range(4)], folder) as running:
        begun = time.time()
        running.settle(begun, 180)
        yield running
    table = running.table()
    (CHECKOUT / "runs" / "drills.md").write_text(f"{table}\n")
    print(f"\n{table}")


@pytest.fixture
def drill(readers: Readers) -> Callable[..., Drill]:
    """Runs a drill that must leave no wrong byte."""

    def run(fault: str, happen: Callable[[], None], limit: float = 300) -> Drill:
        done = readers.drill(fault, happen, started, limit)
        assert done.wrong == 0
        assert done.reads > 0
        return done

    return run


def started() -> dict[str, str]:
    """When each service was started."""
    how = "{{.State.StartedAt}}"
    return {name: podman("inspect", "--format", how, f"{NAME}-{name}").strip() for name in SERVICES}


def java(name: str) -> int:
    """The JVM of a service."""
    lines = podman("top", f"{NAME}-{name}", "hpid", "comm").splitlines()
    return next(int(line.split()[0]) for line in lines if line.split()[1] == "java")


def status(variables: dict[str, Any]) -> Run:
    return playbook("playbooks/status.yml", **variables)


def test_status_of_what_serves(deployed: None, variables: dict[str, Any]) -> None:
    begun = time.monotonic()
    run = succeed(status(variables))
    assert time.monotonic() - begun < 10
    assert "5 of 5 as planned" in run.output
    assert "FAILING" not in run.output
    assert run.changed == 0


def test_drift_of_what_is_as_planned(deployed: None, variables: dict[str, Any]) -> None:
    run = succeed(playbook("playbooks/drift.yml", "--check", "--diff", **variables))
    assert "drift    none" in run.output
    assert run.changed == 0


def test_drift_names_what_somebody_changed_and_leaves_it(deployed: None, variables: dict[str, Any]) -> None:
    site_file = Path(f"/var/lib/{NAME}/conf/{NAME}-fuse-bucket/alluxio-site.properties")
    was, began = site_file.read_text(), started()
    site_file.write_text(f"{was}alluxio.debug=true\n")
    try:
        run = playbook("playbooks/drift.yml", "--check", "--diff", **variables)
        assert run.status == 2
        assert f"{site_file} another content the planned one" in " ".join(run.output.split())
        assert site_file.read_text() == f"{was}alluxio.debug=true\n"
        assert started() == began
    finally:
        site_file.write_text(was)


def test_a_diagnosis_holds_what_is_needed_and_no_key(
    deployed: None, store: RestartableStore, variables: dict[str, Any], tmp_path: Path
) -> None:
    """One line that tells a key is planted in a log."""
    podman("exec", f"{NAME}-worker", "sh", "-c", f"echo 'planted s3a.secretKey={store.about.secret_key}' >/proc/1/fd/1")
    run = succeed(playbook("playbooks/diagnose.yml", "-e", f"diagnose_dir={tmp_path}", **variables))
    bundle = tmp_path / "diagnosis.tar.gz"
    assert f"diagnosis  {bundle}" in run.output
    assert bundle.stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as archive:
        files = {one.name.partition("/")[2]: archive.extractfile(one).read().decode() for one in archive}
    index = json.loads(files["index.json"])
    assert {one["path"] for one in index["parts"]} == files.keys() - {"index.json"}
    assert not [one for one in index["missing"] if not one["path"].endswith(("dmesg.txt", "memory", "io"))]
    assert "planted s3a.secretKey=[redacted]" in files[f"nodes/localhost/{NAME}-worker/log.txt"]
    assert "alluxio.worker.web.port=" in files[f"nodes/localhost/{NAME}-worker/alluxio-site.properties"]
    commands = [one["command"] for one in json.loads(files["nodes/localhost/processes.json"])]
    assert ["alluxio.image.Start", "worker"] in [command[-2:] for command in commands]
    assert "5 of 5 as planned" in files["status.txt"]
    assert json.loads(files["nodes/localhost/fuse-bucket-metrics.json"])
    assert any(name.startswith("services/master-") and name.endswith("-report.json") for name in files)
    keys = (store.about.access_key, store.about.secret_key)
    assert not [name for name, text in {**files, "output": run.output}.items() if any(key in text for key in keys)]


def test_fuse_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("FUSE killed -9", lambda: kill(f"{NAME}-fuse-bucket"))
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]


def test_a_hung_fuse_is_told_and_let_go(drill: Callable[..., Drill], variables: dict[str, Any], tmp_path: Path) -> None:
    """Stopped, it answers nothing: status tells without hanging itself, and unstick ends the waiting."""

    def hang() -> None:
        os.kill(java("fuse-bucket"), signal.SIGSTOP)
        time.sleep(2)
        begun = time.monotonic()
        run = status(variables)
        assert time.monotonic() - begun < 15
        assert run.status == 2
        assert "FUSE process on localhost, bucket: the FUSE process is there and does not answer" in run.output
        run = succeed(playbook("playbooks/diagnose.yml", "-e", f"diagnose_dir={tmp_path}", **variables))
        assert "not in it  nodes/localhost/fuse-bucket-metrics.json" in run.output
        run = succeed(playbook("playbooks/unstick.yml", "-e", "alluxio_unstick=bucket", **variables))
        assert "requests waited; files were open in" in run.output

    done = drill("FUSE hung, unstuck", hang, 300)
    assert done.restarted == ["fuse-bucket"]


def test_unstick_refuses_what_it_does_not_know(deployed: None, variables: dict[str, Any]) -> None:
    run = playbook("playbooks/unstick.yml", "-e", "alluxio_unstick=nothing", **variables)
    assert run.status != 0
    assert "localhost mounts bucket" in " ".join(run.output.split())


def test_the_worker_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("worker killed -9", lambda: kill(f"{NAME}-worker"))
    assert done.restarted == ["worker"]


def test_the_master_is_killed(drill: Callable[..., Drill]) -> None:
    done = drill("master killed -9", lambda: kill(f"{NAME}-master"))
    assert done.restarted == ["master"]


def test_the_master_is_away_for_a_minute(drill: Callable[..., Drill], variables: dict[str, Any]) -> None:
    def away() -> None:
        podman("stop", "--time", "5", f"{NAME}-master")
        run = status(variables)
        assert run.status == 2
        assert "FAILING  master:" in run.output
        time.sleep(50)
        podman("start", f"{NAME}-master")

    done = drill("master away for a minute", away, 300)
    assert done.restarted == ["master"]


@pytest.mark.parametrize(("what", "status_code"), [("answers 503", 503), ("refuses the key (403)", 403)])
def test_the_under_store_answers_errors(
    drill: Callable[..., Drill], store: RestartableStore, what: str, status_code: int
) -> None:
    def refuse() -> None:
        store.stop()
        with answering(status_code, store.about):
            time.sleep(20)
        store.start()

    done = drill(f"under store {what} for 20 s", refuse, 300)
    assert done.restarted == []


def test_the_under_store_is_away(drill: Callable[..., Drill], store: RestartableStore) -> None:
    def away() -> None:
        store.stop()
        time.sleep(20)
        store.start()

    done = drill("under store away for 20 s", away, 300)
    assert done.restarted == []


def test_teardown_takes_nothing_from_readers(readers: Readers, variables: dict[str, Any]) -> None:
    was = started()
    run = playbook("playbooks/teardown.yml", **{**variables, "alluxio_confirm": "production"})
    assert f"say -e alluxio_confirm={NAME}" in " ".join(run.output.split())
    run = playbook("playbooks/teardown.yml", **variables)
    assert run.status != 0
    assert re.search(rf"/mnt/{NAME} is read by python\d* \(", " ".join(run.output.split()))
    assert started() == was


@pytest.mark.upkeep
def test_fuse_is_killed_for_memory(drill: Callable[..., Drill]) -> None:
    """Something else in its container takes all memory; the kernel is told that FUSE is to be ended for it."""

    def exhaust() -> None:
        Path(f"/proc/{java('fuse-bucket')}/oom_score_adj").write_text("1000")
        subprocess.run(["podman", "exec", f"{NAME}-fuse-bucket", "tail", "/dev/zero"], check=False, capture_output=True)

    done = drill("FUSE killed for memory", exhaust)
    (CHECKOUT / "playbooks/oom").unlink(missing_ok=True)  # conmon tells of it where the playbook has started it
    assert "ENOTCONN" in done.saw
    assert done.restarted == ["fuse-bucket"]


@pytest.mark.upkeep
def test_a_full_worker_disk_stops_nobody(drill: Callable[..., Drill], variables: dict[str, Any]) -> None:
    """A worker that has room for the whole set caches what it reads; now it cannot."""
    variables["alluxio_overrides"] = {"fuse.client_cache_size": "16Mi"}
    forced = {**variables, "alluxio_under_readers": True}
    drill("workers get room for the set", lambda: succeed(stages("plan", "nodes", "services", **forced)))
    plan = json.loads((CHECKOUT / f"runs/plan-{NAME}.json").read_text())
    filler = Path(plan["nodes"]["localhost"]["worker"]["tiers"]["amount"][0]["path"]) / "filler"

    def full() -> None:
        podman("exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs", "free", "-f", "/bucket")
        until = time.monotonic() + 20
        with filler.open("ab", buffering=0) as file:
            while time.monotonic() < until:  # the worker frees blocks meanwhile
                try:
                    file.write(bytes(1 << 20))
                except OSError:
                    time.sleep(0.1)
        assert os.statvfs(filler.parent).f_bavail << 12 < 1 << 20
        filler.unlink()

    done = drill("worker disk full for 20 s", full)
    assert done.restarted == []
    assert done.saw in ("waited", "nothing")


@pytest.mark.upkeep
def test_another_bucket_within_the_room_comes_and_goes(
    drill: Callable[..., Drill], store: RestartableStore, variables: dict[str, Any]
) -> None:
    """With a key of its own; first in the list, where it moves the other one."""
    access_key, secret_key = store.about.next_key
    store.about.client().put_object(Bucket="training", Key="second/file", Body=b"second" * 50_000)
    variables["alluxio_room"] = {"datasets": 2, "files": 4000, "bytes": "1Gi"}
    (first,) = variables["alluxio_datasets"]
    both = variables | {
        "alluxio_datasets": [first | {"name": "another", "source": "s3://training/second"}, first],
        "alluxio_credentials": variables["alluxio_credentials"]
        | {"another": {"access_key": access_key, "secret_key": secret_key}},
    }
    drill("room for another dataset", lambda: succeed(stages("plan", "nodes", "services", **variables)))
    added = drill("a bucket within the room added", lambda: succeed(stages("plan", "nodes", "services", **both)))
    assert Path(f"/mnt/{NAME}/another/data/file").read_bytes() == b"second" * 50_000
    assert "behind" not in status(both).output
    removed = drill("and removed", lambda: succeed(stages("plan", "nodes", "services", **variables)))
    assert added.restarted == removed.restarted == []
    assert {added.saw, removed.saw} <= {"waited", "nothing"}


@pytest.mark.upkeep
def test_a_key_is_replaced(drill: Callable[..., Drill], store: RestartableStore, variables: dict[str, Any]) -> None:
    """While both are good; then the former may go."""
    former, (access_key, secret_key) = store.about.access_key, store.about.next_key
    variables["alluxio_credentials"] = {"bucket": {"access_key": access_key, "secret_key": secret_key}}
    done = drill("S3 key replaced", lambda: succeed(playbook("playbooks/services.yml", **variables)))
    assert done.restarted == []
    assert done.saw in ("waited", "nothing")
    assert playbook("playbooks/services.yml", **variables).changed == 0
    done = drill("the former key revoked", lambda: store.revoke(former))
    assert done.restarted == []
    assert done.saw in ("waited", "nothing")


@pytest.mark.upkeep
def test_an_upgrade_keeps_a_backup_and_leaves_fuse_to_its_readers_and_a_restore_empties_caches(
    drill: Callable[..., Drill], store: RestartableStore, variables: dict[str, Any], another_image: str
) -> None:
    variables["alluxio_image"] = another_image
    told: list[str] = []

    def upgrade() -> None:
        told.append(succeed(playbook("playbooks/services.yml", **variables)).output)
        told.append(succeed(playbook("playbooks/services.yml", "--check", **variables)).output)

    succeed(playbook("playbooks/plan.yml", **variables))
    was = started()
    foretold = succeed(playbook("playbooks/services.yml", "--check", **variables)).output
    assert started() == was
    for name in ("master", "job-master", "worker", "job-worker"):
        assert f"would be started again  {NAME}-{name} on localhost\n" in foretold
    assert re.search(rf"waits for its readers   {NAME}-fuse-bucket on localhost: read by \d: python\d* \(", foretold)

    done = drill("another image", upgrade)
    assert done.restarted == ["job-master", "job-worker", "master", "worker"]
    assert done.saw in ("waited", "nothing")
    assert re.search(rf"{NAME}-fuse-bucket stays as it was planned before, read by python\d* \(", told[0])
    assert f"waits for its readers   {NAME}-fuse-bucket" in told[1]
    assert f"would be started again  {NAME}-" not in told[1]
    (backup,) = re.findall(r"^backup +(/\S+/journal.gz)$", told[0], re.MULTILINE)
    assert Path(backup).stat().st_mode & 0o777 == 0o600

    assert late(store, "one") == b"one" * 50_000
    confirmed = {**variables, "alluxio_restore": backup}
    done = drill("the journal restored", lambda: succeed(playbook("playbooks/restore.yml", **confirmed)))
    assert done.restarted == sorted(SERVICES)
    assert late(store, "two") == b"two" * 50_000
    for name in ("worker", "fuse-bucket"):
        assert "it was not cached from cluster" in podman("logs", f"{NAME}-{name}")
    assert len([*Path(f"/var/lib/{NAME}").glob("journal-*")]) == 1


@pytest.mark.upkeep
def test_a_backup_that_is_not_whole_is_not_restored(deployed: None, variables: dict[str, Any], tmp_path: Path) -> None:
    run = succeed(playbook("playbooks/backup.yml", "-e", f"backup_dir={tmp_path}", **variables))
    assert "read back and whole" in run.output
    assert run.changed == 0
    whole, was = tmp_path / "journal.gz", started()
    refused = playbook("playbooks/restore.yml", "--check", **variables, alluxio_restore=str(whole))
    assert "without --limit and --check" in " ".join(refused.output.split())
    assert started() == was
    whole.write_bytes(whole.read_bytes()[:-20])
    run = playbook("playbooks/restore.yml", **variables, alluxio_restore=str(whole))
    assert run.status != 0
    assert "is no whole backup" in run.output
    assert started() == was


def late(store: RestartableStore, name: str) -> bytes:
    """A file that comes to the source now, as the mount shows it."""
    body = name.encode() * 50_000
    store.about.client().put_object(Bucket="training", Key=f"set/late/{name}", Body=body)
    return (MOUNT_POINT / "late" / name).read_bytes()


@contextmanager
def answering(code: int, about: ObjectStore) -> Iterator[None]:
    """In the store's place, a server that says no to everything."""

    server = refusing("127.0.0.1", HTTPS_PORT, code, about.ca_file.parent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
