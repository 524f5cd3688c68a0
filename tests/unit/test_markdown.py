"""Markdown can be read in a terminal, no link in it leads nowhere, and the messages that it explains are ours."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLUMNS = 120
README_LINES = 120
# A row of a Markdown table cannot be wrapped, nor can what a program printed.
GENERATED = {
    "charts/alluxio-fuse/README.md": "`python tools/chart_files.py`: a table of every value",
    "docs/bench-warm.md": "`make bench-warm`: tables as they were printed",
    "docs/bench.md": "`make bench`: tables as they were printed",
    "docs/plans.md": "`make docs`: plans as they were printed",
    "docs/stores.md": "`make docs`: tables of stores and schemes",
    "docs/variables.md": "`make docs`: tables of every variable",
}
_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_EXPLAINED = re.compile(r"^- (`.+?`)[^`:]*: ", re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def pages() -> list[str]:
    """Markdown files that are committed or about to be."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return sorted(page for page in listed if (ROOT / page).is_file())


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    made: set[str] = set()
    seen: Counter[str] = Counter()
    for heading in _HEADING.findall(prose(page)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        made.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return made


def broken(page: Path) -> list[str]:
    """Relative links of a page that lead to no file, or to no heading."""
    bad = []
    for link in _LINK.findall(_CODE.sub("", prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            bad.append(link)
    return bad


def messages() -> set[str]:
    """The texts that docs/troubleshooting.md explains, but for its last part: what the kernel says."""
    text = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8").partition("## What a job sees")[0]
    return {message for bullet in _EXPLAINED.findall(text) for message in re.findall(r"`([^`]+)`", bullet)}


@pytest.fixture(scope="module")
def sources() -> str:
    """Everything that can say something to a user, with strings of several lines joined."""
    places = (
        "src/**/*.py",
        "plugins/**/*.py",
        "roles/**/*.yml",
        "playbooks/**/*.yml",
        "images/**/*.sh",
        "images/**/*.py",
    )
    text = "\n".join(path.read_text(encoding="utf-8") for place in places for path in sorted(ROOT.glob(place)))
    return re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"', "", text))


@pytest.mark.parametrize("message", sorted(messages()))
def test_messages_are_still_said(message: str, sources: str) -> None:
    assert message in sources, "docs/troubleshooting.md explains a message that nothing says any more"


@pytest.mark.parametrize("page", [page for page in pages() if page not in GENERATED])
def test_lines_fit(page: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    wide = [f"{page}:{number}: {len(line)}" for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
    assert not wide, f"more than {COLUMNS} columns"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    assert broken(ROOT / page) == []


def test_generated_pages_exist() -> None:
    assert set(pages()) >= GENERATED.keys()


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    names = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert names <= {link.partition("#")[0] for link in _LINK.findall(index)}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "# A `title`, twice\n\n## Same\n\n## Same\n\n```\n# no heading\n```\n"
    links = "[a](#a-title-twice) [b](page.md#same-1) [c](https://a.example/#x) [d](#no-heading) [e](absent.md)"
    page.write_text(f"{text}{links} `[f](code.md)`\n")
    assert broken(page) == ["#no-heading", "absent.md"]
