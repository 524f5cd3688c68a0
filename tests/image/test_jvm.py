"""What the plan emits, against the Alluxio and the JVM of the image."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from bundle import CHECKOUT, engine_options, playbook, succeed
from containers import IMAGE
from fleets import local

from alluxio_fuse.plan import keys, plan

KEYS = Path(keys.__file__).with_name("data") / "property-keys-2.9.6.txt"


def java(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["podman", "run", "--rm", "--network", "none", *engine_options(), "--entrypoint", "java", IMAGE]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def flag_sets() -> list[tuple[str, ...]]:
    """The JVM flags of each of the five services of a plan."""
    services = plan(local()).nodes["localhost"].values()
    found = [tuple(service["jvm_flags"].amount) for service in services if "jvm_flags" in service]
    assert len(found) == 5
    return found


def test_the_known_keys_are_those_of_the_jars() -> None:
    listed = java("-cp", "/opt/alluxio/jars/*", "alluxio.image.ListPropertyKeys")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout == KEYS.read_text()


@pytest.mark.parametrize("flags", flag_sets(), ids=" ".join)
def test_flags_start_a_jvm(flags: tuple[str, ...]) -> None:
    started = java(*flags, "-version")
    assert started.returncode == 0, started.stdout + started.stderr


def test_a_flag_of_another_jvm_is_noticed() -> None:
    assert java("-XX:+UseConcMarkSweepGC", "-version").returncode != 0


def test_a_part_of_the_fleet_keeps_to_the_saved_plan(tmp_path: Path) -> None:
    said = {"alluxio_environment": "limited", "alluxio_name": "limited", "alluxio_port_offset": 2500}
    saved = CHECKOUT / "runs/plan-limited.json"
    saved.unlink(missing_ok=True)
    refused = playbook("playbooks/plan.yml", "--limit", "localhost", **said)
    assert refused.status != 0
    assert "There is no plan for environment 'limited' yet" in refused.output
    succeed(playbook("playbooks/plan.yml", **said))
    was = saved.read_bytes()
    run = succeed(playbook("playbooks/plan.yml", "--limit", "localhost", **said | {"alluxio_port_offset": 2700}))
    assert "acting on the plan that was saved last" in run.output
    assert saved.read_bytes() == was
    saved.unlink()
