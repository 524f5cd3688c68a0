"""The main job on an nfs:// source: a real server, and the real client of Debian's kernel, in a guest.

FUSE runs on the guest itself and reads the mounted export (platform host).
"""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import Run, judged, succeed
from guest import SERVER, Guest, differences, guest
from nfs_server import NfsServer, nfs_server

NAME = "alluxio-fuse"
DATA = f"/mnt/{NAME}/set/data"
MOUNTED = f"/var/lib/{NAME}/nfs/{SERVER}+set"
FILES = {f"n{n % 3}/{n} of 40.JPEG": 1 + 1663 * n for n in range(40)} | {"large": 20_000_000}
LIMIT_S = 1200  # what would wait for the server waits for ever
#: Packages stay, and with them what their scripts have made: users, links, and rpcbind, which runs. sshd: who looks.
OF_NFS_COMMON = re.compile(
    r"files: /etc/(idmapd\.conf|nfs\.conf|passwd-?|shadow-?|systemd/system/remote-fs\.target\.wants): "
    r"|files: /etc/rc[0-6S]\.d/[KS]\d\d(nfs-common|rpcbind): |files: /run/(rpcbind(\.lock|\.sock)?|sm-notify\.pid): "
    r"|mounts: /run/rpc_pipefs: |processes: (\(udev-worker\)|rpcbind|sshd): "
    r"|units: (auth-rpcgss-module|gssproxy|nfs-[a-z]+|nss-lookup|remote-fs-pre|rpc[a-z_-]*)\.(service|socket|target): "
)


def made(name: str) -> bytes:
    """The content of a file: the same each time, and unlike any other's."""
    return random.Random(name).randbytes(FILES[name])


def source(export: str = "set", **said: Any) -> dict[str, Any]:
    dataset = {"name": "set", "source": f"nfs://{SERVER}/{export}", "through": "under_store"}
    return {"alluxio_datasets": [dataset | said]}


@pytest.fixture(scope="module")
def server() -> Iterator[NfsServer]:
    with leftovers.folder(Path("/var/lib/alluxio-fuse-test-nfs")) as root:
        for name in FILES:
            (root / "exports/set" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / "exports/set" / name).write_bytes(made(name))
        for name, mode in (("closed", 0o600), ("empty", None)):
            (root / "exports" / name).mkdir()
            if mode:
                (root / "exports" / name / "a").write_bytes(b"a")
                (root / "exports" / name / "a").chmod(mode)
        with nfs_server(root, squashed=frozenset({"set", "closed"})) as serving:
            yield serving


@pytest.fixture(scope="module")
def node(server: NfsServer) -> Iterator[Guest]:
    with leftovers.folder(Path("/var/lib/alluxio-fuse-test-guest")) as folder, guest(folder) as running:
        yield running


@pytest.fixture(scope="module")
def before(node: Guest) -> Path:
    """The guest as it was."""
    return node.snapshot(node.folder / "before.json")


@pytest.fixture(scope="module")
def first(node: Guest, before: Path) -> Run:
    return judged(node.play("site.yml", **source()))


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize(
    ("export", "reason"),
    [
        ("none", f"missing on guest: {SERVER}:/none: the server exports no such path (vers=4.1)"),
        ("closed", f"denied on guest: uid 0 may not read {SERVER}:/closed/a"),
        ("empty", f"empty on guest: no file below {SERVER}:/empty"),
    ],
)
def test_an_export_that_cannot_be_read_is_refused(node: Guest, export: str, reason: str) -> None:
    refused = node.play("playbooks/preflight.yml", **source(export))
    assert refused.status != 0
    assert reason in refused.output.replace("\n", " ")
    assert MOUNTED not in node.said("findmnt --list --noheadings --output TARGET")


@pytest.mark.usefixtures("before")
def test_a_server_that_nobody_knows_or_that_is_away_is_refused(node: Guest, server: NfsServer) -> None:
    unknown = node.play("playbooks/preflight.yml", **source() | source(source="nfs://no.such.host.invalid/set"))
    assert "unreachable on guest: no.such.host.invalid" in unknown.output
    server.stop()
    try:
        away = node.play("playbooks/preflight.yml", limit=LIMIT_S, **source())
        assert f"unreachable on guest: {SERVER}:/set" in away.output
        assert node.waiting() == []
    finally:
        server.start()


def test_every_byte(node: Guest, first: Run) -> None:
    assert first.changed > 0
    assert node.digests(DATA) == {name: hashlib.sha256(made(name)).hexdigest() for name in FILES}


def test_it_is_mounted_as_planned_and_read_only(node: Guest, first: Run) -> None:
    options = node.said(f"findmnt --noheadings --output OPTIONS {MOUNTED}").split(",")
    assert {"ro", "vers=4.1", "hard", "nconnect=8", "nocto", "proto=tcp"} <= set(options)
    assert "Read-only file system" in node.ran(f"touch {MOUNTED}/new").stderr


def test_a_second_run_changes_nothing(node: Guest, first: Run) -> None:
    assert judged(node.play("site.yml", **source())).changed == 0


def test_boot_wants_it_and_fuse_brings_it(node: Guest, first: Run) -> None:
    unit = node.said(f"systemd-escape --path --suffix=mount {MOUNTED}")
    assert node.said(f"systemctl is-enabled '{unit}'") == "enabled"
    node.said(f"systemctl stop {NAME}-fuse-set.service '{unit}'")
    assert node.ran(f"ls {MOUNTED}").stdout == ""
    node.said(f"systemctl start {NAME}-fuse-set.service")  # which wants the mount
    assert "n0" in node.said(f"ls {MOUNTED}")


def test_reads_wait_while_the_server_is_away_and_go_on(node: Guest, server: NfsServer, first: Run) -> None:
    node.said(f"systemctl restart {NAME}-fuse-set.service && echo 3 > /proc/sys/vm/drop_caches")
    server.stop()
    reader = subprocess.Popen([*node.reach, f"sha256sum {DATA}/large"], stdout=subprocess.PIPE)
    try:
        status = node.play("playbooks/status.yml", limit=LIMIT_S, **source())
        assert status.status != 0
        assert f"source on guest, set: {SERVER}:/set has not answered within 3 s" in status.output.replace("\n", " ")
        assert reader.poll() is None
    finally:
        server.start()
    said, _ = reader.communicate(timeout=LIMIT_S)
    assert said.decode().split()[0] == hashlib.sha256(made("large")).hexdigest()
    succeed(node.play("playbooks/status.yml", **source()))


def test_another_export_takes_its_place(node: Guest, server: NfsServer, first: Run) -> None:
    other = server.root / "exports/set/n1"
    judged(node.play("site.yml", **source("set/n1")))
    assert node.digests(DATA) == {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in other.iterdir()}
    mounts = node.said("findmnt --list --noheadings --types nfs4 --output TARGET").split()
    assert mounts == [f"{MOUNTED}+n1"]


def test_teardown_ends_while_the_server_is_away_and_leaves_nothing(
    node: Guest, server: NfsServer, before: Path, first: Run
) -> None:
    server.stop()
    try:
        succeed(node.play("playbooks/teardown.yml", limit=LIMIT_S, **source("set/n1")))
        assert node.waiting() == []
        unlike = differences(before, node.snapshot(node.folder / "after.json")).splitlines()
        assert [line for line in unlike if not OF_NFS_COMMON.match(line)] == []
    finally:
        server.start()
