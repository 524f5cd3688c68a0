"""What the pages tell users to write is what the planner takes; the playbooks and targets that they name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from fleets import filesystem, fleet, host

from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.fluid import render
from alluxio_fuse.plan import plan
from alluxio_fuse.plan.intent.fleet import KNOWN_VARIABLES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SECRETS = {"alluxio_credentials", "alluxio_cluster_password"}
SETTINGS = [
    pytest.param(page, block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


@pytest.mark.parametrize(("page", "block"), SETTINGS)
def test_settings_are_planned(page: Path, block: str) -> None:
    said = yaml.safe_load(block)
    datasets = said.get("alluxio_datasets", [{"name": "any", "source": "s3://bucket/any"}])
    said["alluxio_datasets"] = [{"files": 1000, "bytes": "1Gi", **one} for one in datasets]
    platform = "kubernetes" if page.name == "kubernetes.md" else said.get("alluxio_platform", "containers")
    disks = [filesystem("/", 200), *(filesystem(f"/mnt/nvme{number}", 1500) for number in ("", 0, 1))]
    hosts = fleet(2, {**said, "alluxio_platform": platform}, filesystems=disks)
    if platform == "host":
        hosts = {"gpu-1": host({**said, "alluxio_platform": platform}, groups=("gpu_nodes",))}
    made = plan(hosts)
    assert made.fleet["datasets"].amount[0].source == datasets[0]["source"]
    assert [*refusals(made), *render.refusals(made)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_playbooks_and_targets_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for playbook in re.findall(r"playbooks/[a-z_]+\.yml", text):
        assert (ROOT / playbook).is_file(), playbook
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", targets, re.MULTILINE))
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert target in known, target


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "plans.md"], ids=lambda page: page.name)
def test_variables_exist(page: Path) -> None:
    """plans.md shows a misspelled one. Some variables are a playbook's own, given with -e."""
    playbooks = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "playbooks").glob("*.yml")))
    for variable in re.findall(r"\balluxio_(?!fuse\b)[a-z_]*[a-z]", page.read_text(encoding="utf-8")):
        assert variable in KNOWN_VARIABLES | SECRETS or f"{variable} " in playbooks, variable
