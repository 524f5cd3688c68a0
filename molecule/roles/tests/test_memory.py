"""What a node with a memory tier and a folder must be after role cache_media."""

import json

testinfra_hosts = ["podman://alluxio-fuse-test-bullseye"]
TIER = "/var/lib/alluxio-fuse/tier/memory"


def test_memory_is_bounded(host):
    found = host.check_output(f"findmnt --json --bytes --mountpoint {TIER} --output FSTYPE,SIZE")
    tier = json.loads(found)["filesystems"][0]
    assert (tier["fstype"], int(tier["size"])) == ("tmpfs", 67108864)
    full = host.run(f"dd if=/dev/zero of={TIER}/full bs=1M count=80")
    host.run_expect([0], f"rm {TIER}/full")
    assert "No space left" in full.stderr


def test_owner_and_mode(host):
    for path in (TIER, "/var/lib/cache/alluxio-fuse/tier"):
        folder = host.file(path)
        assert (folder.is_directory, folder.uid, folder.gid, folder.mode) == (True, 1000, 1000, 0o750)


def test_nobody_writes_while_it_is_not_mounted_and_boot_mounts_it(host):
    host.run_expect([0], f"umount {TIER}")
    assert host.run(f"touch {TIER}/stray").rc != 0
    host.run_expect([0], "mount --all")
    assert host.mount_point(TIER).exists
