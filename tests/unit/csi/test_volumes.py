"""Volumes of pods, by real mounts: what they show, when they are refused, and what heals in a running container.

A tmpfs stands for a FUSE mount that serves; one that hangs or is dead is a real FUSE connection.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from csi_node import DRIVER, ROOT, Client, Node


def read(command: list[str], path: str) -> str:
    """What a file holds for a container, or why it cannot be read."""
    done = subprocess.run([*command, "cat", path], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip()


def shown(node: Node, pod: str = "p1") -> str:
    return read(node.enter(), f"{node.seen(pod)}/data/file")


def mounted(node: Node, path: Path) -> list[str]:
    """Options of each mount at a path or below it, as the node has them."""
    lines = [line.split() for line in node.shell("cat /proc/self/mountinfo").splitlines()]
    return [line[5] for line in lines if f"{line[4]}/".startswith(f"{path}/")]


def test_a_volume_shows_what_the_node_serves(node: Node, client: Client) -> None:
    node.serve("imagenet")
    client.publish(node.target("p1"))
    assert shown(node) == "first"
    options = mounted(node, node.seen("p1"))[0].split(",")
    assert {"ro", "nosuid", "nodev"} <= set(options)


def test_a_writable_dataset_is_written_through_the_volume(node: Node, client: Client) -> None:
    parent = node.serve("written")
    client.publish(node.target("p1"), "written")
    node.shell(f"echo more > {node.seen('p1')}/data/other")
    assert node.shell(f"cat {parent}/data/other") == "more\n"


def test_a_read_only_volume_of_a_writable_dataset_is_refused(node: Node, client: Client) -> None:
    node.serve("written")
    code, words = client.refused("publish", node.target("p1"), "written", readonly=True)
    assert (code, "remove readOnly" in words) == ("INVALID_ARGUMENT", True)
    assert mounted(node, node.seen("p1")) == []


def test_a_second_publication_changes_nothing(node: Node, client: Client) -> None:
    node.serve("imagenet")
    client.publish(node.target("p1"))
    before = mounted(node, node.seen("p1"))
    client.publish(node.target("p1"))
    assert mounted(node, node.seen("p1")) == before
    client.unpublish(node.target("p1"))
    assert not node.seen("p1").exists()
    client.unpublish(node.target("p1"))


def test_publications_at_the_same_time_make_one_mount(node: Node, client: Client) -> None:
    node.serve("imagenet")
    with ThreadPoolExecutor(4) as calls:
        list(calls.map(client.publish, [node.target("p1")] * 4))
    many = mounted(node, node.seen("p1"))
    client.unpublish(node.target("p1"))
    client.publish(node.target("p1"))
    assert mounted(node, node.seen("p1")) == many


def test_giving_a_volume_back_leaves_the_dataset_and_other_pods(node: Node, client: Client) -> None:
    parent = node.serve("imagenet")
    for pod in ("p1", "p2"):
        client.publish(node.target(pod))
    client.unpublish(node.target("p1"))
    assert mounted(node, node.seen("p1")) == []
    assert node.shell(f"cat {parent}/data/file") == "first\n"
    assert shown(node, "p2") == "first"


def test_a_plugin_that_shares_the_datasets_by_mistake_takes_no_mount_from_the_node(node: Node, csi: Any) -> None:
    parent = node.serve("imagenet")
    node.start("--dataset=imagenet", propagation="rshared")
    with grpc.insecure_channel(f"unix://{node.kubelet}/plugins/{DRIVER}/csi.sock") as channel:
        client = Client(csi, channel)
        client.publish(node.target("p1"))
        client.unpublish(node.target("p1"))
    assert node.shell(f"cat {parent}/data/file") == "first\n"


def test_a_file_in_the_folder_of_a_volume_is_never_deleted(node: Node, client: Client) -> None:
    target = node.target("p1")
    node.seen("p1").mkdir()
    (node.seen("p1") / "kept").write_text("theirs")
    code, words = client.refused("unpublish", target)
    assert (code, "not empty" in words) == ("FAILED_PRECONDITION", True)
    assert (node.seen("p1") / "kept").read_text() == "theirs"


def test_a_volume_in_use_stays_until_it_is_not(node: Node, client: Client) -> None:
    node.serve("imagenet")
    client.publish(node.target("p1"))
    command = [*node.enter(), "tail", "-f", f"{node.seen('p1')}/data/file"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holding:
        assert holding.stdout is not None
        try:
            assert holding.stdout.readline() == b"first\n"
            code, words = client.refused("unpublish", node.target("p1"))
            assert (code, "end who uses it" in words) == ("FAILED_PRECONDITION", True)
            assert shown(node) == "first"
        finally:
            holding.kill()
    client.unpublish(node.target("p1"))
    assert not node.seen("p1").exists()


def test_what_others_mounted_at_the_folder_of_a_volume_stays(node: Node, client: Client) -> None:
    node.serve("imagenet")
    target = node.target("p1")
    node.shell(f"mkdir {node.seen('p1')} && mount -t tmpfs theirs {node.seen('p1')}")
    code, words = client.refused("publish", target)
    assert (code, "shows something else already" in words) == ("FAILED_PRECONDITION", True)
    assert len(mounted(node, node.seen("p1"))) == 1


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"dataset": "none"}, "NOT_FOUND", "no dataset none: write one of clicks, imagenet, written"),
        ({"dataset": "../imagenet"}, "NOT_FOUND", "write one of clicks"),
        ({"dataset": ""}, "INVALID_ARGUMENT", "volumeAttributes has no dataset: write one of clicks"),
        ({"volume_id": ""}, "INVALID_ARGUMENT", "volume_id"),
        ({"target_path": ""}, "INVALID_ARGUMENT", "an empty path"),
        ({"target_path": "/etc"}, "INVALID_ARGUMENT", "/etc is not below"),
    ],
)
def test_a_volume_that_cannot_be_is_refused(
    node: Node, client: Client, fields: dict[str, str], code: str, words: str
) -> None:
    node.serve("imagenet")
    dataset = fields.pop("dataset", "imagenet")
    told = client.refused("publish", node.target("p1"), dataset, **fields)
    assert (told[0], words in told[1]) == (code, True), told[1]


def test_paths_that_lead_out_of_the_kubelets_folder_are_refused(node: Node, client: Client) -> None:
    target = f"{node.container}/kubelet/../mnt/imagenet"
    node.serve("imagenet")
    assert client.refused("publish", target)[0] == "INVALID_ARGUMENT"
    assert client.refused("unpublish", target)[0] == "INVALID_ARGUMENT"
    assert node.shell(f"cat {node.datasets}/imagenet/data/file") == "first\n"


def test_devices_and_mount_options_are_refused(node: Node, client: Client, csi: Any) -> None:
    node.serve("imagenet")
    kinds = csi.VolumeCapability
    block = kinds(block=kinds.BlockVolume())
    flags = kinds(mount=kinds.MountVolume(mount_flags=["noatime"]))
    for capability, words in (
        (block, "volumeMode Filesystem"),
        (flags, "mountOptions noatime"),
        (kinds(), "filesystem"),
    ):
        code, said = client.refused("publish", node.target("p1"), volume_capability=capability)
        assert (code, words in said) == ("INVALID_ARGUMENT", True)


def test_a_node_that_serves_nothing_says_so_and_serves_later(node: Node, client: Client) -> None:
    target = node.target("p1")
    code, words = client.refused("publish", target)
    assert (code, "nothing serves it on node n1" in words) == ("UNAVAILABLE", True)
    node.own("imagenet")
    code, words = client.refused("publish", target)
    assert (code, "nothing is mounted at" in words) == ("UNAVAILABLE", True)
    assert not node.seen("p1").exists()
    node.serve("imagenet")
    client.publish(target)
    assert shown(node) == "first"


def test_a_folder_of_another_release_is_refused(node: Node, client: Client) -> None:
    node.serve("imagenet")
    node.own("imagenet", "other-release")
    code, words = client.refused("publish", node.target("p1"))
    assert (code, "belongs to other-release/imagenet" in words) == ("UNAVAILABLE", True)


def test_a_mount_that_hangs_is_asked_once_and_holds_up_no_other(node: Node, client: Client) -> None:
    node.serve("clicks")
    with node.fuse("imagenet", "silent") as parent:
        begun = time.monotonic()
        code, words = client.refused("publish", node.target("p1"))
        assert (code, "did not answer within 5 s" in words) == ("UNAVAILABLE", True)
        assert time.monotonic() - begun < 15
        code, words = client.refused("publish", node.target("p1"))
        assert (code, "an earlier question waits" in words) == ("UNAVAILABLE", True)
        client.publish(node.target("p2"), "clicks")
    deadline = time.monotonic() + 20
    while "an earlier question waits" in words:  # it ends with its mount
        assert time.monotonic() < deadline
        code, words = client.refused("publish", node.target("p1"))
    assert (code, "is broken" in words and "not connected" in words) == ("UNAVAILABLE", True)
    node.shell(f"umount --lazy {parent}/data")
    node.serve("imagenet")
    client.publish(node.target("p1"))
    assert shown(node) == "first"


def test_a_volume_of_a_mount_that_hangs_is_given_back(node: Node, client: Client) -> None:
    node.serve("imagenet")
    client.publish(node.target("p1"))
    node.shell(f"umount {node.datasets}/imagenet/data")
    with node.fuse("imagenet", "silent"):
        client.unpublish(node.target("p1"))
        assert mounted(node, node.seen("p1")) == []


@pytest.mark.parametrize(
    ("propagation", "afterwards"),
    [("slave", "second"), ("private", "Transport endpoint is not connected")],
    ids=["HostToContainer", "None"],
)
def test_a_restarted_fuse_in_a_running_container(node: Node, client: Client, propagation: str, afterwards: str) -> None:
    """With HostToContainer a container gets what is mounted anew; without, it keeps the dead mount."""
    parent = node.serve("imagenet")
    client.publish(node.target("p1"))
    node.shell(f"umount {parent}/data")
    with ExitStack() as running:
        with node.fuse("imagenet", "silent"):
            container = running.enter_context(node.consumer("p1", propagation))
        assert "not connected" in read(container, "/srv/data/file")
        node.shell(f"umount --lazy {parent}/data")
        node.serve("imagenet", "second")
        assert afterwards in read(container, "/srv/data/file")
        assert shown(node) == "second"


def test_another_copy_in_the_place_of_a_staged_one_comes_to_running_containers(node: Node, client: Client) -> None:
    """As a keeper puts it there: beneath the former copy, which is then taken away from above it."""
    parent = node.serve("imagenet")
    client.publish(node.target("p1"))
    made = node.folder / "made"
    made.mkdir()
    node.shell(f"mount -t tmpfs staged {made} && echo second > {made}/file")
    calls = "from ansible_collections.alluxio.fuse.plugins.module_utils import mount_calls as calls"
    exchange = f"calls.attach(calls.copy('{made}'), '{parent}/data', beneath=True); calls.detach('{parent}/data')"
    with node.consumer("p1", "slave") as container:
        assert read(container, "/srv/data/file") == "first"
        node.shell(f'PYTHONPATH={ROOT}/collections {sys.executable} -c "{calls}; {exchange}"')
        assert read(container, "/srv/data/file") == "second"


def test_a_container_cannot_change_the_nodes_mounts(node: Node, client: Client) -> None:
    parent = node.serve("imagenet")
    client.publish(node.target("p1"))
    node.shell(f"umount {node.seen('p1')}/data && mount -t tmpfs theirs {node.seen('p1')}/data")
    assert node.shell(f"cat {parent}/data/file") == "first\n"


def test_a_volume_outlives_the_plugin(node: Node, client: Client) -> None:
    node.serve("imagenet")
    client.publish(node.target("p1"))
    assert node.stop() == 0
    assert shown(node) == "first"
    node.start("--dataset=imagenet")
    client.publish(node.target("p1"))
    client.publish(node.target("p2"))
    assert len(mounted(node, node.seen("p1"))) == 2
    client.unpublish(node.target("p1"))
    assert not node.seen("p1").exists()


def test_how_full_a_volume_is(node: Node, client: Client, csi: Any) -> None:
    node.serve("imagenet")
    target = node.target("p1")
    client.publish(target)
    usage = client.call("Node", "NodeGetVolumeStats", volume_id="one", volume_path=target).usage
    point = f"/proc/{node._holder.pid}/root{node.datasets}/imagenet/data"
    told = os.statvfs(point)
    kinds = csi.VolumeUsage
    assert {one.unit: one.total for one in usage} == {
        kinds.BYTES: told.f_blocks * told.f_frsize,
        kinds.INODES: told.f_files,
    }
    assert all(one.used >= 0 and one.available > 0 for one in usage)


def test_inodes_that_nobody_counts_are_left_out(node: Node, client: Client, csi: Any) -> None:
    target = node.target("p1")
    with node.fuse("imagenet", "sized"):
        client.publish(target)
        usage = client.call("Node", "NodeGetVolumeStats", volume_id="one", volume_path=target).usage
        (bytes_of,) = usage
        assert (bytes_of.unit, bytes_of.total, bytes_of.used) == (csi.VolumeUsage.BYTES, 100 * 4096, 60 * 4096)
    client.unpublish(target)


def test_a_folder_that_shows_no_dataset_is_not_measured(node: Node, client: Client) -> None:
    target = node.target("p1")
    for path, code in ((target, "NOT_FOUND"), ("", "INVALID_ARGUMENT")):
        assert client.refused("call", "Node", "NodeGetVolumeStats", volume_id="one", volume_path=path)[0] == code
