"""Dataset, check and report as a playbook runs them, on a folder that pretends to be a mount: it must not pass."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

ROOT = Path(__file__).parents[3]
SAMPLE = {"images": 40, "shards": 1, "shard_bytes": 500_000, "seed": 7}


def play(folder: Path) -> list[dict[str, Any]]:
    """Values are templates of nested lists, as the plan's are."""
    state, run = f"{folder}/{{{{ inventory_hostname }}}}", f"{folder}/run"
    dataset = {
        "name": "sample",
        "source": f"file://{state}/sample",
        "folder": f"{state}/sample",
        "manifest": f"{state}/manifests/sample.jsonl",
        "alluxio_path": "/sample",
        "mount_point": "{{ folder }}/{{ inventory_hostname }}/sample",
        "client_cache_bytes": 1 << 30,
        "metrics": {process: ["127.0.0.1:1"] for process in ("fuse", "worker", "master")},
    }
    roles: list[dict[str, Any]] = [
        {
            "role": "dataset",
            "vars": {
                "dataset_state_dir": state,
                "dataset_sample": SAMPLE | {"path": f"{state}/sample"},
                "dataset_datasets": "{{ datasets | map('combine', {'listed_by': 'node'}) }}",
            },
        },
        {
            "role": "check",
            "vars": {
                "check_state_dir": state,
                "check_run_dir": run,
                "check_datasets": "{{ datasets + [datasets[0] | combine({'name': 'unknown', 'manifest': folder})] }}",
                "check_passes": 1,
                "check_about": {"machine": {"cpus": 2}},
            },
        },
    ]
    report = {"name": "Report", "ansible.builtin.include_role": {"name": "check", "tasks_from": "report"}}
    tasks = [{**report, "vars": {"check_run_dir": run}}]
    variables = {"ansible_python_interpreter": sys.executable, "folder": str(folder), "datasets": [dataset]}
    about = {"hosts": "all", "connection": "local", "gather_facts": False, "vars": variables}
    return [{**about, "roles": roles, "tasks": tasks}]


def run_on(folder: Path, *hosts: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
    (folder / "play.yml").write_text(yaml.safe_dump(play(folder)))
    (folder / "hosts.ini").write_text("\n".join(hosts))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-v", "-i", str(folder / "hosts.ini"), str(folder / "play.yml")]
    environment = os.environ | {"ANSIBLE_DEPRECATION_WARNINGS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "[DEPRECATION WARNING]" not in done.stdout + done.stderr
    return folder, done


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    return run_on(tmp_path_factory.mktemp("ran"), "one")


def test_a_folder_is_no_mount_and_the_job_ends_as_failed(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, answer = ran
    assert answer.returncode != 0, answer.stdout
    check = json.loads((folder / "run/check.json").read_text())
    findings = {one["name"]: one["findings"] for one in check["datasets"]}
    assert any("not on a FUSE mount" in one["reason"] for one in findings["sample"])
    assert {one["outcome"] for one in findings["sample"]} <= {"CANNOT TELL", "PASS"}, answer.stdout + answer.stderr


def test_a_dataset_that_cannot_be_measured_fails(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """It has no manifest; the others are measured and judged all the same."""
    folder, answer = ran
    check = json.loads((folder / "run/check.json").read_text())
    assert check["verdict"] == "FAIL"
    (reason,) = check["reasons"]
    assert reason.startswith("unknown on one: not measured: ")
    assert "verdict  FAIL" in answer.stdout


def test_the_disk_beside_it_was_measured(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    check = json.loads((ran[0] / "run/check.json").read_text())
    rows = {(row["path"], row["state"]): row for row in check["datasets"][0]["rows"]}
    assert rows["disk", "page-cache"]["established"], rows["disk", "page-cache"]["why"]
    assert rows["disk", "page-cache"]["files"] == 41
    assert check["datasets"][0]["wrong"] == 0


def test_everything_was_written(ran: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = ran
    assert "FAIL" in (folder / "run/report.html").read_text()
    assert ET.parse(folder / "run/check.xml").getroot().tag == "testsuites"  # noqa: S314 (our own)
    assert (folder / "one/manifests/sample.jsonl").stat().st_mode & 0o777 == 0o644


def test_both_nodes_began_the_same_passes_at_the_same_moment(tmp_path: Path) -> None:
    """They are no mounts, so that nothing is proven of them; that they were read is in what was shown."""
    _, answer = run_on(tmp_path, "one", "two")
    for host in ("one", "two"):
        assert answer.stdout.count(f"{host}: 1: all nodes at once, small files") == 1
    (first, second), took = facts(answer.stdout, "__check_begin_in_s"), facts(answer.stdout, "__check_took_s")
    assert first == 5
    assert second == pytest.approx(1 + 2 * max(took[:2]))  # of the slower node


def facts(output: str, name: str) -> list[float]:
    """What tasks have set `name` to, in order."""
    return [float(amount) for amount in re.findall(rf"{name}: '?([\d.]+)", output)]
