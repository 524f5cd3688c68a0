"""Training programs are spoken with, compared with the manifest, and ended whatever happens."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import labels, programs, reader
from bundle import until

PLUGINS = Path(__file__).parents[3]


def entry(path: str, data: bytes, algorithm: str = "sha256") -> reader.Entry:
    return reader.Entry(path, len(data), f"{algorithm}:{hashlib.new(algorithm, data).hexdigest()}")


FILES = [entry("a/1.jpg", b"one", "md5"), entry("b/1.jpg", b"two!")]


def shown(*files: reader.Entry) -> str:
    return "".join(f"{one.digest} {one.size} {one.path}\n" for one in files)


def test_an_epoch_in_any_order_has_the_manifests_digest() -> None:
    found = programs.compare(shown(*reversed(FILES)), FILES)
    assert found["digest"] == found["expected_digest"]
    assert (found["compared"], found["wrong"]) == (2, 0)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ([FILES[0]], {"path": "b/1.jpg", "what": "not read"}),
        ([*FILES, FILES[0]], {"path": "a/1.jpg", "what": "read twice in one epoch"}),
        ([*FILES, entry("c/1.jpg", b"")], {"path": "c/1.jpg", "what": "not ordered"}),
        ([FILES[0], entry("b/1.jpg", b"tw")], {"path": "b/1.jpg", "what": "2 of 4 bytes"}),
        ([FILES[0], entry("b/1.jpg", b"TWO!")], {"path": "b/1.jpg", "what": "wrong digest"}),
        ([entry("a/1.jpg", b"ONE", "md5"), FILES[1]], {"path": "a/1.jpg", "what": "wrong digest, by its ETag"}),
        ([entry("a/1.jpg", b"one"), FILES[1]], {"path": "a/1.jpg", "what": "its md5 was not told"}),
    ],
)
def test_what_differs_is_named(files: list[reader.Entry], problem: dict[str, str]) -> None:
    assert programs.compare(shown(*files), FILES)["problems"] == [problem]


def test_two_swapped_files_are_both_named() -> None:
    swapped = [FILES[0]._replace(path="b/1.jpg"), FILES[1]._replace(path="a/1.jpg")]
    found = programs.compare(shown(*swapped), FILES)
    assert [one["path"] for one in found["problems"]] == ["a/1.jpg", "b/1.jpg"]
    assert found["digest"] != found["expected_digest"]


def test_labels_are_folders_of_images() -> None:
    images = [entry(f"train/{name}/1.JPEG", b"") for name in ("cat", "dog")]
    others = [entry("train/labels.txt", b""), entry("records/1.tfrecord", b""), entry("train/cat/notes.txt", b"")]
    assert labels.labelled([*others, *images]) == ("train", images)
    assert labels.labelled([*others, *images], "train")[1] == images
    with pytest.raises(ValueError, match="its folder records: no folder for each class"):
        labels.labelled([*others, *images], "records")
    with pytest.raises(ValueError, match="the dataset and its folder train"):
        labels.labelled([*others, images[0]])


HEADER = {"large_bytes": 1, "digested": {"seed": 2012}}


def test_each_part_has_images_of_its_own() -> None:
    images = [entry(f"train/{name}/{number}.JPEG", b"") for name in ("cat", "dog") for number in range(5)]
    orders = {"folder": None, "images": 4, "seed": 2012, "shards": None}
    first, second = (labels.ordered((HEADER, images), orders, labels.Part(number, 2))[1] for number in range(2))
    assert (len(first), len(second), set(first) & set(second)) == (4, 4, set())
    assert first == labels.ordered((HEADER, images), orders)[1]
    all_of_them = {**orders, "images": None}
    everything = [labels.ordered((HEADER, images), all_of_them, labels.Part(number, 2))[1] for number in range(2)]
    assert sorted(everything[0] + everything[1]) == images
    few = labels.about((HEADER, images), {**orders, "images": 6}, labels.Part(0, 2))
    assert few == {"few": "2 times 6 images are wanted, and there are 10"}


TFRECORD = {"kind": "tfrecord", "count": None, "classes": 3, "image_bytes": 100}
ORDERS = {"folder": None, "images": None, "seed": 2012}


def test_shards_are_found_by_their_names() -> None:
    names = ("train-00000-of-00002", "train-00001-of-00002", "a/0.tfrecord", "cat/1.jpg", "dog/1.jpg", "a.tfrecord.gz")
    entries = [entry(name, b"x" * 120) for name in names]
    with_train = [*entries, entry("train/0.tfrecords", b"")]
    folder, files = labels.ordered((HEADER, entries), {**ORDERS, "shards": TFRECORD})
    assert (folder, files) == ("", sorted(entries[:3]))
    assert labels.ordered((HEADER, with_train), {**ORDERS, "shards": TFRECORD})[0] == "train"
    assert len(labels.ordered((HEADER, entries), {**ORDERS, "shards": {**TFRECORD, "count": 2}})[1]) == 2
    assert len(labels.ordered((HEADER, entries), {**ORDERS, "shards": None})[1]) == 2
    tars = [entry(name, b"") for name in ("tar/train-000000.tar", "tar/train-000001.tar.gz")]
    assert labels.ordered((HEADER, tars), {**ORDERS, "shards": {**TFRECORD, "kind": "tar"}}) == ("", tars[:1])
    with pytest.raises(ValueError, match=r"its folder cat: no shard in it that is called like train-00000-of-01024"):
        labels.ordered((HEADER, entries), {**ORDERS, "folder": "cat", "shards": TFRECORD})


def test_how_many_images_are_in_shards_is_estimated_by_their_size() -> None:
    files = [entry("train-00000-of-00001", b"x" * 520)]
    assert labels.told(files, {**ORDERS, "shards": TFRECORD}) == {
        **ORDERS,
        "files": ["train-00000-of-00001"],
        "algorithms": {},
        "classes": ["0", "1", "2"],
        "images": 5,
    }


def test_images_of_a_part_are_the_first_that_caches_are_filled_with() -> None:
    images = [entry(f"cat/{number}.jpg", b"") for number in range(50)]
    orders = {**ORDERS, "images": 10, "seed": 1, "folder": "", "shards": None, "emulated": {"accelerators": 1}}
    _, some = labels.ordered((HEADER, images), orders)
    whole = reader.select(HEADER, images, reader.Selection("small", 0, 10))
    assert set(some) == set(whole)
    assert len(labels.chosen((HEADER, images), None)) == 50


SPEAKING = """
import sys
print('{"event": "ready"}')
sys.stdin.read(1)
print('{"event": "epoch", "images": 3}')
"""
FORKING = """
import os, time
if os.fork():
    print('{"event": "ready", "pid": %d}' % os.getpid())
time.sleep(600)
"""


def program(text: str, tmp_path: Path) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(text)
    return [sys.executable, "-u", str(path)]


def test_a_program_is_spoken_with(tmp_path: Path) -> None:
    with programs.running(program(SPEAKING, tmp_path), tmp_path / "said") as found:
        assert found.event("ready") == {"event": "ready"}
        found.go()
        assert found.event("epoch")["images"] == 3


def test_a_program_that_fails_after_its_last_word_has_failed(tmp_path: Path) -> None:
    for end in ("", "sys.exit('out of shards')"):
        with programs.running(program(f"{SPEAKING}{end}", tmp_path), tmp_path / "said") as found:
            found.event("ready")
            found.go()
            found.event("epoch")
            if end:
                with pytest.raises(programs.ProgramError, match="out of shards"):
                    found.finish()
            else:
                found.finish()


def test_a_program_that_fails_leaves_its_last_words(tmp_path: Path) -> None:
    with (
        programs.running(program("import no_such_framework", tmp_path), tmp_path / "said") as found,
        pytest.raises(programs.ProgramError, match=r"ended with status 1: .*No module named 'no_such_framework'"),
    ):
        found.event("ready")


def test_a_program_and_what_it_started_end_with_the_context(tmp_path: Path) -> None:
    with programs.running(program(FORKING, tmp_path), tmp_path / "said") as found:
        group = os.getpgid(found.event("ready")["pid"])
    until("the group of the program is gone", lambda: not members(group), 30)


def members(group: int) -> list[str]:
    """Processes of a group that are no zombies."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, number = path.read_text().rpartition(")")[2].split()[:3]
            found += [path.parent.name] if int(number) == group and state != "Z" else []
    return found


WAITING = """
import sys
from pathlib import Path
from ansible_collections.alluxio.fuse.plugins.module_utils import programs
programs.leave_on_signals()
try:
    with programs.running([sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1])) as found:
        Path(sys.argv[1] + ".begun").touch()
        found.event("ready")
except programs.Left:
    Path(sys.argv[1] + ".left").touch()
"""


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_ends_when_nobody_waits_for_its_answer(tmp_path: Path, how: int | None) -> None:
    said = tmp_path / "said"
    environment = {**os.environ, "PYTHONPATH": str(PLUGINS / "collections")}
    command = [sys.executable, "-c", WAITING, str(said)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as run:
        deadline = time.monotonic() + 60
        while not Path(f"{said}.begun").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        if how:
            run.send_signal(how)
        elif run.stdout:
            run.stdout.close()
        assert run.wait(60) == 0
    assert Path(f"{said}.left").exists()
