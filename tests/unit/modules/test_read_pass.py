"""What a pass does before it begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import reader, residency
from ansible_collections.alluxio.fuse.plugins.modules import read_pass


@pytest.mark.parametrize(
    ("found", "reads", "resident"),
    [
        ([1.0], 0, 1.0),
        ([0.97, 1.0], 1, 1.0),
        ([0.97, 0.98, 0.95, 0.96], 3, 0.96),
        ([0.6], 0, 0.6),  # a page cache that is too small, or that somebody has emptied
        ([None], 0, None),
    ],
)
def test_pages_that_are_gone_by_accident_are_read_again(
    found: list[float | None], reads: int, resident: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    files = [reader.Entry("a", 3, "")]
    one = {"name": "1", "root": str(tmp_path), "kind": "small", "state": "page-cache", "path": "disk", "verify": False}
    timed, done = reader.timed, []

    def counted(*arguments: Any) -> Any:
        done.append(arguments)
        return timed(*arguments)

    monkeypatch.setattr(residency, "resident_share", lambda *_: found.pop(0))
    monkeypatch.setattr(reader, "timed", counted)
    header = {
        "version": 1,
        "digested": {"seed": 1},
        "small": {"files": 1, "bytes": 3},
        "large": {"files": 0, "bytes": 0},
        "large_bytes": 1 << 24,
    }
    result = read_pass.measure(one, header, files, {"readers": 1, "metrics": {}})
    assert (len(done) - 1, result["resident_before"]) == (reads, resident)
