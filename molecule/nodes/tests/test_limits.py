"""What the plan gives every node of this scenario: limits of the service user, and read-ahead of its cache disks."""

testinfra_hosts = [f"podman://alluxio-fuse-test-node-{kind}" for kind in ("memory", "disks", "dirty")]


def test_open_files(host):
    record = host.file("/var/lib/alluxio-fuse/owned.json").content_string
    assert "/etc/security/limits.d/90-alluxio-fuse.conf" in record
    assert host.file("/etc/security/limits.d/90-alluxio-fuse.conf").contains("^:1000 soft nofile [0-9]*$")


def test_read_ahead_of_disks_that_are_ours(host):
    disks = host.run("findmnt --noheadings --list --types xfs --output SOURCE").stdout.split()
    rules = host.file("/etc/udev/rules.d/90-alluxio-fuse.rules")
    assert rules.exists == bool(disks)
    for disk in disks:
        name = disk.rsplit("/", 1)[-1]
        assert host.file(f"/sys/block/{name}/queue/read_ahead_kb").content_string.strip() == "2048"
        assert host.check_output(f"blkid --output value --match-tag UUID {disk}") in rules.content_string
