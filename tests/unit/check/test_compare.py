"""Two runs are compared row by row, and a change counts only beyond noise."""

import json
from pathlib import Path
from typing import Any

import pytest
from aims import aims

from alluxio_fuse.check.verdict import Check, check
from alluxio_fuse.report import compare

SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}


def judged(measured: dict[str, Any], **settings: Any) -> Check:
    return check([measured], {}, SETTINGS | settings, "2026-11-21T08:00:00Z", {})


def times(measured: dict[str, Any], state: str, factor: float) -> dict[str, Any]:
    changed = [
        one | {"files_per_s": one["files_per_s"] * factor} if one["state"] == state else one
        for one in measured["results"]
    ]
    return measured | {"results": changed}


@pytest.mark.parametrize(
    ("factor", "word"), [(1.0, "within noise"), (1.02, "within noise"), (2.0, "faster"), (0.5, "slower")]
)
def test_a_change_counts_beyond_noise_only(measured: dict[str, Any], factor: float, word: str) -> None:
    changes = {c.key[2:]: c for c in compare.compare(judged(measured), judged(times(measured, "client-cache", factor)))}
    changed = changes["small", "mount", "client-cache"]
    assert str(changed.word) == word
    assert changed.ratio == pytest.approx(factor)
    assert changes["small", "mount", "page-cache"].word == "within noise"


def test_a_row_of_one_run_alone_is_said(measured: dict[str, Any]) -> None:
    without = measured | {"kept": []}
    assert "only in the first" in compare.render(judged(measured), judged(without))
    assert "only in the second" in compare.render(judged(without), judged(measured))


def test_unlike_settings_are_said(measured: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "check.json").write_text(judged(measured).model_dump_json())
    other = tmp_path / "other.json"
    other.write_text(judged(measured, readers=8).model_dump_json())
    compare.main([str(tmp_path), str(other)])
    said = capsys.readouterr().out
    assert "unlike   settings" in said
    assert "verdicts PASS, PASS" in said
    with pytest.raises(SystemExit, match="usage"):
        compare.main([])


def test_a_result_of_a_version_with_a_seed_of_its_own_is_read(measured: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "check.json"
    said = json.loads(judged(measured).model_dump_json())
    file.write_text(json.dumps(said | {"settings": said["settings"] | {"seed": 2012}}))
    assert compare.load(str(tmp_path)) == judged(measured)


def test_aims_are_ratios_of_one_run(measured: dict[str, Any]) -> None:
    def peer(name: str, speed: float, cpu: float) -> list[dict[str, Any]]:
        mount = {"point": f"/mnt/{name}", "type": "fuse.x", "source": "x"}
        as_peer = {"path": name, "state": "cached", "root": f"/mnt/{name}", "mount": mount, "cpu_s_per_gb": cpu}
        right = [one for one in measured["results"] if (one["path"], one["state"]) == ("mount", "client-cache")]
        return [one | as_peer | {"files_per_s": speed} for one in right]

    peers = peer("slow", 1000.0, 9.0) + peer("fast", 4000.0, 1.0)
    rows = judged(measured | {"results": measured["results"] + peers}).datasets[0].rows
    lines = {aim.name: aim.line() for aim in aims(rows)}
    assert lines["small_vs_best_peer"] == "aim small_vs_best_peer 2.04 >=2 met (fast, cached)"
    assert lines["small_vs_disk"] == "aim small_vs_disk 1.60 >=1.2 met (disk)"
    assert lines["small_cpu_per_gb_vs_best_peer"].startswith("aim small_cpu_per_gb_vs_best_peer 1.50 <=1 missed")
    assert lines["small_vs_upstream_defaults"] == "aim small_vs_upstream_defaults - >=9 missed (upstream, worker)"


def test_what_a_part_leaves_out_is_expected_in_its_client_cache_alone(measured: dict[str, Any]) -> None:
    part = {"stage": {"medium": "memory"}, "staged_files": {"small": 4000, "large": 2}, "results": [], "kept": []}
    rest = {"cache_of_rest": True}
    expected = {(row.state, row.kind) for row in judged(measured | part | rest).datasets[0].rows}
    every = {("cold", "small"), ("staged", "small"), ("cold", "large"), ("staged", "large")}
    assert expected == every | {("client-cache", "large")}
    without = {(row.state, row.kind) for row in judged(measured | part | {"client_cache_bytes": 0}).datasets[0].rows}
    assert without == every | {("worker", "small"), ("worker", "large")}


def test_pages_of_a_copy_are_expected_of_files_that_it_has(measured: dict[str, Any]) -> None:
    part = {"stage": {"medium": "ssd"}, "staged_files": {"small": 4000, "large": 0}, "results": [], "kept": []}
    expected = {(row.state, row.kind) for row in judged(measured | part).datasets[0].rows}
    assert {kind for state, kind in expected if state == "page-cache"} == {"small"}


def test_the_jvm_counts_as_warm_by_the_files_that_it_was_read_for(measured: dict[str, Any]) -> None:
    """Where all small files are staged, large ones warm it."""
    made = [
        one for one in measured["results"] if one["path"] == "mount" and one["state"] in ("warm-up", "client-cache")
    ]
    large = [one | {"kind": "large"} for one in made]
    assert not [f for f in judged(measured | {"results": large}).datasets[0].findings if "JVM" in f.reason]
    unwarmed = [one for one in large if one["state"] != "warm-up"]
    (found,) = [f for f in judged(measured | {"results": unwarmed}).datasets[0].findings if "JVM" in f.reason]
    assert found.outcome == "CANNOT TELL"


def test_passes_that_fill_a_client_cache_with_large_files_are_no_unsteady_jvm(measured: dict[str, Any]) -> None:
    warm_up = next(one for one in measured["results"] if one["state"] == "warm-up")
    results = [*measured["results"], warm_up | {"kind": "large", "repeats_mb_per_s": [100.0, 2000.0]}]
    assert not [f for f in judged(measured | {"results": results}).datasets[0].findings if "JVM" in f.reason]


def test_four_passes_are_too_few_for_an_aim(measured: dict[str, Any]) -> None:
    left_out = next(one for one in measured["results"] if (one["path"], one["state"]) == ("disk", "disk"))
    results = [one | {"storage_bytes": 0} if one is left_out else one for one in measured["results"]]
    lines = {aim.name: aim.line() for aim in aims(judged(measured | {"results": results}).datasets[0].rows)}
    assert lines["small_vs_disk"] == "aim small_vs_disk - >=1.2 missed (disk)"


def test_a_peer_that_asked_its_store_is_not_cached(measured: dict[str, Any]) -> None:
    one = next(one for one in measured["results"] if (one["path"], one["state"]) == ("mount", "client-cache"))
    asked = one | {"path": "peer", "state": "cached", "counters": {"under_store": one["expected_bytes"] * 0.5}}
    rows = judged(measured | {"results": [*measured["results"], asked]}).datasets[0].rows
    (row,) = (row for row in rows if row.path == "peer")
    assert row.why == "50% came from the under store"


def test_aims_of_copies_are_beside_the_same_files_in_memory(measured: dict[str, Any]) -> None:
    def rows_of(path: str, state: str, speed: float, **more: Any) -> list[dict[str, Any]]:
        mount = {"point": f"/mnt/{path}", "type": "tmpfs", "source": "x"}
        said = {"path": path, "state": state, "root": f"/mnt/{path}", "mount": mount, "files_per_s": speed, **more}
        right = [one for one in measured["results"] if (one["path"], one["state"]) == ("mount", "client-cache")]
        return [one | said for one in right]

    unasked = {"medium": "memory", "counters": {"fuse_calls": 0}}
    copies = rows_of("staged", "staged", 50_000.0, **unasked) + rows_of("memory", "memory", 40_000.0)
    lines = {
        aim.name: aim.line()
        for aim in aims(judged(measured | {"results": measured["results"] + copies}).datasets[0].rows)
    }
    assert lines["staged_small_vs_memory"] == "aim staged_small_vs_memory 1.25 >=0.95 met (memory)"
    assert lines["staged_small_vs_best_peer"].endswith("missed (no peer was measured)")
    assert lines["staged_part_small_vs_memory"] == "aim staged_part_small_vs_memory - >=0.75 missed (memory)"
    asked = rows_of("staged", "staged", 50_000.0, medium="memory", counters={"fuse_calls": 1})
    lines = {
        aim.name: aim.line()
        for aim in aims(judged(measured | {"results": measured["results"] + asked}).datasets[0].rows)
    }
    assert lines["staged_small_vs_memory"] == "aim staged_small_vs_memory - >=0.95 missed (memory)"
