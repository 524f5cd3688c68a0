"""What the node with two empty disks must be after playbooks/nodes.yml."""

import json

testinfra_hosts = ["podman://alluxio-fuse-test-node-disks"]


def test_both_disks_carry_a_medium_of_the_plan(host):
    mounted = host.check_output("findmnt --noheadings --list --types xfs --output TARGET").split()
    assert [path for path in mounted if path.startswith("/var/lib/alluxio-fuse/")]
    for disk in ("nvme-nodes-1", "nvme-nodes-2"):
        assert host.check_output(f"blkid --output value --match-tag TYPE /dev/disk/by-id/{disk}") == "xfs"


def test_each_disk_was_measured(host):
    speeds = json.loads(host.file("/var/lib/alluxio-fuse/media.json").content_string)
    assert sorted(speeds) == ["/dev/disk/by-id/nvme-nodes-1", "/dev/disk/by-id/nvme-nodes-2"]
    assert all(speed["read_mb_s"] > 0 for speed in speeds.values())
