"""Accelerators that are emulated on a real mount, by the nodes' own Python: proof, a lie, and what each path feeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import leftovers
import pytest
from bundle import Run, latest, playbook, stages, succeed

from alluxio_fuse.dataset import sample

NAME = "emulated"
MOUNT_POINT = Path(f"/mnt/{NAME}/set/data")
STAGES = ("preflight", "plan", "nodes", "services")
#: Of one H100 on unet3d nine batches an epoch: 63 files at up to 22 files/s.
FED = {"program": "emulated", "accelerators": "1 x H100", "model": "unet3d", "images": 63, "rounds": 1, "loaders": 2}
Train = Callable[..., Run]


@pytest.fixture(scope="module")
def train() -> Iterator[Train]:
    """Emulates on a mount, which is cold for the first test."""
    with leftovers.folder(Path(f"/var/lib/{NAME}-source")) as source:
        sample.make(source, sample.Shape(images=800, shards=1, shard_bytes=20_000_000))
        said = {
            "alluxio_name": NAME,
            "alluxio_environment": NAME,
            "alluxio_port_offset": 2300,
            "alluxio_datasets": [{"name": "set", "source": f"file://{source}"}],
        }
        with leftovers.deployment(said):
            succeed(stages(*STAGES, **said))
            yield lambda **fields: playbook("playbooks/train.yml", **said, alluxio_train={**FED, **fields})


def node() -> dict[str, Any]:
    found: dict[str, Any] = latest("train")["nodes"][0]
    return found


def test_each_path_says_how_many_accelerators_it_feeds(train: Train) -> None:
    run = succeed(train())
    found = node()
    rows = {row["path"]: row for row in found["rows"]}
    assert list(rows) == ["synthetic", "source", "mount", "local copy"]
    assert rows["mount"]["state"] == "cold"
    proof = next(one for one in found["findings"] if "epochs read the manifest's bytes" in one["reason"])
    assert (proof["outcome"], proof["reason"].split(",")[0]) == ("PASS", "6 epochs read the manifest's bytes")
    assert not any("loss" in one["reason"] for one in found["findings"])
    _, *fed = found["fed"]
    for (path, row), line in zip(list(rows.items())[1:], fed, strict=True):
        assert line.startswith(f"{path}, {row['state']}: utilisation ")
        assert line.endswith("feeds all of 1 x H100") == (row["utilisation"]["median"] >= 0.9), line
        assert line in run.output
    assert latest("train")["settings"]["python"] == "/usr/bin/python3"


def test_another_file_is_caught_by_path(train: Train) -> None:
    read = sorted((MOUNT_POINT / "train").rglob("*.JPEG"))
    held = MOUNT_POINT.parent.parent / "swapped"
    with ExitStack() as stack:
        stack.enter_context(leftovers.folder(held))
        (held / "other").write_bytes(read[1].read_bytes())
        stack.enter_context(leftovers.mounted(read[0], "--bind", held / "other"))
        run = train(local_copy=False, images=None, model="cosmoflow")
    assert run.status != 0
    (reason,) = latest("train")["reasons"][:1]
    assert f"1: mount, epoch 1: train/{read[0].parent.name}/{read[0].name}: " in reason, reason
    assert "mount" not in {row["path"] for row in node()["rows"] if not row["first_read"]}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"accelerators": "8 x H100"}, "alluxio_train.accelerators: 8 x H100: 3 batches of 7 for each are 168 files"),
        (
            {"folder": "tfrecord", "model": "resnet50", "images": None},
            "MB here, and a sample of resnet50 0.1 MB: a file",
        ),
        ({"accelerators": None}, "emulated: nothing says which GPUs do: write accelerators, like 8 x H100"),
        ({"folder": "none"}, "alluxio_train.folder: none: its folder none: no file in it; name a folder with files"),
    ],
)
def test_what_cannot_be_emulated_is_refused(train: Train, fields: dict[str, Any], reason: str) -> None:
    run = train(**fields)
    assert run.status != 0
    assert reason in " ".join(run.output.split()), run.output[-3000:]
