"""The main job on this machine: a folder and an S3 bucket behind a private CA, in real Alluxio, every byte compared."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import packages
import pytest
import snapshot
import trees
from bundle import (
    C1_ALONE,
    CHECKOUT,
    Run,
    engine_options,
    judged,
    kill,
    latest,
    main_pid,
    playbook,
    podman,
    succeed,
    until,
)
from known_lies import told
from object_store import ObjectStore
from planted import Planted

NAME = "sources"
SERVICES = ("master", "job-master", "worker", "job-worker", "fuse-own", "fuse-bucket")
MOUNTS = {name: Path(f"/mnt/{NAME}/{name}/data") for name in ("own", "bucket")}


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def variables(store: ObjectStore, directory: Path) -> dict[str, Any]:
    bucket = trees.upload(directory, store)
    own = {"name": "own", "source": f"file://{directory}"}
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 1500,
        **bucket,
        "alluxio_datasets": [own, *bucket["alluxio_datasets"]],
        "alluxio_gate_min_disk_ratio": 0.01,
        "alluxio_check_passes": 3,
        **C1_ALONE,
    }


@pytest.fixture(scope="module")
def before(variables: dict[str, Any]) -> snapshot.Snapshot:
    """The machine before the first run. The image is there, with the packages that building it brought."""
    packages.need("fio")  # lies are measured with it
    leftovers.remove_deployment(variables)
    succeed(playbook("playbooks/image.yml"))
    return snapshot.take()


@pytest.fixture(scope="module")
def first(variables: dict[str, Any], before: snapshot.Snapshot) -> Iterator[Run]:
    """The first run of the whole job, as talkative as it can be."""
    with leftovers.deployment(variables):
        yield judged(playbook("site.yml", "-vvv", **variables))


def started(name: str) -> str:
    return podman("inspect", "--format", "{{.State.StartedAt}} {{.RestartCount}}", f"{NAME}-{name}").strip()


def alluxio(*arguments: str, user: str | None = None) -> subprocess.CompletedProcess[str]:
    """The CLI in the master's container, as any user name that it cares to call itself."""
    options = ["-e", f"ALLUXIO_USER_JAVA_OPTS=-Dalluxio.security.login.username={user}"] if user else []
    command = ["podman", "exec", *options, f"{NAME}-master", "/opt/alluxio/bin/alluxio", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_byte_of_both(first: Run, directory: Path) -> None:
    wanted = trees.digests(directory)
    assert len(wanted) == len(trees.FILES)
    for point in MOUNTS.values():
        assert trees.digests(point) == wanted


def test_every_cache_state_is_established(first: Run) -> None:
    """A busy machine may leave speed undecided, and says so."""
    check = latest("check")
    assert check["verdict"] in ("PASS", "CANNOT TELL"), check["reasons"]
    assert f"verdict  {check['verdict']}" in first.output
    assert {dataset["name"] for dataset in check["datasets"]} == MOUNTS.keys()
    for dataset in check["datasets"]:
        assert dataset["wrong"] == 0
        assert dataset["digested"] >= dataset["files"] == len(trees.FILES)
        rows = [row for row in dataset["rows"] if row["path"] == "mount"]
        assert {row["state"] for row in rows} >= {"cold", "worker", "client-cache", "page-cache"}
        assert [row["why"] for row in rows if not row["established"]] == []


def test_listens_on_loopback_only(first: Run) -> None:
    listeners = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    ours = [line.split()[3] for line in listeners.splitlines() if '"java"' in line]
    assert len(ours) >= 8
    assert [address for address in ours if not address.startswith(("127.0.0.1:", "[::ffff:127.0.0.1]:"))] == []


def test_least_privilege(first: Run) -> None:
    for service in SERVICES:
        inspected: dict[str, Any] = json.loads(podman("inspect", f"{NAME}-{service}"))[0]
        fuse = service.startswith("fuse")
        assert (inspected["EffectiveCaps"] or []) == (["CAP_SYS_ADMIN"] if fuse else [])
        assert inspected["HostConfig"]["Privileged"] is False
        assert inspected["HostConfig"]["ReadonlyRootfs"] is True
        assert inspected["Config"]["User"] == ("0:0" if fuse else "1000:1000")


def test_a_wrong_key_is_refused(first: Run, variables: dict[str, Any]) -> None:
    wrong = {"bucket": {"access_key": "nobody", "secret_key": "nothing"}}
    run = playbook("playbooks/preflight.yml", **{**variables, "alluxio_credentials": wrong})
    assert run.status != 0
    assert "denied" in run.output
    assert "s3://training/set" in run.output


def test_the_key_is_nowhere(first: Run, store: ObjectStore) -> None:
    """But in the journal, whose folder is its service's alone."""
    password = Path(f"/var/lib/{NAME}/conf/rpc-password").read_text()
    canaries = (store.access_key, store.secret_key, password)
    ours = [f"{NAME}-{service}" for service in SERVICES]
    told = [first.output]
    for command in (
        ["ps", "-eww", "-o", "args"],
        *(["podman", "inspect", name] for name in ours),
        *(["podman", "logs", name] for name in ours),
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        told += [done.stdout, done.stderr]
    told += [path.read_text(errors="replace") for path in (CHECKOUT / "runs").rglob("*") if path.is_file()]
    for text in told:
        for canary in canaries:
            assert canary not in text, text[max(0, text.find(canary) - 300) : text.find(canary)]
    state_dir, journal = Path(f"/var/lib/{NAME}"), Path(f"/var/lib/{NAME}/journal")
    files = [path for path in state_dir.rglob("*") if path.is_file()]
    holders = [path for path in files if any(canary.encode() in path.read_bytes() for canary in canaries[:2])]
    assert holders
    assert [path for path in holders if not path.is_relative_to(journal)] == []
    assert journal.stat().st_mode & 0o777 == 0o700
    known = [path for path in files if password.encode() in path.read_bytes()]
    assert {path.name for path in known} == {"rpc-password"}
    assert {path.stat().st_mode & 0o777 for path in known} == {0o400}


@pytest.mark.parametrize("user", ["nobody", "alluxio"])
def test_a_local_user_is_told_nothing_by_rpc_ports(first: Run, variables: dict[str, Any], user: str) -> None:
    """Alluxio believes the name that a client gives, and tells the keys of a mount to any client."""
    offset = variables["alluxio_port_offset"]
    said = {
        "alluxio.master.hostname": "127.0.0.1",
        "alluxio.master.rpc.port": 19998 + offset,
        "alluxio.job.master.hostname": "127.0.0.1",
        "alluxio.job.master.rpc.port": 20001 + offset,
        "alluxio.security.login.username": user,
        "alluxio.user.rpc.retry.max.duration": "2s",
    }
    options = " ".join(f"-D{key}={amount}" for key, amount in said.items())
    image = podman("inspect", "--format", "{{.ImageName}}", f"{NAME}-master").strip()
    client = ["run", "--rm", "--network=host", "--user=65534:65534", "--cap-drop=all", *engine_options()]
    for arguments in (["fs", "mount"], ["fsadmin", "report"], ["job", "ls"]):
        command = ["podman", *client, f"--env=ALLUXIO_JAVA_OPTS={options}", "--entrypoint=alluxio", image, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        answer = done.stdout + done.stderr
        assert done.returncode != 0, answer
        assert "this deployment's password was not given" in answer, answer
        assert "/bucket" not in answer


def test_a_local_user_is_told_no_names_and_contents_by_the_web_port(first: Run, variables: dict[str, Any]) -> None:
    port, name = 19999 + variables["alluxio_port_offset"], sorted(path.name for path in MOUNTS["bucket"].iterdir())[0]
    for path in ("/", "/bucket", f"/bucket/{name}"):
        url = f"http://127.0.0.1:{port}/api/v1/master/webui_browse?path={path}&offset=0&limit=20"
        with urllib.request.urlopen(url, timeout=60) as answer:
            told = json.load(answer)
        assert (told["fileInfos"], told["currentDirectory"], told["fileData"]) == (None, None, None)


@pytest.mark.parametrize("user", [None, "root", "alluxio", "nobody"])
def test_sources_cannot_be_changed_through_alluxio(
    first: Run, store: ObjectStore, directory: Path, user: str | None
) -> None:
    """By no user name, Alluxio's admin included, which may even mount a source once more."""

    def state() -> list[tuple[Any, ...]]:
        pages = store.client().get_paginator("list_objects_v2").paginate(Bucket=trees.BUCKET)
        objects = [(one["Key"], one["Size"], one["ETag"]) for page in pages for one in page["Contents"]]
        paths = [(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in directory.rglob("*")]
        return sorted(objects) + sorted(paths)

    was = state()
    for name, source in (("own", str(directory)), ("bucket", f"s3://{trees.BUCKET}/{trees.PREFIX}")):
        assert alluxio("fs", "rm", "-R", f"/{name}", user=user).returncode != 0
        alluxio("fs", "mount", "/again", source, user=user)
        alluxio("fs", "copyFromLocal", "/etc/hostname", f"/{name}/hostname", user=user)
        alluxio("fs", "copyFromLocal", "/etc/hostname", "/again/hostname", user=user)
        alluxio("fs", "rm", "-R", "/again", user=user)
        alluxio("fs", "unmount", "/again")
        with pytest.raises(OSError, match="Read-only file system"):
            (MOUNTS[name] / "new").touch()
    assert state() == was


def test_a_second_run_changes_nothing(first: Run, variables: dict[str, Any]) -> None:
    was = {service: started(service) for service in SERVICES}
    again = judged(playbook("site.yml", **variables))
    assert again.changed == 0, again.tasks("changed")
    assert {service: started(service) for service in SERVICES} == was


@pytest.mark.parametrize(
    "lie",
    [
        "truncated file",
        "wrong bytes",
        "mount missing, an empty folder below",
        "wrong mount",
        "page cache left warm",
        "a gate edited down",
    ],
)
def test_a_lie_does_not_pass(first: Run, lie: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A handful; `make test-lies` plants them all."""
    told(lie, Planted(NAME, "own", tmp_path), monkeypatch)


def test_a_killed_fuse_comes_back(first: Run, directory: Path) -> None:
    fuse, name = f"{NAME}-fuse-own", "class-0/0000.bin"
    was = main_pid(fuse)
    kill(fuse)
    until(f"another {fuse}", lambda: main_pid(fuse) not in (0, was))
    # A dead mount may hang, so another process asks.
    shown = ["timeout", "5", "cmp", str(directory / name), str(MOUNTS["own"] / name)]
    until("the file", lambda: subprocess.run(shown, capture_output=True, check=True))


def test_teardown_leaves_the_machine_as_it_was(
    first: Run, variables: dict[str, Any], before: snapshot.Snapshot
) -> None:
    succeed(playbook("playbooks/teardown.yml", **variables))
    assert snapshot.changes(before) == []
    assert not os.path.lexists(f"/mnt/{NAME}")
    assert succeed(playbook("playbooks/teardown.yml", **variables)).changed == 0
