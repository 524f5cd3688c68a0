"""What a node with containerd must be after role limits."""

testinfra_hosts = ["podman://alluxio-fuse-test-limits-containerd"]


def test_engine_was_given_its_limit(host):
    pid = host.check_output("systemctl show containerd --property MainPID --value")
    assert host.file(f"/proc/{pid}/limits").contains("Max open files  *19000  *19000")
