"""Action plugins take the options that their module documents, and no others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Without pods there is nothing to ask a cluster.
NONE: dict[str, Any] = {"namespace": "data", "pods": []}
REFUSED = {
    "value of until must be one of: running, ended, got: tomorrow": NONE | {"until": "tomorrow"},
    "'timeout_s' is of type str": NONE | {"timeout_s": "soon"},
    "patience. Supported parameters include: context, kubeconfig, namespace": NONE | {"patience": 3},
    "missing required arguments: namespace": {"pods": []},
}


def answers(folder: Path, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What `pods_on_nodes` answers to each of these arguments."""
    names = [f"answer_{number}" for number, _ in enumerate(given)]
    tasks: list[dict[str, Any]] = [
        {
            "block": [{"alluxio.fuse.pods_on_nodes": one, "register": name}],
            "rescue": [{"ansible.builtin.meta": "noop"}],
        }
        for name, one in zip(names, given, strict=True)
    ]
    content = f"{{{{ [{', '.join(names)}] }}}}"
    tasks += [{"ansible.builtin.copy": {"dest": f"{folder}/answers", "content": content, "mode": "0600"}}]
    (folder / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [sys.executable, "-m", "ansible", "playbook", str(folder / "play.yml")]
    environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads((folder / "answers").read_text())
    return found


def test_options_are_those_that_are_documented(tmp_path: Path) -> None:
    fits, *refused = answers(tmp_path, [NONE, *REFUSED.values()])
    assert fits["results"] == []
    for words, answer in zip(REFUSED, refused, strict=True):
        assert words in answer["msg"]
