"""Whatever a scenario applies: `--check` predicted the run, and the run after it changed nothing."""

import json
import os
from pathlib import Path


def test_check_predicts_the_run():
    lines = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "changes.jsonl").read_text().splitlines()
    check, run, again = (json.loads(line) for line in lines[-3:])
    assert check["check"]
    assert run["changed"]
    assert check["changed"] == run["changed"]
    assert again["changed"] == []
