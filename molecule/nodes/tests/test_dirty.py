"""What the node with leftovers of others must be after playbooks/nodes.yml: prepared, and theirs untouched."""

testinfra_hosts = ["podman://alluxio-fuse-test-node-dirty"]


def test_what_others_left_is_untouched(host):
    assert host.file("/srv/cache/of-others").is_directory
    assert host.file("/etc/fuse.conf").content_string == "user_allow_other\n"
    mounts = host.file("/proc/self/mountinfo").content_string
    assert " /mnt/foreign " in mounts
    assert " /mnt/dead " in mounts


def test_what_we_made_is_named_in_the_record(host):
    record = host.file("/var/lib/alluxio-fuse/owned.json").content_string
    assert "/srv/cache/alluxio-fuse" in record
    assert "of-others" not in record
