"""The pages about the planner say what the planner does."""

from pathlib import Path

import pytest
import yaml
from fleets import Hosts, document, refusals

from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.problems import INVARIANTS
from alluxio_fuse.plan.schemes import CLAIM, EXPORT, FOLDER, FORMS, HDFS, OSS, S3

#: What README.md calls the sources of a scheme.
WORDS = {FOLDER: "folder", S3: "bucket", OSS: "bucket", HDFS: "HDFS", EXPORT: "NFS export", CLAIM: "claim"}
DOCS = Path(__file__).parents[3] / "docs"


def test_the_examples_are_what_the_planner_prints() -> None:
    assert (DOCS / "plans.md").read_text(encoding="utf-8") == document()


@pytest.mark.parametrize("hosts", refusals().values(), ids=refusals())
def test_what_is_shown_as_refused_is_refused(hosts: Hosts) -> None:
    with pytest.raises(Refused):
        plan(hosts)


def test_every_invariant_is_in_the_page() -> None:
    text = (DOCS / "planner.md").read_text(encoding="utf-8")
    for name, meaning in INVARIANTS.items():
        assert f"| `{name}` | {meaning} |" in text


def test_the_recipe_for_several_disks_names_several() -> None:
    recipe = (DOCS / "recipes.md").read_text(encoding="utf-8").partition("## Nodes with several NVMe disks")[2]
    tiers = yaml.safe_load(recipe.split("```")[1].removeprefix("yaml"))["alluxio_cache_tiers"]
    assert len({tier["path"] for tier in tiers if tier["medium"] == "ssd"}) > 1


def test_the_readme_names_every_kind_of_source() -> None:
    said = (DOCS.parent / "README.md").read_text(encoding="utf-8").partition("A source is ")[2].partition(";")[0]
    assert [scheme for scheme in FORMS if WORDS[scheme] not in said] == []
