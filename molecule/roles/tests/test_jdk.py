"""What a node must be after role jdk."""

import pytest

testinfra_hosts = [f"podman://alluxio-fuse-test-{suite}" for suite in ("bullseye", "bookworm", "trixie")]
MAJOR = {"bullseye": 11, "bookworm": 17, "trixie": None}


@pytest.fixture
def major(host):
    return MAJOR[host.system_info.codename]


def test_it_runs(host, major):
    if major:
        version = host.run(f"/usr/lib/jvm/java-{major}-openjdk-amd64/bin/java -version").stderr
        assert f'version "{major}.' in version
    else:
        assert not host.file("/usr/lib/jvm").exists


def test_it_is_not_the_systems_default(host):
    assert not host.exists("java")
