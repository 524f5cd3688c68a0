"""Upkeep while others read, on this machine: keys, buckets, images, backups. What readers saw, and no byte wrong."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bundle import CHECKOUT, playbook, podman, stages, succeed
from drilled import MOUNT_POINT, NAME, SERVICES, started, status
from object_store import RestartableStore
from readers import Drill


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
