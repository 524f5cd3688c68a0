"""What a node must be after role libfuse."""

import pytest

testinfra_hosts = [f"podman://alluxio-fuse-test-{suite}" for suite in ("bullseye", "bookworm", "trixie")]
BOTH = ("libfuse.so.2", "libfuse3.so.3")
SONAMES = {"bullseye": BOTH, "bookworm": BOTH, "trixie": ("libfuse.so.2",)}


def test_sonames_load(host):
    for soname in SONAMES[host.system_info.codename]:
        host.run_expect([0], f"python3 -c 'import ctypes; ctypes.CDLL(\"{soname}\")'")


def test_fusermount_is_setuid(host):
    assert host.file("/bin/fusermount3").mode & 0o4000


def test_users_may_share_mounts(host):
    assert host.file("/etc/fuse.conf").contains("^user_allow_other$")


@pytest.mark.parametrize("path", ["/dev/fuse"])
def test_device(host, path):
    assert host.file(path).exists
