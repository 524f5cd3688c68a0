"""What a node must be after role kernel_settings: no read-ahead lowered, and all set now and at boot."""

testinfra_hosts = [f"podman://alluxio-fuse-test-{suite}" for suite in ("bullseye", "bookworm", "trixie")]


def test_sysctl(host):
    assert host.sysctl("net.core.somaxconn") == 8192
    assert host.file("/etc/sysctl.d/90-alluxio-fuse.conf").contains("# many readers connect at once")


def test_read_ahead_of_the_caches_disks_now_and_at_boot(host):
    has_disks = host.system_info.codename == "bookworm"
    rules = host.file("/etc/udev/rules.d/90-alluxio-fuse.rules")
    assert rules.exists == has_disks
    if has_disks:
        for name, kib in (("nvme-cache-1", 4096), ("nvme-cache-2", 8192)):  # the second one had more
            disk = host.file(f"/dev/disk/by-id/{name}").linked_to.rsplit("/", 1)[-1]
            assert host.file(f"/sys/block/{disk}/queue/read_ahead_kb").content_string.strip() == str(kib)
            uuid = host.check_output(f"blkid --output value --match-tag UUID /dev/{disk}")
            assert f'ENV{{ID_FS_UUID}}=="{uuid}", ATTR{{queue/read_ahead_kb}}="{kib}"' in rules.content_string
        assert rules.content_string.count("ACTION==") == 2
