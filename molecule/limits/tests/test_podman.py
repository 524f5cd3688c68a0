"""What a node with podman and a cache disk must be after role limits."""

testinfra_hosts = ["podman://alluxio-fuse-test-limits-podman"]


def test_podman_is_told(host):
    conf = host.file("/etc/containers/containers.conf.d/90-alluxio-fuse.conf")
    assert 'default_ulimits = ["nofile=19000:19000"]' in conf.content_string


def test_read_ahead_of_the_disk_now_and_at_boot(host):
    disk = host.file("/dev/disk/by-id/nvme-limits-1").linked_to.rsplit("/", 1)[-1]
    assert host.file(f"/sys/block/{disk}/queue/read_ahead_kb").content_string.strip() == "4096"
    uuid = host.check_output(f"blkid --output value --match-tag UUID /dev/{disk}")
    rule = host.file("/etc/udev/rules.d/90-alluxio-fuse.rules").content_string
    assert f'ENV{{ID_FS_UUID}}=="{uuid}", ATTR{{queue/read_ahead_kb}}="4096"' in rule
