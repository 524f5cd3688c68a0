"""What a node with two disks must be after role cache_media."""

import pytest

testinfra_hosts = ["podman://alluxio-fuse-test-bookworm"]
TIERS = [("/var/lib/alluxio-fuse/tier/nvme-1", "xfs"), ("/var/lib/alluxio-fuse/tier/nvme-2", "ext4")]


@pytest.mark.parametrize(("path", "fstype"), TIERS)
def test_mounted_by_what_the_disk_itself_says(host, path, fstype):
    tier = host.mount_point(path)
    assert (tier.exists, tier.filesystem) == (True, fstype)
    assert "noatime" in tier.options
    uuid = host.check_output(f"blkid --output value --match-tag UUID {tier.device}")
    assert host.file("/etc/fstab").contains(f"^UUID={uuid} {path} {fstype} .*nofail")


@pytest.mark.parametrize(("path", "_fstype"), TIERS)
def test_owner_and_mode(host, path, _fstype):
    folder = host.file(path)
    assert (folder.uid, folder.gid, folder.mode) == (1000, 1000, 0o750)


@pytest.mark.parametrize(("path", "_fstype"), TIERS)
def test_nobody_writes_while_it_is_not_mounted_and_boot_mounts_it(host, path, _fstype):
    host.run_expect([0], f"umount {path}")
    assert host.run(f"touch {path}/stray").rc != 0
    host.run_expect([0], "mount --all")
    assert host.mount_point(path).exists


def test_folder_on_a_disk_is_on_the_disk(host):
    found = host.check_output("findmnt --noheadings --output TARGET --target /var/lib/alluxio-fuse/tier/nvme-1/worker")
    assert found == "/var/lib/alluxio-fuse/tier/nvme-1"
    host.run_expect([0], "umount /var/lib/alluxio-fuse/tier/nvme-1")
    assert not host.file("/var/lib/alluxio-fuse/tier/nvme-1/worker").exists
    host.run_expect([0], "mount --all")
