"""The manifest of a bucket is made on the controller, which shows how far it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oss_stand_in import Serving, oss_stand_in

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with oss_stand_in() as running:
        for number in range(100):
            running.store.put("training", f"set/{number:03}", bytes([number]) * 1000)
        running.store.put("training", "odd/a?", b"x")
        running.store.put("training", "odd/b", b"x")
        yield running


def play(folder: Path, serving: Serving, *arguments: str, **said: Any) -> tuple[str, dict[str, Any]]:
    """What a play shows that makes a manifest, and what the task returns."""
    task = {"source": "oss://training/set", "path": f"{folder}/imagenet.jsonl", "store": serving.oss, **serving.keys}
    tasks = [
        {"name": "Make the manifest", "alluxio.fuse.dataset_manifest": task | said, "register": "made"},
        {
            "ansible.builtin.copy": {"dest": f"{folder}/made", "content": "{{ made | to_json }}", "mode": "0600"},
            "check_mode": False,
        },
    ]
    (folder / "play.yml").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    command = [sys.executable, "-m", "ansible", "playbook", str(folder / "play.yml"), "-vvv", *arguments]
    environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    made = folder / "made"
    return done.stdout + done.stderr, json.loads(made.read_text()) if done.returncode == 0 else {}


def test_it_shows_what_comes_before_it_comes(tmp_path: Path, serving: Serving) -> None:
    shown, made = play(tmp_path, serving)
    told = r"imagenet: 100 files, 0\.0 GB, listed in \d+ s; 100 of them, 0\.0 GB, get digests where none is known"
    assert re.search(told, shown)
    assert shown.index("listed in") < shown.index("imagenet: 64 of 100 files") < shown.index("changed: [localhost]")
    assert (made["changed"], made["manifest"]["files"], made["path"]) == (True, 100, f"{tmp_path}/imagenet.jsonl")
    assert serving.keys["secret_key"] not in shown
    again, made = play(tmp_path, serving)
    assert made["changed"] is False
    assert "listed in" not in again
    assert (shown.count("Make the manifest"), again.count("Make the manifest")) == (2, 1)


def test_check_mode_writes_nothing(tmp_path: Path, serving: Serving) -> None:
    _, made = play(tmp_path, serving, "--check")
    assert made["changed"] is True
    assert not (tmp_path / "imagenet.jsonl").exists()


def test_a_refusal_and_a_warning_are_those_of_the_module(tmp_path: Path, serving: Serving) -> None:
    odd = {"source": "oss://training/odd"}
    shown, _ = play(tmp_path, serving, **odd)
    assert "1 name that Alluxio 2.9.6 cannot serve" in shown
    assert "unreadable_names: skip" in shown
    shown, made = play(tmp_path, serving, **odd, unreadable_names="skip")
    assert made["manifest"]["files"] == 1
    assert "[WARNING]: oss://training/odd: 1 name that Alluxio" in shown
    assert "They are skipped" in shown
    shown, _ = play(tmp_path, serving, **{"secret_key": "canary-wrong"})
    assert "cannot be read: SignatureDoesNotMatch" in shown
    assert "canary-wrong" not in shown
    shown, _ = play(tmp_path, serving, **{"security_token": " canary-token"})
    assert "cannot be read" in shown
    assert "canary-token" not in shown
