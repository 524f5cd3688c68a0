"""The main job with keys that controller and services find: session tokens in a profile, by the credential chain.

The tokens are verified by a stand-in for AWS before a real store, tests/lab/aws_stand_in.py.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from aws_stand_in import Lent, aws_stand_in
from bundle import C1_ALONE, CHECKOUT, Run, judged, latest, playbook
from object_store import ObjectStore, own_address

NAME = "found"
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-bucket")
MOUNT = Path(f"/mnt/{NAME}/bucket/data")


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def dataset(directory: Path, store: ObjectStore) -> dict[str, Any]:
    (made,) = trees.upload(directory, store)["alluxio_datasets"]
    return dict(made)


@pytest.fixture(scope="module")
def profile(directory: Path) -> Iterator[Path]:
    """Where the profile is, for controller and services; nothing else is found on this machine."""
    with leftovers.folder(Path("/var/lib/found-keys")) as folder, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
        yield folder / "credentials"


def write(profile: Path, lent: Lent) -> None:
    name, key = lent.lend()
    text = f"aws_access_key_id={name}\naws_secret_access_key={key.secret}\naws_session_token={key.token}\n"
    profile.touch(mode=0o400)
    profile.write_text(f"[default]\n{text}")
    os.chown(profile, 1000, 1000)


@pytest.fixture(scope="module")
def lent(store: ObjectStore, dataset: dict[str, Any], profile: Path) -> Lent:
    made = Lent(store)
    write(profile, made)
    return made


@pytest.fixture(scope="module")
def variables(lent: Lent, dataset: dict[str, Any], profile: Path) -> Iterator[dict[str, Any]]:
    with aws_stand_in(lent, own_address()) as endpoint:
        s3 = {"endpoint": endpoint, "region": "us-east-1", "path_style": True, "credential_chain": True}
        yield {
            "alluxio_name": NAME,
            "alluxio_environment": NAME,
            "alluxio_port_offset": 2800,
            "alluxio_datasets": [{**dataset, "s3": s3}],
            "alluxio_aws": {"profile_file": str(profile)},
            "alluxio_gate_min_disk_ratio": 0.01,
            "alluxio_check_passes": 1,
            **C1_ALONE,
        }


def test_every_byte(first: Run, directory: Path, lent: Lent) -> None:
    assert trees.digests(MOUNT) == trees.digests(directory)
    assert trees.of_another_time(NAME, "bucket") == []
    (bucket,) = latest("check")["datasets"]
    assert bucket["wrong"] == 0
    assert bucket["digested"] >= bucket["files"] == len(trees.FILES)
    assert lent.taken("s3")


def test_preflight_and_manifest_say_where_the_keys_come_from(first: Run, profile: Path) -> None:
    assert f"the controller reads with keys from profile default in {profile}" in first.output
    assert f"bucket: the manifest was read with keys from profile default in {profile}" in first.output


def test_the_second_run_changes_nothing(first: Run, variables: dict[str, Any]) -> None:
    run = judged(playbook("site.yml", **variables))
    assert (run.changed, run.tasks("changed")) == (0, [])


def test_a_profile_that_services_cannot_read_is_refused(first: Run, variables: dict[str, Any], profile: Path) -> None:
    os.chown(profile, 0, 0)
    try:
        run = playbook("playbooks/preflight.yml", **variables)
    finally:
        os.chown(profile, 1000, 1000)
    assert run.status != 0
    assert f"localhost: {profile}: not readable by uid 1000" in run.output


def test_a_controller_that_finds_nothing_is_told_where_it_looked(
    first: Run, variables: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    run = playbook("playbooks/preflight.yml", **variables)
    assert run.status != 0
    assert "alluxio_datasets[0].s3.credential_chain: true" in run.output
    assert "in profile default of /nonexistent and ~/.aws/config" in " ".join(run.output.split())


def test_no_key_is_anywhere(first: Run, lent: Lent, profile: Path) -> None:
    """Not even in the journal, which holds those that are handed to a master."""
    told = [first.output]
    for command in (
        ["ps", "-eww", "-o", "args"],
        *(["podman", verb, f"{NAME}-{service}"] for verb in ("inspect", "logs") for service in SERVICES),
        ["podman", "exec", f"{NAME}-master", "/opt/alluxio/bin/alluxio", "fs", "mount"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told += [done.stdout, done.stderr]
    files = [path for root in (CHECKOUT / "runs", Path(f"/var/lib/{NAME}")) for path in root.rglob("*")]
    told += [path.read_text(errors="replace") for path in files if path.is_file()]
    for text in told:
        for canary in (*lent.canaries(), *lent.keys):
            assert canary not in text, text[max(0, text.find(canary) - 300) : text.find(canary)]
    assert any(canary in profile.read_text() for canary in lent.canaries())
