"""Names and links that Alluxio cannot serve: which they are, that they are refused, and what skipping them does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import source_names
from ansible_collections.alluxio.fuse.plugins.module_utils.source_folder import list_folder
from bundle import C1_ALONE, judged, latest, podman, stages
from object_store import ObjectStore

NAME = "names"
OFFSET = 2200
ASCII = {f"{chr(code)}in {code:02x} {chr(code)}" for code in range(33, 127) if chr(code) not in "/?\\."}
GOOD = ASCII | {
    " ",
    "a.b.",
    "café",
    "cafe\u0301",
    "中文",
    "a\u2028b",
    "\ufeffa",
    "a\uffffb",
    "a\x85b",
    "é" * 127,
    "a%2Fb",
}
ODD = {
    "a?b": source_names.CHARACTER,
    "?": source_names.CHARACTER,
    "a\\b": source_names.CHARACTER,
    "em\U0001f600": source_names.BEYOND_BMP,
    "last\U0010ffff": source_names.BEYOND_BMP,
}
#: What S3 lists in place of U+FFFF; the name itself is listed, too, once it was opened.
LISTED_OTHERWISE: dict[str, set[str]] = {"own": set(), "bucket": {"a\ufffdb"}}
EMPTYING = {"latin\udce9": source_names.NOT_UTF8, "cesu\udced\udca0\udcbd\udced\udcb8\udc80": source_names.NOT_UTF8}
LINKS = {"broken": ("nowhere", source_names.BROKEN_LINK), "circle": ("circle", source_names.BROKEN_LINK)}
LINKS |= {"out": ("../../outside", source_names.LINK_OUT), "up": ("..", source_names.ENDLESS_LINK)}
EMPTIED = [*map(str, range(len(EMPTYING))), "broken", "circle", "out"]


def body(name: str) -> bytes:
    """What a file holds: it differs from that of every other name, and has a size that a speed can be told of."""
    return name.encode() * 1000


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Good and odd names in one folder; what empties a folder's listing in one each, beside a file."""
    with leftovers.folder(Path(f"/var/lib/{NAME}-source")) as parent:
        fill(parent / "set")
        yield parent / "set"


def fill(root: Path) -> None:
    """Make the files."""
    (root / "flat").mkdir(parents=True)
    (root.parent / "outside").write_bytes(b"no container sees this")
    for name in sorted(GOOD | set(ODD)):
        (root / "flat" / name).write_bytes(body(name))
    beside = {str(number): name for number, name in enumerate(EMPTYING)}
    for place in [*beside, *LINKS]:
        (root / place).mkdir()
        (root / place / "beside").write_bytes(b"beside")
    for place, name in beside.items():
        (root / place / name).write_bytes(b"x")
    for place, (target, _) in LINKS.items():
        (root / place / place).symlink_to(target)
    (root / "links").mkdir()
    (root / "links/relative").symlink_to("../flat/café")
    (root / "links/absolute").symlink_to(root / "flat/café")


@pytest.fixture(scope="module")
def variables(store: ObjectStore, folder: Path) -> dict[str, Any]:
    client = store.client()
    store.create_bucket("names")
    for name in sorted(GOOD | set(ODD)):
        if "\\" not in name:  # this store takes it for a slash
            client.put_object(Bucket="names", Key=f"set/flat/{name}", Body=body(name))
    return {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": OFFSET,
        "alluxio_datasets": [
            {"name": "own", "source": f"file://{folder}"},
            {"name": "bucket", "source": "s3://names/set", "s3": store.s3},
        ],
        "alluxio_credentials": {"bucket": {"access_key": store.access_key, "secret_key": store.secret_key}},
        "alluxio_gate_min_disk_ratio": 0.001,
        "alluxio_check_passes": 1,
        **C1_ALONE,
    }


@pytest.fixture(scope="module")
def skipping(variables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A deployment that skips them, after one that was refused."""
    skipped = [one | {"unreadable_names": "skip"} for one in variables["alluxio_datasets"]]
    with leftovers.deployment(variables):
        yield variables | {"alluxio_datasets": skipped}


@pytest.mark.parametrize("which", [0, 1], ids=["folder", "bucket"])
def test_refused_before_services(which: int, skipping: dict[str, Any], variables: dict[str, Any]) -> None:
    one = variables["alluxio_datasets"][which]
    run = stages("plan", "nodes", "services", **variables | {"alluxio_datasets": [one]})
    assert run.status != 0
    count = [len(ODD) + len(EMPTYING) + len(LINKS), len(ODD) - 1][which]
    assert f"{one['source']}: {count} names that Alluxio 2.9.6 cannot serve" in run.output, run.output
    assert "unreadable_names: skip" in run.output
    assert run.output.count(f": {source_names.CHARACTER}") >= 2
    assert f"{NAME}-master" not in podman("ps", "--all", "--format", "{{.Names}}").split()


def test_skipped_by_manifest_warm_and_check(skipping: dict[str, Any], folder: Path) -> None:
    judged(stages("plan", "nodes", "services", "warm", "check", **skipping))
    check = latest("check")
    assert check["verdict"] != "FAIL", check["reasons"]
    assert {(found["name"], found["wrong"]) for found in check["datasets"]} == {("own", 0), ("bucket", 0)}
    wanted = {f"flat/{name}" for name in GOOD} | {f"{place}/beside" for place in (*EMPTIED, "up")}
    assert {entry.path for entry in list_folder(str(folder)) if entry.is_read} == wanted


@pytest.mark.parametrize("dataset", ["own", "bucket"])
def test_every_other_name_is_listed_and_read(skipping: dict[str, Any], dataset: str) -> None:
    mounted = Path(f"/mnt/{NAME}/{dataset}/data/flat")
    assert {name: (mounted / name).read_bytes() for name in GOOD} == {name: body(name) for name in GOOD}
    listed = {found.name for found in mounted.iterdir()}
    assert listed >= GOOD
    assert not listed & set(ODD), "docs/support.md says that no such name is listed as it is"
    others = listed - GOOD - LISTED_OTHERWISE[dataset]
    assert len(others) == 2, f"names beyond U+FFFF are listed with other bytes: {others}"
    for name in ODD:
        with pytest.raises(OSError):  # noqa: PT011 - ENOENT, or EISDIR where the part before ? is a folder
            (mounted / name).read_bytes()


@pytest.mark.parametrize("place", EMPTIED)
def test_one_entry_empties_the_listing_of_its_folder(skipping: dict[str, Any], place: str) -> None:
    mounted = Path(f"/mnt/{NAME}/own/data/{place}")
    assert {"beside"} >= {found.name for found in mounted.iterdir()}
    assert (mounted / "beside").read_bytes() == b"beside"


@pytest.mark.parametrize("link", ["relative", "absolute"])
def test_a_link_within_the_source_is_read_as_a_file(skipping: dict[str, Any], link: str) -> None:
    assert Path(f"/mnt/{NAME}/own/data/links/{link}").read_bytes() == body("café")
