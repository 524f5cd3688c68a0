"""What the check writes: JSON of its published schema, JUnit XML, a table."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import check_schema
import jsonschema
import pytest

from alluxio_fuse.check import junit, table
from alluxio_fuse.check.verdict import Check, check
from alluxio_fuse.report import html

SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}


@pytest.fixture
def result(measured: dict[str, Any]) -> Check:
    return check([measured], {"min_disk_ratio": 2.0}, SETTINGS, "2026-11-21T08:00:00Z", {"cpus": 2})


SCHEMA = next(path for path, model in check_schema.SCHEMAS.items() if model is Check)


@pytest.mark.parametrize("path", check_schema.SCHEMAS, ids=lambda path: path.name)
def test_the_published_schemas_are_those_of_the_models(path: Path) -> None:
    assert path.read_text() == check_schema.text(check_schema.SCHEMAS[path]), "run: python tools/check_schema.py"


def test_check_json_fits_its_schema_and_reads_back(result: Check) -> None:
    written = json.loads(result.model_dump_json())
    jsonschema.validate(written, json.loads(SCHEMA.read_text()))
    assert Check.model_validate(written) == result
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written | {"verdict": "MAYBE"}, json.loads(SCHEMA.read_text()))


def test_junit_counts_what_failed(result: Check) -> None:
    suite = ET.fromstring(junit.render(result))[0]  # noqa: S314 (our own)
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    assert "1.60 x" in str(suite.findall("testcase/failure")[0].get("message"))


def test_the_table_says_figures_state_and_verdict(result: Check) -> None:
    text = table.render(result)
    line = next(line for line in text.splitlines() if "client-cache" in line and "small" in line)
    assert line.split()[:5] == ["small", "mount", "client-cache", "8160", "936"]
    assert "verdict  FAIL" in text
    assert "* measured when these bytes were read for the first time, last at 2026-11-21T08:00:00Z" in text


@pytest.mark.parametrize(
    ("coverage", "files", "said"),
    [
        ("all", 0, "every digest compared"),
        ("all", 3906, "every digest (3906 are ETags) compared"),
        ("sample", 0, "a sample's digests compared"),
        ("sample", 3000, "a sample's digests and 3000 ETags compared"),
    ],
)
def test_the_title_says_which_digests_are_etags(measured: dict[str, Any], coverage: str, files: int, said: str) -> None:
    header = {**measured["manifest"], "coverage": coverage, "etags": {"files": files}}
    result = check([measured | {"manifest": header}], {}, SETTINGS, "", {})
    assert f", {said}\n" in table.render(result)
    assert (f"the MD5 of {files:,} files is their ETag" in html.render(result)) is bool(files)


def test_numbers_of_readers_are_rows_and_dots_of_their_own(measured: dict[str, Any]) -> None:
    one = next(
        r for r in measured["results"] if (r["path"], r["kind"], r["state"]) == ("mount", "small", "client-cache")
    )
    counted = [{**one, "kind": "readers", "readers": readers} for readers in (32, 4)]
    result = check([measured | {"results": [*measured["results"], *counted]}], {}, SETTINGS, "", {})
    assert [row.heading for row in result.datasets[0].rows if row.kind == "readers"] == ["4 readers", "32 readers"]
    assert "mount, 32 readers: " in html.render(result)
    undecided = [{**one, "resident_before": 1.0} for one in counted]
    result = check([measured | {"results": [*measured["results"], *undecided]}], {}, SETTINGS, "", {})
    assert "32 readers files, mount, client-cache" in table.render(result)


def test_records_are_compared_with_files_of_a_sample_each(measured: dict[str, Any]) -> None:
    large = next(
        r for r in measured["results"] if (r["path"], r["kind"], r["state"]) == ("mount", "large", "client-cache")
    )
    records = large | {"kind": "records", "records": 7000, "seconds": 0.5, "mb_per_s": 1604.0}
    result = check([measured | {"results": [*measured["results"], records]}], {}, SETTINGS, "", {})
    said = (
        "TFRecord against files of a sample each, mount: 14000 records/s against 8160 files/s, 1.72 x; 1.71 x the MB/s"
    )
    assert said in table.render(result)
    assert said in html.render(result)


@pytest.mark.parametrize(
    ("profile", "disruptive", "why"),
    [
        ("tfrecord", True, "no large file is a TFRecord file"),
        ("fio", False, "alluxio_check_disruptive is false"),
        ("open-files", True, "no pass was made"),
    ],
)
def test_a_profile_that_was_not_measured_says_why(
    measured: dict[str, Any], profile: str, disruptive: bool, why: str
) -> None:
    (dataset,) = check([measured], {}, SETTINGS | {"profiles": [profile], "disruptive": disruptive}, "", {}).datasets
    (row,) = {row.why for row in dataset.rows if not row.established}
    assert row.removeprefix("not tested: ") == why
    assert (row == why) == (why == "no pass was made")


def test_one_node_is_no_fleet(result: Check) -> None:
    assert result.fleet == []
    assert "fleet" not in table.render(result)


def test_the_table_says_why_a_state_has_no_figure(measured: dict[str, Any]) -> None:
    text = table.render(check([measured | {"kept": []}], {}, SETTINGS, "", {}))
    assert "small files, mount, cold: the bytes had been read before and no measurement of that was kept" in text
    assert "verdict  CANNOT TELL" in text


def test_what_could_not_be_told_says_how_it_is_measured_again(measured: dict[str, Any]) -> None:
    about = {"again": "ansible-playbook -i inventories/local playbooks/check.yml"}
    unsteady = [one | {"repeats_mb_per_s": [100.0, 200.0]} for one in measured["results"][:1]]
    busy = check([measured | {"results": unsteady + measured["results"][1:]}], {}, SETTINGS, "", about)
    assert busy.verdict == "CANNOT TELL"
    assert table.render(busy).splitlines()[-1] == f"again    {about['again']}"
    first = table.render(check([measured | {"kept": []}], {}, SETTINGS, "", about)).splitlines()
    said = first[first.index(f"again    {about['again']}") + 1 :]
    once = "a first read, measured by site.yml after playbooks/teardown.yml"
    kinds = [(kind, state) for kind in ("small", "large") for state in ("cold", "worker")]
    assert said == [f"         {kind} files, mount, {state}: {once}" for kind, state in kinds]
    assert "again " not in table.render(check([measured], {}, SETTINGS, "", about))


def test_a_cluster_elsewhere_leaves_its_own_states_untested(measured: dict[str, Any]) -> None:
    one = measured | {"own_cluster": False, "first_reads": False, "kept": []}
    (dataset,) = check([one], {"min_disk_ratio": 1.0}, SETTINGS, "", {}).datasets
    rows = {row.state: row.why for row in dataset.rows if (row.path, row.kind) == ("mount", "small")}
    assert rows["client-cache"] == ""
    assert rows["cold"] == rows["worker"] == "not tested: nobody here counts what a cluster elsewhere reads"
    assert [finding.outcome for finding in dataset.findings if finding.outcome != "PASS"] == []
