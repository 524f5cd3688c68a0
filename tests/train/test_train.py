"""Real trainings on a real mount: what they prove, what they refuse, and what they leave when they are interrupted."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import leftovers
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import programs, reader, trainings
from bundle import ANSIBLE_PLAYBOOK, CHECKOUT, Run, latest, playbook, stages, succeed, until
from contained import image_with
from torch_image import IMAGE

from alluxio_fuse.dataset import sample, tfrecord

NAME = "trained"
STATE = Path(f"/var/lib/{NAME}")
MOUNT_POINT = Path(f"/mnt/{NAME}/set/data")
WEBDATASET_IMAGE = "localhost/alluxio-fuse-test-webdataset:bookworm"
WEBDATASET = ("webdataset==1.0.2", "braceexpand==0.1.7")  # what else it needs is Debian's
PADDLE = ("paddlepaddle==3.3.1",)
TENSORFLOW = ("tensorflow-cpu==2.21.0", "google-crc32c==1.9.0")
SHAPE = sample.Shape(images=400, shards=4, shard_bytes=8_000_000)
SHARDED = {"program": "tensorflow", "classes": SHAPE.classes + 1}
TARS, IN_A_TAR = 4, 75
TARRED = {"program": "webdataset", "classes": SHAPE.classes, "image": WEBDATASET_IMAGE}
TINY = {"model": "tiny", "size": 64, "batch": 32, "mark": 5, "loaders": 2, "rounds": 1}
STAGES = ("preflight", "plan", "nodes", "services")
Train = Callable[..., Run]


def interpreter(*packages: str) -> str:
    """The interpreter of a virtual environment with packages, made once for all runs."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "alluxio-fuse" / packages[0]
    python = folder / "bin/python3"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "complete").touch()
    return str(python)


@pytest.fixture(scope="module")
def webdataset(image: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image with PyTorch, and WebDataset in it."""
    return image_with(tmp_path_factory.mktemp("webdataset"), image, WEBDATASET_IMAGE, *WEBDATASET)


def write_tars(folder: Path) -> None:
    """WebDataset's shards of some of the sample's images: 0001.jpg, and 0001.cls with the number of its class.

    Behind each archive is more, which whoever reads archives does not look at.
    """
    images = sorted((folder / "train").rglob("*.JPEG"), key=lambda path: path.name[::-1])
    classes = sorted(path.name for path in (folder / "train").iterdir())
    (folder / "tar").mkdir()
    for number in range(TARS):
        path = folder / f"tar/train-{number:06}.tar"
        with tarfile.open(path, "w") as shard:
            for index in range(number * IN_A_TAR, (number + 1) * IN_A_TAR):
                label = str(classes.index(images[index].parent.name)).encode()
                for suffix, content in (("jpg", images[index].read_bytes()), ("cls", label)):
                    about = tarfile.TarInfo(f"{index:04}.{suffix}")
                    about.size = len(content)
                    shard.addfile(about, io.BytesIO(content))
        with path.open("ab") as shard_file:
            shard_file.write(os.urandom(50_000))


@pytest.fixture(scope="module")
def source() -> Iterator[Path]:
    with leftovers.folder(Path(f"/var/lib/{NAME}-source")) as folder:
        sample.make(folder, SHAPE)
        write_tars(folder)
        (folder / "notes").mkdir()
        (folder / "notes/1.txt").write_text("no image")
        yield folder


@pytest.fixture(scope="module")
def variables(source: Path) -> Iterator[dict[str, Any]]:
    said = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 2000,
        "alluxio_datasets": [{"name": "set", "source": f"file://{source}"}],
        "alluxio_check_disruptive": True,
    }
    with leftovers.deployment(said):
        yield said


@pytest.fixture(scope="module")
def train(variables: dict[str, Any], image: str) -> Train:
    """Trains on a mount that nobody has read from, at first."""
    succeed(stages(*STAGES, **variables))

    def run(**fields: Any) -> Run:
        where = {} if "python" in fields or "image" in fields else {"image": image}
        return playbook("playbooks/train.yml", **variables, alluxio_train={**TINY, **where, **fields})

    return run


def node() -> dict[str, Any]:
    found: dict[str, Any] = latest("train")["nodes"][0]
    return found


def states() -> list[tuple[str, str, bool]]:
    return [(row["path"], row["state"], row["first_read"]) for row in node()["rows"]]


def findings(outcome: str) -> list[str]:
    return [one["reason"] for one in node()["findings"] if one["outcome"] == outcome]


def left() -> list[str]:
    """What a run must not leave: its folder, its processes, its containers."""
    listed = subprocess.run(["pgrep", "-af", f"{STATE}/train/"], capture_output=True, text=True, check=False).stdout
    shown = subprocess.run(
        ["podman", "ps", "--all", "--quiet", "--filter", "name=alluxio-fuse-train"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [*listed.splitlines(), *shown.split(), *map(str, STATE.glob("train"))]


def test_cold_bytes_are_trained_on_and_proven(train: Train) -> None:
    run = succeed(train())
    assert ("mount", "cold", False) in states(), run.output[-3000:]
    assert {path for path, *_ in states()} == {"synthetic", "source", "mount", "local copy"}
    assert latest("train")["verdict"] == "CANNOT TELL"  # processors compute here, so no path is judged
    right, equal = findings("PASS")
    assert right.startswith("6 epochs read the manifest's bytes, digest ")
    assert equal == "3 loss curves of 26 steps are equal"
    assert [row["medium"]["read_bytes"] > 0 for row in node()["rows"] if row["state"] == "disk"] == [True]
    assert run.output.count("answer      localhost: training ran on this machine's ") == 1
    assert left() == []


def test_what_was_cold_once_is_shown_again(train: Train) -> None:
    succeed(train())
    found = states()
    assert ("mount", "cold", True) in found
    assert {state for path, state, first_read in found if path == "mount" and not first_read} <= {
        "client-cache",
        "worker",
        "mixed",
    }


def test_swapped_classes_are_caught_by_path(train: Train) -> None:
    """Two classes have each other's files, under their own names, as far as the names go."""
    one, other = sorted((MOUNT_POINT / "train").iterdir())[:2]
    held = MOUNT_POINT.parent.parent / "swapped"
    with ExitStack() as stack:
        stack.enter_context(leftovers.folder(held))
        for name, wrong in ((one, other), (other, one)):
            folder = held / name.name
            folder.mkdir()
            theirs = sorted((MOUNT_POINT.parents[2] / NAME / "set/data/train" / wrong.name).iterdir())
            for path, theirs_path in zip(sorted(name.iterdir()), theirs, strict=True):
                (folder / path.name).write_bytes(theirs_path.read_bytes())
        for name in (one, other):
            stack.enter_context(leftovers.mounted(name, "--bind", held / name.name))
        run = train(local_copy=False)
    assert run.status != 0
    (reason,) = latest("train")["reasons"][:1]
    assert f"1: mount, epoch 1: train/{one.name}/{one.name}_00000.JPEG: " in reason, reason
    assert "mount" not in {path for path, _, first_read in states() if not first_read}
    assert left() == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"folder": "notes"}, "alluxio_train.folder: notes: its folder notes: no folder for each class"),
        ({"python": sys.executable}, f"alluxio_train.python: {sys.executable}: it cannot run pytorch on processors"),
        ({"gpus": 1}, "it cannot run pytorch on 1 GPUs: it ended with status 126: Error: setting up CDI devices"),
        ({"loaders": 4000}, "alluxio_train: 4000 loaders with batches of 32 may need"),
        ({**SHARDED, "folder": "notes"}, "alluxio_train.folder: notes: its folder notes: no shard in it"),
        (SHARDED, f"alluxio_train.image: {IMAGE}: it cannot run tensorflow on processors"),
        (
            {**TARRED, "loaders": 5},
            "5 loaders (loaders, sweep): each reads whole shards, and there are 4",
        ),
        ({"program": "webdataset"}, f"{IMAGE}: it cannot run webdataset on processors"),
        ({"program": "jax"}, "alluxio_train.program: 'jax' why: no program of that name do: write pytorch"),
        ({"dataset": "other"}, "alluxio_train.dataset: other: no dataset of that name is mounted on localhost"),
    ],
)
def test_what_cannot_be_trained_is_refused(train: Train, webdataset: str, fields: dict[str, Any], reason: str) -> None:
    run = train(**fields)
    assert run.status != 0
    assert reason in " ".join(run.output.split()), run.output[-3000:]
    assert left() == []


def test_readers_are_left_alone(train: Train) -> None:
    with next((MOUNT_POINT / "train").rglob("*.JPEG")).open("rb"):
        run = train()
    assert run.status != 0
    assert f"{MOUNT_POINT} is in use by " in run.output


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(train: Train, variables: dict[str, Any], image: str, how: int) -> None:
    said = {**variables, "alluxio_train": {**TINY, "image": image, "epochs": 500}}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as extra:
        json.dump(said, extra)
        extra.flush()
        command = [str(ANSIBLE_PLAYBOOK), "playbooks/train.yml", "-e", f"@{extra.name}"]
        with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, start_new_session=True) as run:
            until("a run trains", (STATE / "train/epoch-3").exists)
            os.killpg(run.pid, how)
    until("nothing is left", lambda: left() == [], 60)


def test_processes_that_torchrun_starts_share_each_step(image: str, source: Path, tmp_path: Path) -> None:
    """Also a step that has no image for one of them."""
    for name in ("harness.py", "train_pytorch.py"):
        (tmp_path / name).write_text((CHECKOUT / "roles/train/files" / name).read_text())
    paths = sorted(path for path in (source / "train").rglob("*.JPEG"))
    contents = {str(path.relative_to(source)): path.read_bytes() for path in paths}
    files = [
        reader.Entry(name, len(data), f"sha256:{hashlib.sha256(data).hexdigest()}") for name, data in contents.items()
    ]
    orders = {
        "folder": "train",
        "shards": None,
        "model": "tiny",
        "size": 64,
        "epochs": 2,
        "loaders": 1,
        "gpus": 0,
        "seed": 1,
        "mark": 5,
    }
    one = {"name": "together", "path": "source", "kind": "train", "root": str(source), "round": 1}
    found = {}
    for processes, batch in ((1, 27), (2, 27), (3, 398)):
        launcher = ["-m", "torch.distributed.run", f"--nproc_per_node={processes}"]
        program = {"path": str(tmp_path / "train_pytorch.py"), "image": image, "launcher": launcher}
        params = {"scratch": str(tmp_path), "program": program, "orders": {**orders, "batch": batch}}
        done = trainings.run(one, files, params, programs.compare)
        assert "failed" not in done
        for epoch in done["epochs"]:
            assert (epoch["images"], epoch["wrong"], epoch["digest"]) == (len(files), 0, epoch["expected_digest"])
            assert len(epoch["losses"]) == epoch["steps"] == -(-len(files) // batch)
            assert epoch["bytes"] == sum(map(len, contents.values()))
        found[processes] = [loss for epoch in done["epochs"] for loss in epoch["losses"]]
    # the same images and first weights; batch norm sees less of them in each process
    assert found[1][0] == pytest.approx(found[2][0], rel=0.1)
    assert not any(math.isnan(loss) for losses in found.values() for loss in losses)


def test_a_program_of_ones_own_is_held_to_the_same_proof(train: Train) -> None:
    succeed(train(python="/usr/bin/python3", program=str(CHECKOUT / "tests/train/reads.py")))
    assert node()["framework"] == "none"
    right, _ = findings("PASS")
    assert right.startswith("6 epochs read the manifest's bytes, digest ")
    assert left() == []


def test_paddle_trains_too(train: Train) -> None:
    succeed(train(python=interpreter(*PADDLE), program="paddle"))
    assert node()["framework"].startswith("paddle ")
    right, equal = findings("PASS")
    assert right.startswith("6 epochs read the manifest's bytes, digest ")
    assert equal == "3 loss curves of 26 steps are equal"


def test_tensorflow_trains_on_shards(train: Train, source: Path) -> None:
    succeed(train(python=interpreter(*TENSORFLOW), **SHARDED))
    assert node()["framework"].startswith("tensorflow ")
    assert ("mount", "cold", False) in states()
    records = sum(len(list(tfrecord.records(path.read_bytes()))) for path in (source / "tfrecord").iterdir())
    assert (node()["shards"], node()["images"]) == (SHAPE.shards, records)
    right, equal = findings("PASS")
    assert right.startswith("6 epochs read the manifest's bytes, digest ")
    assert equal.startswith("3 loss curves of ")
    assert left() == []


def test_labels_that_the_model_has_no_place_for_are_refused(train: Train) -> None:
    run = train(python=interpreter(*TENSORFLOW), program="tensorflow", classes=2, local_copy=False)
    assert run.status != 0
    assert "alluxio_train.classes: 2: a label in these shards is not below it; write more" in run.output


def test_webdataset_trains_on_shards(train: Train, webdataset: str) -> None:
    succeed(train(**TARRED))
    assert node()["framework"].startswith("webdataset ")
    assert ("mount", "cold", False) in states()
    assert (node()["shards"], node()["images"]) == (TARS, TARS * IN_A_TAR)
    right, equal = findings("PASS")
    assert right.startswith("6 epochs read the manifest's bytes, digest ")
    assert equal == "3 loss curves of 20 steps are equal"
    assert left() == []


def flipped(content: bytes) -> bytes:
    """With another bit in the middle, which the checksum of a TFRecord shows, and nothing in an archive."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("program", ["tensorflow", "webdataset"])
@pytest.mark.parametrize("lie", ["swapped", "flipped"])
def test_another_shard_is_caught_by_path(train: Train, webdataset: str, program: str, lie: str) -> None:
    tensorflow = program == "tensorflow"
    folder = "tfrecord" if tensorflow else "tar"
    one, other = sorted((MOUNT_POINT / folder).iterdir())[:2]
    held = MOUNT_POINT.parent.parent / lie
    fields = {**SHARDED, "python": interpreter(*TENSORFLOW)} if tensorflow else TARRED
    with ExitStack() as stack:
        stack.enter_context(leftovers.folder(held))
        (held / one.name).write_bytes(other.read_bytes() if lie == "swapped" else flipped(one.read_bytes()))
        stack.enter_context(leftovers.mounted(one, "--bind", held / one.name))
        run = train(**fields, local_copy=False)
    assert run.status != 0
    wrong = node()["mistakes"]
    assert wrong, latest("train")["reasons"]
    assert {line.split(": ")[2] for line in wrong} == {f"{folder}/{one.name}"}, wrong
    assert "mount" not in {path for path, _, first_read in states() if not first_read}
    assert left() == []
