"""How many files the plan lets the service user of every node open."""

testinfra_hosts = [f"podman://alluxio-fuse-test-node-{kind}" for kind in ("memory", "disks", "dirty")]


def test_service_user(host):
    record = host.file("/var/lib/alluxio-fuse/owned.json").content_string
    assert "/etc/security/limits.d/90-alluxio-fuse.conf" in record
    assert host.file("/etc/security/limits.d/90-alluxio-fuse.conf").contains("^:1000 soft nofile [0-9]*$")
