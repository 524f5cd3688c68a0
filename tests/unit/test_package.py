"""One version and one set of requirements, for collection, package and chart."""

import re
from pathlib import Path

import yaml

import alluxio_fuse

ROOT = Path(__file__).parents[2]


def test_one_version() -> None:
    said = {
        yaml.safe_load((ROOT / name).read_text())["version"]
        for name in ("galaxy.yml", "charts/alluxio-fuse/Chart.yaml")
    }
    assert said == {alluxio_fuse.__version__}
    newest = re.search(r"^## (\d\S*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == alluxio_fuse.__version__


def test_collections_that_are_needed_are_those_that_are_used() -> None:
    files = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    used = {
        name for path in files for name in re.findall(r"^\s+(?:- )?(\w+\.\w+)\.\w+:$", path.read_text(), re.MULTILINE)
    }
    needed = yaml.safe_load((ROOT / "galaxy.yml").read_text())["dependencies"]
    assert used - {"ansible.builtin", "alluxio.fuse"} == needed.keys()
