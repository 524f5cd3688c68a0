"""Every lie in the table, each planted in the same deployment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import leftovers
import packages
import pytest
import trees
from bundle import judged, stages
from known_lies import LIES, only_untold, told
from planted import Planted, judge

NAME = "lies"
FILES = {f"class-{i % 7}/{i:04}.bin": 20_000 + 997 * (i % 50) for i in range(400)}
FILES |= {f"big/shard-{i}.bin": (20 << 20) + i for i in range(4)}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    packages.need("fio")
    with trees.source(NAME, FILES) as source:
        said: dict[str, Any] = {
            "alluxio_name": NAME,
            "alluxio_environment": NAME,
            "alluxio_port_offset": 2000,
            "alluxio_datasets": [{"name": "set", "source": f"file://{source}"}],
            "alluxio_gate_min_disk_ratio": 0.01,
        }
        with leftovers.deployment(said) as variables:
            judged(stages("preflight", "plan", "nodes", "services", "warm", **variables))
            yield Planted(NAME, "set", tmp_path_factory.mktemp("lies"))


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, str, str]]]:
    """Lie, verdict, why: printed at the end, which `make test-lies` shows."""
    rows: list[tuple[str, str, str]] = []
    yield rows
    print()
    for name, verdict, why in [("lie", "verdict", "why"), *rows]:
        print(f"{name:<42} | {verdict:<11} | {why}")


def test_without_a_lie_nothing_is_wrong(planted: Planted, table: list[tuple[str, str, str]]) -> None:
    check = judge([planted.measure()])
    table.append(("none", check.verdict, check.reasons[-1]))
    assert check.verdict == "PASS" or (check.verdict == "CANNOT TELL" and only_untold(check)), check.reasons
    assert all(row.established for row in check.datasets[0].rows), [row.why for row in check.datasets[0].rows]


@pytest.mark.parametrize("name", LIES)
def test_a_lie_does_not_pass(
    name: str, planted: Planted, monkeypatch: pytest.MonkeyPatch, table: list[tuple[str, str, str]]
) -> None:
    table.append((name, *told(name, planted, monkeypatch)))
