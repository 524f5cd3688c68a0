"""With which verdicts a run ends as failed, through Ansible: the report, as playbooks/check.yml calls it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from alluxio_fuse.check.verdict import check

ROOT = Path(__file__).parents[3]
SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}
STRICT: dict[str, Any] = {}
FORGIVING = {"alluxio_check_fail_on": ["FAIL"]}


@pytest.mark.parametrize(
    ("fail_on", "change", "ends"),
    [
        (FORGIVING, {"kept": []}, (0, "exit 0   CANNOT TELL fails no run here (alluxio_check_fail_on: ['FAIL'])")),
        (STRICT, {"kept": []}, (2, "CANNOT TELL: imagenet on node1: ")),
        (FORGIVING, {"failed": "no such file"}, (2, "FAIL: imagenet on node1: not measured: no such file")),
        (FORGIVING, {}, (0, "report   ")),
    ],
    ids=["untold is told", "untold where it counts", "wrong", "right"],
)
def test_the_variable_decides(
    measured: dict[str, Any], tmp_path: Path, fail_on: dict[str, Any], change: dict[str, Any], ends: tuple[int, str]
) -> None:
    result = check([measured | change], {}, SETTINGS, "2026-11-21T08:00:00Z", {})
    (tmp_path / "check.json").write_text(result.model_dump_json())
    asked = "{{ lookup('alluxio.fuse.said', 'alluxio_check_fail_on') }}"
    report = {
        "name": "Report",
        "ansible.builtin.include_role": {"name": "check", "tasks_from": "report"},
        "vars": {"check_run_dir": str(tmp_path), "check_fail_on": asked},
    }
    variables = {"ansible_python_interpreter": sys.executable, **fail_on}
    play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": [report]}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == ends[0], done.stdout + done.stderr
    assert ends[1] in done.stdout
    assert (tmp_path / "report.html").exists()


def test_the_playbook_hands_it_on() -> None:
    *_, last = yaml.safe_load((ROOT / "playbooks/check.yml").read_text())
    assert "lookup('alluxio.fuse.said', 'alluxio_check_fail_on')" in last["tasks"][-1]["vars"]["check_fail_on"]
