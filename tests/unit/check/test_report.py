"""The page: self-contained, well-formed, and its plots hold the numbers."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from alluxio_fuse.check.verdict import Check, check
from alluxio_fuse.report import html

SETTINGS = {"passes": 5, "readers": 4, "bytes": 1 << 32, "disruptive": True}
ABOUT = {"machine": {"cpus": 2}, "plan": {"heap": {"amount": "2 GiB", "why": "a <quarter>"}}, "again": "make check"}
VOID = {"meta", "line", "rect", "circle", "polyline"}


class Outline(HTMLParser):
    """Text of each svg, and whether every tag is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.plots: list[str] = []
        self.tags: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href")]
        if tag == "svg":
            self.plots.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "svg" in self.open:
            self.plots[-1] += data + "\n"


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def result(measured: dict[str, Any]) -> Check:
    return check([measured], {"min_disk_ratio": 1.0}, SETTINGS, "2026-11-21T08:00:00Z", ABOUT)


def test_the_page_fetches_nothing_and_runs_nothing(result: Check) -> None:
    page = html.render(result)
    parsed = outline(page)
    assert parsed.fetched == []
    assert not parsed.tags & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"url\(|@import|https?://", page)
    assert "prefers-color-scheme: dark" in page


def test_the_plots_hold_the_numbers(result: Check) -> None:
    plots = outline(html.render(result)).plots
    small, by_epoch, _, large = plots[:4]
    for row in result.datasets[0].rows:
        assert row.mb_per_s is not None
        plot = small if row.kind == "small" else large
        assert f"{row.mb_per_s.median:,.0f} MB/s ({row.mb_per_s.least:,.0f} to {row.mb_per_s.most:,.0f}" in plot
    for row in (row for row in result.datasets[0].rows if row.kind == "small"):
        assert row.mb_per_s
        assert len(row.epochs) == row.mb_per_s.passes
        for number, speed in enumerate(row.epochs, 1):
            assert f", {number}: {speed:,.1f} MB/s" in by_epoch
    assert "gate: 1 x disk, cold = 585 MB/s" in small
    assert "gate" not in large
    assert "under store: 100%" in plots[-1]
    assert "client cache: 100%" in plots[-1]


def test_the_gate_of_gpus_is_the_line(measured: dict[str, Any]) -> None:
    page = html.render(check([measured], {"name": "8 x A100", "mb_per_s": 759.0}, SETTINGS, "", ABOUT))
    assert "gate 759 MB/s" in outline(page).plots[0]


def test_what_others_wrote_is_text(result: Check) -> None:
    page = html.render(result.model_copy(update={"reasons": ["<b>file</b>"]}))
    assert "&lt;b&gt;file&lt;/b&gt;" in page
    assert "a &lt;quarter&gt;" in page


def test_a_check_without_figures_still_has_a_page(measured: dict[str, Any]) -> None:
    page = html.render(check([measured | {"results": [], "kept": []}], {}, SETTINGS, "", {}))
    assert "CANNOT TELL" in page
    assert outline(page).plots == []
    assert html.render(check([], {}, SETTINGS, "", {}))


def test_a_check_of_a_few_bytes_still_has_a_page(measured: dict[str, Any]) -> None:
    slow = [one | {"mb_per_s": 1e-4, "repeats_mb_per_s": [1e-4]} for one in measured["results"]]
    nothing = [one | {"mb_per_s": 0.0, "repeats_mb_per_s": [0.0]} for one in measured["results"]]
    for results in (slow, nothing):
        one = check([measured | {"results": results, "kept": []}], {"mb_per_s": 759.0}, SETTINGS, "", {})
        assert one.verdict != "PASS"
        assert outline(html.render(one)).plots
