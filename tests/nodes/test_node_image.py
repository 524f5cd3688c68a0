"""Role node_image imports an image into a real containerd where it is missing, by its digest, and removes no other."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from bundle import until

CHECKOUT = Path(__file__).parents[2]
NODE = "alluxio-fuse-test-node-image"
RECORD = "/var/lib/alluxio-fuse/owned.json"
REPOSITORY = "registry.example.com/data/alluxio-fuse"
BUILT = "localhost/alluxio-fuse-test-node-image:1"
#: Their tag of the image, which is to stay what it is.
THEIRS = f"{REPOSITORY}:2.9.6"
ROLE = {"name": "image", "apply": {"delegate_to": "localhost", "vars": {"ansible_connection": "local"}}}
PLAY = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"ansible.builtin.include_role": ROLE},
            {
                "ansible.builtin.include_role": {"name": "node_image", "tasks_from": "{{ entry }}"},
                "vars": {
                    "node_image_reference": f"{{{{ '{REPOSITORY}' | alluxio.fuse.pinned(image_delivered)"
                    " if image_delivered else '' }}",
                    "node_image_archive": "{{ archive | default(image_packed) }}",
                },
            },
        ],
    }
]
UNDONE = {"role": "undo", "undo_name": "alluxio-fuse", "undo_state_dir": "/var/lib/alluxio-fuse"}
UNDO = [{"hosts": "all", "gather_facts": False, "roles": [UNDONE]}]
CONTAINERD = "apt-get install -qy --no-install-recommends containerd runc >/dev/null && systemctl start containerd"


def inside(command: str) -> str:
    """What a command says on the node; it must succeed."""
    done = subprocess.run(["podman", "exec", NODE, "sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def images() -> dict[str, str]:
    """What containerd has for Kubernetes: digests by name, but for names that it makes of ids after a while."""
    rows = [line.split() for line in inside("ctr --namespace k8s.io images list").splitlines()[1:]]
    return {row[0]: row[2] for row in rows if not row[0].startswith("sha256:")}


def kubelet_finds(name: str) -> bool:
    """Whether the runtime interface, which the kubelet asks before it pulls, has the image."""
    process = subprocess.run(
        ["podman", "inspect", "--format", "{{.State.Pid}}", NODE], capture_output=True, text=True, check=True
    ).stdout.strip()
    with grpc.insecure_channel(f"unix:///proc/{process}/root/run/containerd/containerd.sock") as channel:
        status = channel.unary_unary("/runtime.v1.ImageService/ImageStatus")
        said = name.encode()
        image = b"\x0a" + bytes([len(said)]) + said  # ImageSpec.image
        answer: bytes = status(b"\x0a" + bytes([len(image)]) + image)  # ImageStatusRequest.image
    return answer.startswith(b"\x0a")  # ImageStatusResponse.image, unset where there is none


@pytest.fixture(scope="module", autouse=True)
def _node() -> Iterator[None]:
    subprocess.run(["tests/lab/node/build", "bookworm"], cwd=CHECKOUT, check=True)
    volume = ["--volume", f"{NODE}:/var/lib/containerd"]  # a runtime's overlay cannot lie on podman's
    try:
        up = ["tests/lab/node/up", NODE, "localhost/alluxio-fuse-node:bookworm", *volume]
        subprocess.run(up, cwd=CHECKOUT, check=True)
        inside(CONTAINERD)
        yield
    finally:
        subprocess.run(["podman", "rm", "--force", "--time=1", NODE], check=True, capture_output=True)
        subprocess.run(["podman", "volume", "rm", "--force", NODE], check=True, capture_output=True)
        subprocess.run(["podman", "rmi", "--force", BUILT], check=True, capture_output=True)


Job = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small image's sources, the controller's cache and an inventory."""
    folder = tmp_path_factory.mktemp("node_image")
    (folder / "sources").mkdir()
    (folder / "sources/Containerfile").write_text("FROM scratch\nARG BASE\nCOPY content /\n")
    (folder / "sources/content").write_text("first")
    (folder / "cache").mkdir()
    said = {
        "ansible_connection": "node",
        "ansible_host": NODE,
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "image_name": BUILT,
        "image_context": str(folder / "sources"),
        "image_base": "scratch",
        "image_cache_dir": str(folder / "cache"),
        "image_pack": True,
    }
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": {"node": {}}, "vars": said}}))
    (folder / "play.yml").write_text(json.dumps(PLAY))
    (folder / "undo.yml").write_text(json.dumps(UNDO))
    return folder


@pytest.fixture(scope="module")
def job(folder: Path) -> Job:
    """Packs the image, and runs an entry of the role; or another play."""
    env = {**os.environ, "ANSIBLE_CONNECTION_PLUGINS": str(CHECKOUT / "tests/lab/node/connection"), "NO_COLOR": "1"}

    def job(*more: str, play: str = "play.yml", entry: str = "main", **said: Any) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("ansible-playbook")
        variables = json.dumps({"entry": entry, **said})
        command = [program, f"--inventory={folder / 'hosts.yml'}", folder / play, f"--extra-vars={variables}", *more]
        return subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)

    return job


def well(done: subprocess.CompletedProcess[str]) -> str:
    """The output of a run that succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pinned(folder: Path) -> str:
    """By which name pods ask for what was packed."""
    (packed,) = (folder / "cache").glob("packed-*.tar")
    with tarfile.open(packed) as archive:
        index = archive.extractfile("index.json")
        assert index is not None
        return f"{REPOSITORY}@{json.load(index)['manifests'][0]['digest']}"


def foretells_an_import(checked: subprocess.CompletedProcess[str]) -> bool:
    """Whether a run in check mode says that the node would get an image."""
    looked = well(checked).partition("TASK [node_image : Look for the image]")[2]
    return "changed: [node]" in looked.partition("TASK")[0]


def copies() -> str:
    """What a run left of archives on the node."""
    return inside("find /var/tmp -name 'ansible.*'")


def with_another_byte(archive: Path) -> bytes:
    """An archive whose layer was changed after it was packed."""
    with tarfile.open(archive) as packed:
        blobs = [one for one in packed.getmembers() if one.name.startswith("blobs/") and one.isfile()]
        (layer,) = [one for one in blobs if (packed.extractfile(one) or io.BytesIO()).read(1) != b"{"]
    content = bytearray(archive.read_bytes())
    content[layer.offset_data + layer.size // 2] ^= 1
    return bytes(content)


def test_it_is_imported_once_where_it_is_missing(job: Job, folder: Path) -> None:
    assert foretells_an_import(job("--check"))
    assert images() == {}
    well(job())
    name = pinned(folder)
    assert set(images()) == {name}
    until("the kubelet would find the image", lambda: kubelet_finds(name))
    assert not kubelet_finds(f"{REPOSITORY}:2.9.6")
    assert name in inside(f"cat {RECORD}")
    assert copies() == ""
    assert "changed=0" in well(job())
    assert not foretells_an_import(job("--check"))
    # as after a controller lost all but the sources and the archive
    subprocess.run(["podman", "rmi", BUILT], check=True, capture_output=True)
    assert "changed=0" in well(job())


def test_a_broken_archive_is_refused_with_both_checksums(job: Job, folder: Path) -> None:
    (packed,) = (folder / "cache").glob("packed-*.tar")
    whole = packed.read_bytes()
    wrong = with_another_byte(packed)
    ours = images()
    try:
        packed.write_bytes(wrong)
        refused = job()
        assert refused.returncode != 0
        assert f"{packed}: blobs/sha256/" in refused.stdout
        assert "has the sha256 " in refused.stdout
        assert "remove that file, and the next run packs the image again" in refused.stdout
    finally:
        packed.write_bytes(whole)
    inside("ctr --namespace k8s.io images remove --sync $(ctr --namespace k8s.io images list --quiet)")
    (folder / "wrong.tar").write_bytes(wrong)
    refused = job(archive=str(folder / "wrong.tar"))
    assert refused.returncode != 0
    assert "/image.tar is not" in refused.stdout
    assert "not found" in refused.stdout, refused.stdout
    assert images() == {}
    assert copies() == ""
    well(job())
    assert images() == ours


def test_a_former_image_goes_and_no_other_does(job: Job, folder: Path) -> None:
    former = pinned(folder)
    inside(f"ctr --namespace k8s.io images tag {former} {THEIRS}")
    (folder / "sources/content").write_text("second")
    assert foretells_an_import(job("--check"))
    well(job())
    name = pinned(folder)
    assert name != former
    assert {former, name, THEIRS} <= images().keys()
    assert f"changed: [node] => (item={former})" in well(job("--check", entry="former"))
    assert former in images()
    well(job(entry="former"))
    assert former not in images()
    assert images()[THEIRS] == former.partition("@")[2]
    until("the kubelet would find the image", lambda: kubelet_finds(name))
    assert "changed=0" in well(job(entry="former"))


def test_an_image_that_was_there_before_stays(job: Job, folder: Path) -> None:
    name = pinned(folder)
    well(job(play="undo.yml"))
    assert name not in images()
    assert images()[THEIRS]
    (packed,) = (folder / "cache").glob("packed-*.tar")
    subprocess.run(["podman", "cp", packed, f"{NODE}:/srv/theirs.tar"], check=True)
    inside(f"ctr --namespace k8s.io images import --digests --base-name {REPOSITORY} /srv/theirs.tar")
    assert "changed=0" in well(job())
    well(job(play="undo.yml"))
    assert name in images()
