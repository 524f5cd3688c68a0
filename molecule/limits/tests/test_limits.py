"""What any node must be after role limits."""

testinfra_hosts = ["podman://alluxio-fuse-test-limits-podman", "podman://alluxio-fuse-test-limits-containerd"]


def test_kernel_settings(host):
    assert host.sysctl("net.core.somaxconn") == 8192
    assert host.file("/etc/sysctl.d/90-alluxio-fuse.conf").contains("# many readers connect at once")


def test_service_user(host):
    assert host.file("/etc/security/limits.d/90-alluxio-fuse.conf").contains("^:1000 hard nofile 19000$")
