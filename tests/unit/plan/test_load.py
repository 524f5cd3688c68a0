"""What a playbook that runs alone does with the saved plan."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from fleets import local

from alluxio_fuse.plan import plan

ROOT = Path(__file__).parents[3]
INVENTORY = """
all:
  vars: {ansible_connection: local}
  children: {gpu_nodes: {hosts: {localhost: , added: }}}
"""


def test_a_host_that_is_newer_than_the_plan_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan-saved.json").write_text(json.dumps(plan(local()).dump()))
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    said = {"plan_environment": "saved", "plan_runs_dir": str(tmp_path)}
    load = {"ansible.builtin.import_role": {"name": "plan", "tasks_from": "load"}, "vars": said}
    play = {"hosts": "gpu_nodes", "gather_facts": False, "tasks": [load]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "The plan of environment 'saved' does not know added. Run ansible-playbook playbooks/plan.yml" in done.stdout
    assert done.stdout.count("fatal: ") == 1, done.stdout
