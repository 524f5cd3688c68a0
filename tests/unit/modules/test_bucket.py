"""A bucket is listed by several requests at once, whole and in the order of keys."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import bucket, objects
from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import Bucket, Object, Page, listed
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import FILE, FOLDER, KEY

PAGE = 10


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever does not fit in a page is listed side by side."""
    monkeypatch.setattr(bucket, "FEW_PAGES", 1)
    monkeypatch.setattr(bucket, "FULL", 0)


class Store:
    """A store that lists some keys in a request. folder_wise: by the parts of names, as stores on a filesystem do."""

    def __init__(self, keys: list[str], *, folder_wise: bool = False) -> None:
        self.keys = sorted(keys, key=(lambda key: key.split("/")) if folder_wise else None)
        self.asked: list[str] = []
        self.threads: set[int] = set()
        self.broken = ""

    def pages(self, prefix: str, to_slash: bool) -> Iterator[Page]:
        below = [key for key in self.keys if key.startswith(prefix)]
        rows = dict.fromkeys(
            key[: key.index("/", len(prefix)) + 1] if to_slash and "/" in key[len(prefix) :] else key for key in below
        )
        pages = [list(rows)[first : first + PAGE] for first in range(0, len(rows), PAGE)] or [[]]
        for page in pages:
            self.asked.append(prefix)
            self.threads.add(threading.get_ident())
            if self.broken and prefix == self.broken:
                raise OSError("the store is away")
            folders = [one for one in page if to_slash and one.endswith("/") and one != prefix]
            yield Page([Object(one, 1, None, "e") for one in page if one not in folders], folders)

    def bucket(self, prefix: str = "set/") -> Bucket:
        return Bucket(prefix, self.pages, lambda *_: [])


FLAT = [f"set/{number:03}" for number in range(95)]
CLASSES = [f"set/train/n{folder:02}/{number:03}" for folder in range(40) for number in range(25)]
SHAPES = {
    "nothing": [],
    "one page": FLAT[:PAGE],
    "flat": FLAT,
    "classes below one folder": [*CLASSES, *(f"set/val/{number:03}" for number in range(60))],
    "files beside folders": [
        *FLAT[:30],
        "set/0",
        "set/00/a",
        "set/00-a",
        *(f"set/00b/{n}" for n in range(30)),
        "set/z",
    ],
    "a folder for each file": [f"set/{number:03}/x" for number in range(60)],
    "deep": [f"set/a/b/c/d/e/{number:03}" for number in range(60)],
    "markers and no paths": ["set/", "set/a/", *(f"set/a/{n}" for n in range(30)), "set/a//b", "set//c"],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_key_is_listed_once_and_in_order(shape: str) -> None:
    store = Store([*SHAPES[shape], "elsewhere", "set-b/a"])
    assert [one.key for one in listed(store.bucket())] == sorted(SHAPES[shape])


def test_a_whole_bucket_has_no_prefix() -> None:
    store = Store([*CLASSES, "a", "z/b"])
    assert [one.key for one in listed(store.bucket(""))] == store.keys


@pytest.mark.parametrize("shape", SHAPES)
def test_no_order_of_the_store_is_needed(shape: str) -> None:
    store = Store(SHAPES[shape], folder_wise=True)
    assert sorted(one.key for one in listed(store.bucket())) == sorted(SHAPES[shape])


@pytest.mark.parametrize("few", [1, 4])
def test_few_pages_take_a_request_each(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "FEW_PAGES", few)
    store = Store(CLASSES[: few * PAGE])
    assert [one.key for one in listed(store.bucket())] == store.keys
    assert store.asked == ["set/"] * few


def test_a_folder_for_each_sample_takes_no_request_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket, "FULL", PAGE / 4)
    store = Store([f"set/{number:04}/{part}" for number in range(300) for part in ("a", "b")])
    assert [one.key for one in listed(store.bucket())] == store.keys
    assert len(store.asked) == 600 / PAGE
    full = Store(CLASSES)
    assert len(list(listed(full.bucket()))) == len(CLASSES)
    assert len(set(full.asked)) > 40


def test_classes_are_listed_side_by_side() -> None:
    store = Store(CLASSES)
    assert len(list(listed(store.bucket()))) == len(CLASSES)
    assert {f"set/train/n{folder:02}/" for folder in range(40)} < set(store.asked)
    assert len(store.threads) > 1


def test_folders_are_listed_only_a_little_ahead() -> None:
    store = Store(CLASSES)
    found = listed(store.bucket())
    assert [one.key for one in itertools.islice(found, 3)] == CLASSES[:3]
    ahead = {prefix for prefix in store.asked if prefix.startswith("set/train/n")}
    assert len(ahead) <= bucket.THREADS + 1
    found.close()


def test_an_error_of_one_request_ends_the_listing() -> None:
    store = Store(CLASSES)
    store.broken = "set/train/n07/"
    with pytest.raises(OSError, match="the store is away"):
        list(listed(store.bucket()))
    assert threads() == 0


def test_a_listing_that_nobody_wants_any_more_leaves_no_thread() -> None:
    found = listed(Store(CLASSES).bucket())
    next(found)
    assert threads() > 0
    found.close()
    assert threads() == 0


def threads() -> int:
    """Of listings."""
    return sum("ThreadPoolExecutor" in one.name for one in threading.enumerate())


def test_a_key_that_leads_elsewhere_is_no_path() -> None:
    """Staging would make folders there, as root."""
    keys = ["set/a/../../../b", "set/../c", "set/./d", "set/e/..", "set/..f/.g"]
    found = {entry.path: entry.type for entry in objects.entries(Store(keys).bucket()) if entry.type != FOLDER}
    assert found == {"a/../../../b": KEY, "../c": KEY, "./d": KEY, "e/..": KEY, "..f/.g": FILE}
