"""What the node with two empty disks must be after playbooks/nodes.yml."""

testinfra_hosts = ["podman://alluxio-fuse-test-node-disks"]


def test_both_disks_carry_a_medium_of_the_plan(host):
    mounted = host.check_output("findmnt --noheadings --list --types xfs --output TARGET").split()
    assert [path for path in mounted if path.startswith("/var/lib/alluxio-fuse/")]
    for disk in ("nvme-nodes-1", "nvme-nodes-2"):
        assert host.check_output(f"blkid --output value --match-tag TYPE /dev/disk/by-id/{disk}") == "xfs"
