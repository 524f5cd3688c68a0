"""Settings are tried for real: a cliff is not kept, a gain is, and outlives FUSE, but not the deployment."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import fuse_connection
from bundle import CHECKOUT, Run, playbook, stages, succeed, until

NAME = "tuned"
STATE = Path(f"/var/lib/{NAME}")
RECORD = STATE / "tuned.json"
MOUNT_POINT = Path(f"/mnt/{NAME}/set/data")
CLIFF, GOOD = 0, 256  # KiB of read-ahead; without any each page is a request of its own
NOTHING: dict[str, list[int]] = {"read_ahead_kb": [], "max_background": [], "congestion_threshold": []}
REFUSED = {"alluxio_overrides": {"fuse.heap": "9000Gi"}}
STAGES = ("preflight", "plan", "nodes", "services", "warm")


@pytest.fixture(scope="module")
def source() -> Iterator[Path]:
    """Not below pytest's own folder, which every other run of pytest closes to the service user."""
    with leftovers.folder(Path(f"/var/lib/{NAME}-source")) as folder:
        yield folder


@pytest.fixture(scope="module")
def variables(source: Path) -> Iterator[dict[str, Any]]:
    for number in range(200):
        (source / f"{number}.jpg").write_bytes(random.Random(number).randbytes(50_000 + number))
    for number in range(3):
        (source / f"{number}.tar").write_bytes(random.Random(number).randbytes(24 << 20))
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2000,
        "alluxio_datasets": [{"name": "set", "source": f"file://{source}"}],
        "alluxio_check_disruptive": True,
        "alluxio_check_readers": 1,
        "alluxio_tune_passes": 3,
    }
    with leftovers.deployment(said):
        yield said


@pytest.fixture(scope="module")
def deployed(variables: dict[str, Any]) -> int:
    """The read-ahead that the plan gave the mount."""
    succeed(stages(*STAGES, **variables))
    return int(settings()["read_ahead_kb"])


def settings() -> dict[str, int]:
    device = fuse_connection.device_of(str(MOUNT_POINT))
    with fuse_connection.control() as connections:
        return fuse_connection.read_settings(device, connections)


def serving() -> list[str]:
    """FUSE processes of this deployment, by number and mount point."""
    listed = subprocess.run(["pgrep", "-af", "--", f"-m /mnt/{NAME}/"], capture_output=True, text=True, check=False)
    return [" ".join((line.split()[0], *line.split()[-5:])) for line in listed.stdout.splitlines()]


def planned() -> dict[str, Any]:
    plan = json.loads((CHECKOUT / f"runs/plan-{NAME}.json").read_text())
    found: dict[str, Any] = plan["nodes"]["localhost"]["fuse/set"]
    return found


@pytest.fixture
def tune(deployed: int, variables: dict[str, Any]) -> Callable[[int], Run]:
    """Tries one read-ahead, and nothing else."""
    return lambda kib: playbook(
        "playbooks/tune.yml", **variables, alluxio_tune={**NOTHING, "read_ahead_kb": [kib]}, alluxio_tune_processes=[]
    )


def last_trial() -> dict[str, Any]:
    tried = json.loads(RECORD.read_text())["set"]["kept"]["tried"]
    found: dict[str, Any] = [one for one in tried if one["tried"]][-1]
    return found


def test_mounts_have_what_is_planned(deployed: int) -> None:
    assert deployed == planned()["read_ahead_kb"]["amount"]
    assert settings()["max_background"] == planned()["max_background"]["amount"]


def test_not_among_readers(tune: Callable[[int], Run]) -> None:
    with (MOUNT_POINT / "0.tar").open("rb"):
        run = tune(GOOD)
    assert run.status != 0
    assert "alluxio_tune_among_readers: true" in run.output


def test_a_cliff_is_not_kept(deployed: int, tune: Callable[[int], Run]) -> None:
    run = succeed(tune(CLIFF))
    assert (last_trial()["kept"], last_trial()["tried"][0]["verdict"]) == (None, "worse"), run.output[-3000:]
    assert settings()["read_ahead_kb"] == deployed


def test_a_gain_is_kept(tune: Callable[[int], Run], variables: dict[str, Any]) -> None:
    """On a mount for which the cliff had been kept."""
    planted = {"amount": CLIFF, "why": "planted", "at": "2026-11-22T00:00:00Z"}
    record = json.loads(RECORD.read_text())
    record["set"]["kept"]["read_ahead_kb"] = planted
    RECORD.write_text(json.dumps(record))
    succeed(playbook("playbooks/plan.yml", **variables))
    assert planned()["read_ahead_kb"]["amount"] == CLIFF
    run = succeed(tune(GOOD))
    assert last_trial()["kept"] == GOOD, run.output[-3000:]
    assert settings()["read_ahead_kb"] == GOOD
    assert planned()["read_ahead_kb"]["why"].startswith(f"measured over {CLIFF}: ")


@pytest.mark.usefixtures("deployed")
def test_options_that_need_a_start_are_tried_beside_the_mount(variables: dict[str, Any]) -> None:
    """While somebody has a file of the mount open, who is not disturbed."""
    before = serving()
    assert len(before) == 1
    processes = [{"alluxio_libfuse": 2}, REFUSED]
    with (MOUNT_POINT / "0.tar").open("rb") as file:
        run = succeed(
            playbook(
                "playbooks/tune.yml",
                **variables,
                alluxio_tune=NOTHING,
                alluxio_tune_processes=processes,
                alluxio_tune_among_readers=True,
            )
        )
        assert file.read(1 << 20) == random.Random(0).randbytes(24 << 20)[: 1 << 20]
    trial = last_trial()
    (tried,) = trial["tried"]
    assert (trial["knob"], tried["amount"]) == ("process", "alluxio_libfuse: 2"), run.output[-3000:]
    assert set(tried["by_kind"]) == {"small", "large"}
    assert "not proven" not in tried["verdict"]
    assert "not tried: alluxio_overrides: {fuse.heap: 9000Gi}" in run.output
    assert serving() == before
    assert [path.name for path in MOUNT_POINT.parent.iterdir()] == ["data"]


@pytest.mark.usefixtures("deployed")
def test_it_is_set_again_when_fuse_starts_again() -> None:
    subprocess.run(["podman", "kill", "--signal", "KILL", f"{NAME}-fuse-set"], check=True, capture_output=True)
    subprocess.run(["podman", "start", f"{NAME}-fuse-set"], check=True, capture_output=True)
    until("the setting that was kept", lambda: settings()["read_ahead_kb"] == GOOD)
    log = subprocess.run(
        ["podman", "logs", "--tail", "50", f"{NAME}-fuse-set"], capture_output=True, text=True, check=True
    )
    assert "could not be set" not in log.stdout + log.stderr


@pytest.mark.usefixtures("deployed")
def test_teardown_takes_it_away(variables: dict[str, Any]) -> None:
    succeed(playbook("playbooks/teardown.yml", **variables))
    assert not STATE.exists()
