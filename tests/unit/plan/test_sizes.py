"""The plan follows from how large files are, where their source was listed; else from their mean size."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes as Counted
from fleets import filesystem, fleet
from hypothesis import given
from hypothesis import strategies as st

from alluxio_fuse.plan import Plan, plan
from alluxio_fuse.plan.rules.caches import BLOCK, PAGE
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.units import MIB

Files = Mapping[int, int]
FILES, BYTES = 10_000, 20_000_000_000
ALIKE: Files = {2_000_000: 10_000}
MIXED: Files = {100_000: 9_990, 1_900_100_000: 10}


def source(files: Files) -> dict[str, Any]:
    """What is found at a source with {size: number} of files."""
    counted = Counted()
    for size, number in files.items():
        for _ in range(number):
            counted.add(size)
    return {"state": "ok", "detail": None, "files": counted.files, "bytes": counted.bytes, "sizes": counted.rows()}


def hosts(found: Mapping[str, dict[str, Any]], disk: float = 200, nodes: int = 1, **declared: Any) -> dict[str, Any]:
    """Nodes with eight GPUs each, and a dataset for each of these sources."""
    said = {
        "alluxio_environment": "test",
        "alluxio_platform": "containers",
        "alluxio_cache_tiers": [{"medium": "ssd", "path": "/mnt/nvme"}],
        "alluxio_force": ["set_fits_caches"],
        "alluxio_datasets": [{"name": name, "source": f"s3://bucket/{name}", **declared} for name in found],
    }
    media = [filesystem("/", 200), filesystem("/mnt/nvme", disk)]
    about = {f"s3://bucket/{name}": known for name, known in found.items()}
    return fleet(nodes, said, memory=256, cpus=64, gpus=("Tesla V100",) * 8, filesystems=media, sources=about)


def of(found: Files, **declared: Any) -> Plan:
    """The plan for one dataset."""
    return plan(hosts({"data": source(found)}, **declared))


def assumed(made: Plan) -> str | None:
    """What the plan says of mean sizes."""
    return next((each["message"] for each in made.assumptions if each["name"] == "mean_file"), None)


def rows(sizes: Iterable[int]) -> Sizes:
    counted = Counted()
    for size in sizes:
        counted.add(size)
    return Sizes.of_rows(counted.rows())


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=50), st.sampled_from([PAGE, BLOCK]))
def test_what_is_planned_for_holds_all_pages_and_is_no_more_than_without_a_listing(sizes: list[int], unit: int) -> None:
    taken = sum(max(1, -(-size // unit)) for size in sizes)
    most = rows(sizes).parts(unit)
    assert taken <= most <= Sizes.unlisted(len(sizes), max(1, sum(sizes))).parts(unit)


@pytest.mark.parametrize("size", [1, 100_000, PAGE])
def test_files_of_a_page_at_most_are_counted_exactly(size: int) -> None:
    assert rows([size] * 1000).parts(PAGE) == 1000
    assert rows([size] * 1000).bytes_per_part(PAGE) == size


@given(st.lists(st.integers(1, 1 << 40), min_size=2, max_size=2))
def test_without_a_listing_smaller_files_come_first(means: list[int]) -> None:
    less, more = sorted(means)
    assert Sizes.unlisted(100, 100 * less).bytes_per_part(PAGE) <= Sizes.unlisted(100, 100 * more).bytes_per_part(PAGE)


def test_sets_of_the_same_files_and_bytes_take_what_their_own_files_take() -> None:
    alike, mixed = of(ALIKE), of(MIXED)
    assert [(one.files, one.bytes) for made in (alike, mixed) for one in made.datasets] == [(FILES, BYTES)] * 2
    gets = [made.fleet["under_store"].amount["data"]["first_epoch"]["gets"] for made in (alike, mixed)]
    assert gets == [10_000, 9_990 + 10 + 19_001_000_000 // BLOCK]
    pages = [20_000, 9_990 + 10 + 19_001_000_000 // PAGE]
    for made, count in zip((alike, mixed), pages, strict=True):
        assert f"512 bytes for each of {count} pages" in made.nodes["node-0"]["fuse/data"]["heap"].why
    caches = [next(each for each in made.nodes["node-0"]["node"]["cache_media"].amount if "client" in each["name"])
              for made in (alike, mixed)]  # fmt: skip
    assert caches[1]["size"] - caches[0]["size"] == pytest.approx((pages[1] - pages[0]) * 4096, abs=MIB)


def test_inodes_are_counted_for_the_files_that_are_there() -> None:
    def warned(files: Files) -> bool:
        said = hosts({"data": source(files)})
        said["node-0"]["facts"]["filesystems"][1]["inodes_free"] = 54_000
        said["node-0"]["variables"]["alluxio_force"] = ["set_fits_caches", "inodes_fit"]
        return any("inodes_fit" in each["message"] for each in plan(said).warnings)

    assert not warned(ALIKE)
    assert warned(MIXED)


@pytest.mark.parametrize(
    ("files", "counts", "why"),
    [
        (ALIKE, False, "no files/s: 0% of a dataset's bytes"),
        (MIXED, False, "no files/s: 5% of a dataset's bytes"),
        ({150_000: 100_000, 10_000_000_000: 9}, True, "files/s: 14% of a dataset's bytes"),
        ({20_000: 10_000, 9_900_000_000: 2}, False, "no files/s: 1% of a dataset's bytes"),
    ],
)
def test_files_per_second_count_where_files_are_samples(files: Files, counts: bool, why: str) -> None:
    gate = of(files).nodes["node-0"]["node"]["gate"]
    assert (gate.amount.files_per_s is not None) == counts, gate
    assert why in gate.why


def test_the_set_whose_files_gain_most_is_cached_first() -> None:
    def whole(found: Mapping[str, Files]) -> list[str]:
        made = plan(hosts({name: source(files) for name, files in found.items()}, disk=45, nodes=4))
        served = made.fleet["served_from"].amount
        return [name for name in found if served[name]["client_cache"] == 1]

    assert whole({"a": ALIKE, "b": MIXED}) == ["b"]
    assert whole({"a": MIXED, "b": ALIKE}) == ["a"]


def test_only_what_was_not_counted_by_size_is_assumed_to_be_of_the_mean() -> None:
    assert assumed(of(ALIKE)) is None
    known = source(ALIKE)
    found = {"listed": known, "told": known | {"sizes": None}}
    assert assumed(plan(hosts(found))) == (
        "files of told are taken to be of the mean size; memory is planned for any sizes"
    )


def test_a_plan_is_the_same_on_the_first_run_and_on_later_ones() -> None:
    first = hosts({"data": source(MIXED)})
    second = hosts({"data": source(MIXED)})
    second["node-0"]["facts"]["manifests"] = {"data": "s3://bucket/data"}
    assert plan(second).dump() == plan(first).dump()


def test_a_declared_shape_is_planned_alike_whether_or_not_a_listing_ends() -> None:
    """A second run may list within the limit what the first one could not."""
    uncounted = source(MIXED) | {"files": None, "bytes": None, "sizes": None}
    known = [plan(hosts({"data": one}, files=FILES, bytes=BYTES)) for one in (uncounted, source(MIXED), source(ALIKE))]
    assert known[0].dump() == known[1].dump() == known[2].dump()
    assert "files of data" in (assumed(known[0]) or "")


def test_a_histogram_of_other_files_than_the_declared_ones_does_not_count() -> None:
    assert assumed(of(MIXED, files=FILES)) is None
    assert "files of data" in (assumed(of(MIXED, files=FILES + 1)) or "")


def test_the_sample_is_of_images_and_shards() -> None:
    said = hosts({})
    del said["node-0"]["variables"]["alluxio_datasets"]
    made = plan(said)
    assert assumed(made) is None
    assert made.nodes["node-0"]["node"]["gate"].amount.files_per_s == pytest.approx(8 * 1166 * 0.9)
    assert made.fleet["under_store"].amount["imagenet-sample"]["first_epoch"]["gets"] == 4000 + 6 * 8


@pytest.mark.parametrize("tib", [1, 5, 8, 200])
def test_pages_are_planned_for_as_far_as_one_medium_holds_them(tib: int) -> None:
    """A client cache lies on one disk: an index of every page of a larger set would take the node's memory."""
    disks = [filesystem(f"/mnt/nvme{number}", 3500, inodes_free=400_000_000) for number in range(2)]
    said = {
        "alluxio_cache_tiers": [{"medium": "ssd", "path": f"/mnt/nvme{number}"} for number in range(2)],
        "alluxio_datasets": [{"name": "data", "source": "s3://bucket/data", "files": 1000, "bytes": f"{tib}Ti"}],
        "alluxio_force": ["set_fits_caches"],
    }
    made = plan(fleet(2, said, memory=2048, cpus=192, filesystems=[filesystem("/", 400), *disks]))
    fuse = made.nodes["node-0"]["fuse/data"]
    found = re.search(r"each of (\d+) pages", fuse["heap"].why)
    assert found
    most = min(tib << 40, 2 * (3500 << 30))
    held = 0.95 * fuse["client_cache"].amount.size  # Alluxio keeps the rest for itself
    assert held <= int(found[1]) * PAGE <= 1.01 * most


def test_a_node_without_a_disk_is_planned_for_its_memory() -> None:
    said = {"alluxio_datasets": [{"name": "data", "source": "s3://bucket/data", "files": 1000, "bytes": "1Gi"}]}
    made = plan(fleet(2, said, filesystems=[]))
    assert made.nodes["node-0"]["fuse/data"]["client_cache"].amount.medium == "memory"
