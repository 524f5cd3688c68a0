"""The planner through Ansible: lazy containers in, plain containers out, findings as one message."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fleets import facts

ROOT = Path(__file__).parents[3]
LISTED = {
    "state": "ok",
    "detail": None,
    "files": 10,
    "bytes": 2**30,
    "sizes": [[2**17, 8, 2**19], [2**29, 2, 2**30 - 2**19]],
}
FILTERS = ("plan", "amounts", "explain", "plan_diff", "plan_table")
PLAY = """
- hosts: localhost
  gather_facts: false
  vars:
    names: [one, two]
    said:
      alluxio_datasets: "{{ sets }}"
      alluxio_workload_memory: "{{ memory }}"
      alluxio_cache_tiers: [{medium: "{{ 'memory' }}"}]
      alluxio_credentials: {one: {access_key: CANARY, secret_key: CANARY}}
    sets:
      - {name: "{{ names[0] }}", source: "s3://b/{{ names[0] }}", files: 10, bytes: 1Gi, cache: {share: "{{ 0.5 }}"}}
      - {name: "{{ names[1] }}", source: "s3://b/{{ names[1] }}"}
    found: "{{ lookup('ansible.builtin.file', facts_file) | from_json }}"
    hosts: {node: {groups: [masters, gpu_nodes], variables: "{{ said }}", facts: "{{ found }}"}}
    made: "{{ hosts | alluxio.fuse.plan }}"
  tasks:
    - ansible.builtin.copy:
        dest: "{{ answer }}"
        mode: "0600"
        content: >-
          {{ {'amounts': made | alluxio.fuse.amounts('node'), 'table': made | alluxio.fuse.plan_table,
              'explain': made | alluxio.fuse.explain('node.worker.heap'), 'diff': made | alluxio.fuse.plan_diff(made),
              'findings': (['node'] | alluxio.fuse.findings(fleet=hosts)).found} | to_json }}
"""


def play(folder: Path, **extra: Any) -> subprocess.CompletedProcess[str]:
    """Run the play on this machine, with the plugins of the checkout."""
    (folder / "play.yml").write_text(PLAY, encoding="utf-8")
    (folder / "facts.json").write_text(json.dumps(facts(sources={"s3://b/two": LISTED})), encoding="utf-8")
    variables = {"facts_file": str(folder / "facts.json"), "answer": str(folder / "answer.json")} | extra
    command = [sys.executable, "-m", "ansible", "playbook", str(folder / "play.yml"), "-e", json.dumps(variables)]
    environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_templated_nested_lists_are_planned(tmp_path: Path) -> None:
    ran = play(tmp_path, memory="1Gi")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    answer = json.loads((tmp_path / "answer.json").read_text(encoding="utf-8"))
    assert "fuse/two" in answer["amounts"]
    assert "assumed: mean_file: files of one are taken" in "\n".join(answer["table"])
    assert answer["diff"] == ["the plans are equal"]
    assert answer["findings"] == []
    assert answer["explain"].startswith("node.worker.heap = ")
    assert max(map(len, answer["table"])) <= 120
    assert "CANARY" not in json.dumps(answer) + ran.stdout + ran.stderr


def test_findings_are_the_message_of_the_failure(tmp_path: Path) -> None:
    ran = play(tmp_path, memory="64G")
    assert ran.returncode != 0
    assert "alluxio_workload_memory" in ran.stdout + ran.stderr
    assert "64Gi (binary)" in ran.stdout + ran.stderr


DERIVED = """
- hosts: localhost
  gather_facts: false
  pre_tasks:
    - ansible.builtin.set_fact:
        preflight_input:
          groups: [masters, gpu_nodes]
          variables: {alluxio_overrides: {worker.heap: "{{ heap }}"}}
          facts: "{{ lookup('ansible.builtin.file', folder ~ '/facts.json') | from_json }}"
  roles: [{role: plan, plan_runs_dir: "{{ folder }}"}]
"""


def test_a_run_shows_what_changes_since_the_last_plan_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "play.yml").write_text(DERIVED)
    (tmp_path / "facts.json").write_text(json.dumps(facts(memory=64)))
    saved = tmp_path / "plan-default.json"

    def shown(heap: str, *more: str) -> str:
        command = [sys.executable, "-m", "ansible", "playbook", "-i", "localhost,", "-c", "local", "play.yml", *more]
        said = ["-e", json.dumps({"folder": str(tmp_path), "heap": heap})]
        environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
        done = subprocess.run(
            [*command, *said], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "since the last plan" not in shown("1Gi")
    assert "since the last plan:\n  the plans are equal" in shown("1Gi")
    assert "\n  localhost.worker.heap: 1Gi (1073741824 bytes) -> 2Gi (2147483648 bytes)\n" in shown("2Gi", "--check")
    saved.write_text(saved.read_text().replace('"version": ', '"version": 9'))
    assert "since the last plan" not in shown("2Gi")


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_is_documented(name: str) -> None:
    text = (ROOT / "plugins" / "filter" / f"{name}.yml").read_text(encoding="utf-8")
    for part in ("DOCUMENTATION:", "EXAMPLES:", "RETURN:", "short_description:"):
        assert part in text
