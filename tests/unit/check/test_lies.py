"""Lies planted in what a node measured: none may pass, each has to be named."""

from collections.abc import Callable
from typing import Any

import pytest

from alluxio_fuse.check.verdict import Check, check

SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}
Measured = dict[str, Any]


def judged(measured: Measured, gate: dict[str, Any] | None = None, **settings: Any) -> Check:
    return check([measured], gate or {}, SETTINGS | settings, "2026-11-21T08:00:00Z", {})


def each(measured: Measured, path: str, state: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Measured:
    def applied(one: dict[str, Any]) -> dict[str, Any]:
        return one | change(one) if (one["path"], one["state"]) == (path, state) else one

    return measured | {key: [applied(one) for one in measured[key]] for key in ("results", "kept")}


def test_without_a_lie_it_passes(measured: Measured) -> None:
    result = judged(measured)
    assert result.verdict == "PASS"
    assert {row.established for row in result.datasets[0].rows} == {True}
    assert result.datasets[0].disk_ratio is not None
    assert result.datasets[0].disk_ratio.median == pytest.approx(1.6)


def problem(what: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda _: {"verified": {"compared": 1, "digested": 1, "wrong": 1, "problems": [{"path": "a", "what": what}]}}


@pytest.mark.parametrize(
    ("lie", "verdict", "reason"),
    [
        (
            lambda m: each(
                m, "mount", "client-cache", lambda _: {"wrong": 1, "problems": [{"path": "a", "what": "9 of 10 bytes"}]}
            ),
            "FAIL",
            "a: 9 of 10 bytes",
        ),
        (lambda m: each(m, "mount", "client-cache", problem("wrong digest")), "FAIL", "a: wrong digest"),
        (lambda m: each(m, "mount", "cold", problem("wrong digest")), "FAIL", "a: wrong digest"),
        (lambda m: each(m, "mount", "page-cache", lambda o: {"files": o["files"] - 1}), "FAIL", "files and"),
        (
            lambda m: each(
                m, "mount", "client-cache", lambda _: {"mount": {"point": "/", "type": "ext4", "source": "x"}}
            ),
            "CANNOT TELL",
            "not on a FUSE mount",
        ),
        (
            lambda m: each(m, "mount", "client-cache", lambda _: {"resident_before": 1.0}),
            "CANNOT TELL",
            "in the page cache before",
        ),
        (lambda m: each(m, "disk", "disk", lambda _: {"storage_bytes": 0}), "CANNOT TELL", "came from the device"),
        (lambda m: each(m, "disk", "disk", lambda _: {"clock_step_s": -60.0}), "CANNOT TELL", "step of -60.0 s"),
        (lambda m: m | {"results": m["results"][1:]}, "CANNOT TELL", "was not warmed"),
        (
            lambda m: each(m, "mount", "warm-up", lambda _: {"repeats_mb_per_s": [100.0, 200.0]}),
            "CANNOT TELL",
            "not steady: warm-up passes of 100, 200 MB/s",
        ),
        (lambda m: m | {"kept": []}, "CANNOT TELL", "no measurement of that was kept"),
        (
            lambda m: (
                m
                | {
                    "results": [o | {"verified": None} for o in m["results"]],
                    "kept": [o | {"verified": None} for o in m["kept"]],
                }
            ),
            "CANNOT TELL",
            "no digest was compared",
        ),
        (lambda m: m | {"results": []}, "CANNOT TELL", "no pass was made"),
    ],
    ids=[
        "truncated file",
        "wrong bytes",
        "wrong bytes in a first read",
        "reader skips a file",
        "mount missing",
        "page cache left warm",
        "disk answers from memory",
        "clock jump",
        "JVM not warmed",
        "JVM not steady",
        "caches filled before",
        "digests never compared",
        "nothing measured",
    ],
)
def test_a_lie_does_not_pass(
    measured: Measured, lie: Callable[[Measured], Measured], verdict: str, reason: str
) -> None:
    result = judged(lie(measured))
    assert result.verdict == verdict
    assert any(reason in said for said in result.reasons)


def test_one_slow_node_of_many_fails(measured: Measured) -> None:
    slow = each(measured, "mount", "client-cache", lambda o: {"files_per_s": o["files_per_s"] / 10}) | {"host": "node2"}
    result = check([measured, slow], {"min_disk_ratio": 1.0}, SETTINGS, "", {})
    assert result.verdict == "FAIL"
    assert [reason.split(":")[0] for reason in result.reasons] == ["imagenet on node2"]


def test_noise_across_the_gate_gives_no_verdict(measured: Measured) -> None:
    rates = iter([2000.0, 20000.0, 3000.0, 16000.0, 5000.0] * 2)
    noisy = each(measured, "mount", "client-cache", lambda _: {"files_per_s": next(rates)})
    result = judged(noisy, {"min_disk_ratio": 1.0})
    assert result.verdict == "CANNOT TELL"
    assert "too noisy to tell" in result.reasons[0]


def test_mounts_to_compare_with_are_compared_and_decide_nothing(measured: Measured) -> None:
    right = [one for one in measured["results"] if (one["path"], one["state"]) == ("disk", "disk")]
    counted = {"client_external": 1e9, "worker": 1e9, "client_cache": 0.0, "under_store": 0.0}
    other = [
        one
        | {"path": "defaults", "state": "worker", "root": "/mnt/defaults", "files_per_s": one["files_per_s"] / 2}
        | {"mount": {"point": "/mnt/defaults", "type": "fuse", "source": "x"}, "counters": counted}
        for one in right
    ]
    result = judged(measured | {"results": measured["results"] + other})
    assert result.verdict == "PASS"
    assert result.datasets[0].compared["defaults"].median == pytest.approx(3.2)
    broken = [one | {"resident_before": 1.0} for one in other]
    assert judged(measured | {"results": measured["results"] + broken}).verdict == "PASS"


def test_a_busy_machine_gives_no_verdict(measured: Measured) -> None:
    busy = measured | {"results": [one | {"foreign_cpu": 0.6} for one in measured["results"]]}
    result = judged(busy, {"min_disk_ratio": 9.0})
    assert result.verdict == "CANNOT TELL"
    assert "other work kept 60% of the processors busy" in result.reasons[0]


def test_noise_far_above_the_gate_does_not_matter(measured: Measured) -> None:
    rates = iter([20000.0, 80000.0, 30000.0, 60000.0, 50000.0] * 2)
    noisy = each(measured, "mount", "client-cache", lambda _: {"files_per_s": next(rates)})
    assert judged(noisy, {"min_disk_ratio": 1.0}).verdict == "PASS"


def test_without_a_gate_speed_is_told_and_not_judged(measured: Measured) -> None:
    """As of 50,000 files of 27 KB at 0.40 x the disk, on a busy machine: nothing is wrong, no more was asked for."""
    slow = each(measured, "mount", "client-cache", lambda one: {"files_per_s": one["files_per_s"] / 4})
    result = judged(slow | {"results": [one | {"foreign_cpu": 0.6} for one in slow["results"]]})
    assert (result.verdict, result.gate.said()) == ("PASS", "none (no GPU): speed is reported, not judged")
    assert "0.40 x (0.40 to 0.40); speed is reported, not judged" in result.reasons[1]
    assert judged(slow, {"min_disk_ratio": 0.5}).verdict == "FAIL"


@pytest.mark.parametrize(
    ("lie", "verdict"),
    [
        (lambda m: each(m, "mount", "client-cache", problem("wrong digest")), "FAIL"),
        (lambda m: each(m, "mount", "client-cache", lambda one: {"files": one["files"] - 1}), "FAIL"),
        (lambda m: each(m, "mount", "client-cache", lambda _: {"resident_before": 0.5}), "CANNOT TELL"),
        (lambda m: m | {"results": [], "kept": []}, "CANNOT TELL"),
        (lambda m: m | {"failed": "no such file"}, "FAIL"),
    ],
)
def test_without_a_gate_bytes_files_and_states_are_judged(
    measured: Measured, lie: Callable[[Measured], Measured], verdict: str
) -> None:
    assert judged(lie(measured)).verdict == verdict


def test_slower_than_the_disk_fails(measured: Measured) -> None:
    result = judged(measured, {"min_disk_ratio": 2.0})
    assert result.verdict == "FAIL"
    assert "1.60 x" in result.reasons[0]


@pytest.mark.parametrize(("files_per_s", "verdict"), [(7000.0, "PASS"), (12857.0, "FAIL")])
def test_the_gate_of_gpus(measured: Measured, files_per_s: float, verdict: str) -> None:
    assert judged(measured, {"name": "8 x H100, resnet50", "files_per_s": files_per_s}).verdict == verdict


def test_a_sample_better_cached_than_the_set_counts_for_its_share_only(measured: Measured) -> None:
    mixed = measured | {"residency": {"client_cache": 0.5, "worker": 0.5}}
    result = judged(mixed, {"files_per_s": 7000.0})
    assert result.verdict == "FAIL"  # 2 / (1/8160 + 1/900) files/s
    assert "1621 files/s" in result.reasons[0]


def test_without_gpus_too_a_sample_counts_for_its_share_only(measured: Measured) -> None:
    mixed = measured | {"residency": {"client_cache": 0.1, "worker": 0.0, "under_store": 0.9}}
    assert judged(measured, {"min_disk_ratio": 1.0}).verdict == "PASS"
    result = judged(mixed, {"min_disk_ratio": 1.0})
    assert result.verdict == "FAIL"
    assert "222 files/s" in result.reasons[0]  # 1 / (0.1/8160 + 0.9/200)


def test_gpus_without_a_published_figure_give_no_verdict(measured: Measured) -> None:
    result = judged(measured, {"name": "unknown"})
    assert result.verdict == "CANNOT TELL"
    assert "no public figure" in result.reasons[0]


def test_a_level_that_was_not_measured_gives_no_verdict(measured: Measured) -> None:
    mixed = measured | {"kept": [], "residency": {"client_cache": 0.5, "worker": 0.5}}
    assert judged(mixed, {"files_per_s": 100.0}, disruptive=False).verdict == "CANNOT TELL"


def test_an_edited_gate_is_said(measured: Measured) -> None:
    result = judged(measured, {"name": "8 x H100", "files_per_s": 10.0, "planned": {"files_per_s": 12857}})
    assert result.gate.said() == "8 x H100: 10 files/s (EDITED, the plan has files_per_s 12857)"
    assert result.verdict == "CANNOT TELL"
    assert "EDITED below the plan's own; small files, files/s, at the planned mix: 8160 files/s" in result.reasons[0]
    within = judged(measured, {"name": "8 x H100", "files_per_s": 10.0, "planned": {"files_per_s": 7000}})
    assert within.verdict == "PASS"


def test_a_harmless_check_says_what_it_did_not_test(measured: Measured) -> None:
    result = judged(measured | {"kept": []}, disruptive=False)
    assert result.verdict == "PASS"
    untested = [row for row in result.datasets[0].rows if not row.established]
    assert [(row.state, row.kind) for row in untested] == [
        ("cold", "small"),
        ("worker", "small"),
        ("cold", "large"),
        ("worker", "large"),
    ]
    assert {row.why for row in untested} == {"not tested: alluxio_check_disruptive is false"}


def test_a_bad_pass_is_left_out_and_said(measured: Measured) -> None:
    bad = iter([0.5, 0.0, 0.0, 0.0, 0.0] * 2)
    result = judged(each(measured, "mount", "client-cache", lambda _: {"resident_before": next(bad)}))
    row = next(row for row in result.datasets[0].rows if (row.state, row.kind) == ("client-cache", "small"))
    assert row.mb_per_s is not None
    assert row.mb_per_s.passes == 4
    assert row.why == "1 of 5 passes left out: 50% was in the page cache before"


TRAINING = {"accelerators": 1, "batch": 400, "compute_s": 0.435, "utilisation": 0.9}


@pytest.mark.parametrize(("reached", "verdict"), [(0.97, "PASS"), (0.6, "FAIL")])
def test_emulated_accelerators_have_to_be_busy(measured: Measured, reached: float, verdict: str) -> None:
    small = next(one for one in measured["results"] if (one["path"], one["state"]) == ("mount", "client-cache"))
    trained = measured | {
        "results": [*measured["results"], *[small | {"kind": "training", "utilisation": reached}] * 5]
    }
    gate = {"name": "1 x A100 on resnet50", "files_per_s": 827.6, "training": TRAINING}
    result = judged(trained, gate)
    assert result.verdict == verdict
    assert any("emulated training, 1 accelerators, utilisation" in f.reason for f in result.datasets[0].findings)
    partly = judged(trained | {"residency": {"client_cache": 0.5, "worker": 0.5}}, gate)
    assert not any("emulated" in finding.reason for finding in partly.datasets[0].findings)


def test_each_node_has_a_gate_of_its_own(measured: Measured) -> None:
    small = measured | {"host": "one-gpu", "gate": {"name": "1 x A100", "files_per_s": 800.0}}
    large = measured | {"host": "eight-gpus", "gate": {"name": "8 x H100", "files_per_s": 12857.0}}
    result = check([small, large], {}, SETTINGS, "", {})
    assert result.verdict == "FAIL"
    assert [reason.split(":")[0] for reason in result.reasons] == ["imagenet on eight-gpus"]


def test_a_node_in_use_is_left_alone(measured: Measured) -> None:
    result = judged(measured | {"results": [], "in_use": ["python (12)", "GPU 0 (97%)"]}, disruptive=False)
    assert result.verdict == "CANNOT TELL"
    assert "left alone, in use by python (12), GPU 0 (97%)" in result.reasons[0]
    untested = [row.why for row in result.datasets[0].rows if not row.established]
    assert set(untested) == {"not tested: left alone, in use by python (12), GPU 0 (97%)"}


def test_a_node_that_was_not_measured_fails_the_fleet(measured: Measured) -> None:
    """It drops out of the play, and the rest would pass."""
    silent = check([measured], {}, SETTINGS, "", {}, hosts=[measured["host"], "gpu-9"])
    assert silent.verdict == "FAIL"
    assert silent.reasons == ["gpu-9: it was to be measured, and did not answer"]
    keys = ("name", "source", "mount_point", "client_cache_bytes")
    failed = {key: measured[key] for key in keys} | {"host": "gpu-9", "failed": "no such file"}
    result = check([measured, failed], {}, SETTINGS, "", {}, hosts=[measured["host"], "gpu-9"])
    assert result.verdict == "FAIL"
    assert result.reasons == ["imagenet on gpu-9: not measured: no such file"]


def test_one_surviving_pass_is_no_median(measured: Measured) -> None:
    bad = iter([0.5, 0.5, 0.5, 0.0, 0.0] * 2)
    result = judged(each(measured, "mount", "client-cache", lambda _: {"resident_before": next(bad)}))
    assert result.verdict == "CANNOT TELL"
    assert any("only 2 passes have proven their state: 3 of 5 passes left out" in one for one in result.reasons)


def test_large_files_warm_the_jvm_where_there_are_no_others(measured: Measured) -> None:
    small = measured["manifest"]["small"]
    header = measured["manifest"] | {
        "small": {"files": 0, "bytes": 0},
        "files": measured["manifest"]["files"] - small["files"],
        "bytes": measured["manifest"]["bytes"] - small["bytes"],
    }
    large = [one for one in measured["results"] if one["kind"] == "large"]
    kept = [one for one in measured["kept"] if one["kind"] == "large"]
    cold = {"mb_per_s": 1.0}
    result = judged(measured | {"manifest": header, "results": large, "kept": kept}, cold)
    assert "imagenet on node1: the JVM of the mount was not warmed before it was measured" in result.reasons


def test_mb_per_s_are_those_of_the_files_that_hold_the_bytes(measured: Measured) -> None:
    """One large index beside many pictures is not what a GPU waits for; a set of shards has no files/s gate."""
    header = measured["manifest"]
    gate = {"name": "8 x V100", "mb_per_s": 1.0, "files_per_s": 1.0}
    few = header | {"large": {"files": 1, "bytes": header["small"]["bytes"] // 100}}
    said = [one.reason for one in judged(measured | {"manifest": few}, gate).datasets[0].findings]
    assert any(one.startswith("small files, MB/s") for one in said)
    assert not any(one.startswith("large files, MB/s") for one in said)
    large = {"files": 10, "bytes": 10**12}
    shards = header | {"large": large, "sizes": [[1 << 16, 9990, 499_500_000], [1 << 37, 10, 10**12]]}
    said = [one.reason for one in judged(measured | {"manifest": shards}, gate).datasets[0].findings]
    assert any(one.startswith("large files, MB/s") for one in said)
    assert not any("files/s" in one for one in said)
