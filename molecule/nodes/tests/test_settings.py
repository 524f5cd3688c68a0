"""What the plan has the kernel of every node do for cache disks and for FUSE mounts."""

testinfra_hosts = [f"podman://alluxio-fuse-test-node-{kind}" for kind in ("memory", "disks", "dirty")]


def test_read_ahead_of_disks_that_are_ours(host):
    disks = host.run("findmnt --noheadings --list --types xfs --output SOURCE").stdout.split()
    rules = host.file("/etc/udev/rules.d/90-alluxio-fuse.rules")
    assert rules.exists == bool(disks)
    for disk in disks:
        name = disk.rsplit("/", 1)[-1]
        assert host.file(f"/sys/block/{name}/queue/read_ahead_kb").content_string.strip() == "2048"
        assert host.check_output(f"blkid --output value --match-tag UUID {disk}") in rules.content_string


def test_settings_of_the_mount_are_there_before_it_is(host):
    settings = host.file("/var/lib/alluxio-fuse/mount-settings/pictures")
    for key in ("read_ahead_kb", "max_background", "congestion_threshold"):
        assert settings.contains(f"^{key}=[0-9]*$")
