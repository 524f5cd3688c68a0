"""What a node must be after role open_files: raised where it was less, and nothing lowered."""

import pytest

testinfra_hosts = [f"podman://alluxio-fuse-test-{suite}" for suite in ("bullseye", "bookworm", "trixie")]
DROP_IN = "/etc/systemd/system/containerd.service.d/90-alluxio-fuse.conf"
ENGINE = {"bullseye": (20000, False), "trixie": (19000, True)}  # open files afterwards; whether a drop-in was needed


@pytest.fixture
def suite(host):
    return host.system_info.codename


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
