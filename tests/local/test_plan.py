"""What the plan emits, against the Alluxio and the JVM of the image."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bundle import playbook, succeed

from alluxio_fuse.plan import keys, plan
from alluxio_fuse.plan.examples import local
from alluxio_fuse.plan.flags import flag_sets

IMAGE = "localhost/alluxio-fuse:2.9.6"
KEYS = Path(keys.__file__).with_name("data") / "property-keys-2.9.6.txt"


@pytest.fixture(scope="module", autouse=True)
def _image() -> None:
    succeed(playbook("playbooks/image.yml"))


def java(*arguments: str) -> subprocess.CompletedProcess[str]:
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]
    command = ["podman", "run", "--rm", "--network", "none", *limits, "--entrypoint", "java", IMAGE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_known_keys_are_those_of_the_jars() -> None:
    listed = java("-cp", "/opt/alluxio/jars/*", "alluxio.image.ListPropertyKeys")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout == KEYS.read_text()


@pytest.mark.parametrize("flags", flag_sets(plan(local()).dump()), ids=" ".join)
def test_flags_start_a_jvm(flags: tuple[str, ...]) -> None:
    started = java(*flags, "-version")
    assert started.returncode == 0, started.stdout + started.stderr


def test_a_flag_of_another_jvm_is_noticed() -> None:
    assert java("-XX:+UseConcMarkSweepGC", "-version").returncode != 0
