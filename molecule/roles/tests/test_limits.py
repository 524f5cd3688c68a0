"""What a node must be after role limits: raised where it was less, and nothing lowered."""

import pytest

testinfra_hosts = [f"podman://alluxio-fuse-test-{suite}" for suite in ("bullseye", "bookworm", "trixie")]
DROP_IN = "/etc/systemd/system/containerd.service.d/90-alluxio-fuse.conf"
ENGINE = {"bullseye": (20000, False), "trixie": (19000, True)}  # open files afterwards; whether a drop-in was needed


@pytest.fixture
def suite(host):
    return host.system_info.codename


def test_kernel_settings(host):
    assert host.sysctl("net.core.somaxconn") == 8192
    assert host.file("/etc/sysctl.d/90-alluxio-fuse.conf").contains("# many readers connect at once")


def test_service_user(host):
    limits = host.file("/etc/security/limits.d/90-alluxio-fuse.conf")
    for kind, option in (("soft", "-Sn"), ("hard", "-Hn")):
        now = int(host.check_output(f"bash -c 'ulimit {option}'"))
        assert limits.contains(f"^:1000 {kind} nofile {max(19000, now)}$")


def test_engine(host, suite):
    if suite in ENGINE:
        files, ours = ENGINE[suite]
        pid = host.check_output("systemctl show containerd --property MainPID --value")
        assert host.file(f"/proc/{pid}/limits").contains(f"Max open files  *{files}  *{files}")
        assert host.file(DROP_IN).exists == ours


def test_read_ahead_of_the_caches_disks_now_and_at_boot(host, suite):
    rules = host.file("/etc/udev/rules.d/90-alluxio-fuse.rules")
    assert rules.exists == (suite == "bookworm")
    if suite == "bookworm":
        for name, kib in (("nvme-cache-1", 4096), ("nvme-cache-2", 8192)):  # the second one had more
            disk = host.file(f"/dev/disk/by-id/{name}").linked_to.rsplit("/", 1)[-1]
            assert host.file(f"/sys/block/{disk}/queue/read_ahead_kb").content_string.strip() == str(kib)
            uuid = host.check_output(f"blkid --output value --match-tag UUID /dev/{disk}")
            assert f'ENV{{ID_FS_UUID}}=="{uuid}", ATTR{{queue/read_ahead_kb}}="{kib}"' in rules.content_string
        assert rules.content_string.count("ACTION==") == 2
