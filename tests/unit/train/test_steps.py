"""Which paths are trained on, in which order, and what is refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.train import steps

DATASET: dict[str, Any] = {
    "name": "imagenet",
    "source": "file:///data/imagenet",
    "folder": "/data/imagenet",
    "mount_point": "/mnt/a/imagenet/data",
    "metrics": {"fuse": ["127.0.0.1:49999"]},
}
FACTS = {"memory": 10**11, "disk": 10**12, "bytes": 10**9, "runs": {"resident_bytes": 3 * 10**8}}
TRAIN = Train(python="/opt/torch/bin/python3", rounds=2)
TENSORFLOW = TRAIN.model_copy(update={"program": "tensorflow"})


def paths(**fields: Any) -> list[str]:
    return [f"{one['round']} {one['path']} {one['kind']}" for one in steps.runs(DATASET | fields, TRAIN, "/s", True)]


def test_rounds_are_interleaved_and_the_copy_is_made_once() -> None:
    assert paths() == [
        "1 synthetic synthetic",
        "1 source train",
        "1 mount train",
        "1 local copy copy",
        "1 local copy train",
        "2 synthetic synthetic",
        "2 source train",
        "2 mount train",
        "2 local copy train",
    ]


@pytest.mark.parametrize(
    ("said", "nodes"), [("all", ["all"]), ("2", [2]), (3, [3]), ([1, "all"], [1, "all"]), ([], ["all"])]
)
def test_nodes_are_said_alone_or_as_a_list(said: Any, nodes: list[Any]) -> None:
    assert Train(nodes=said).nodes == nodes


@pytest.mark.parametrize("said", [0, "some", [1, -1]])
def test_what_is_no_number_of_nodes_is_refused(said: Any) -> None:
    with pytest.raises(ValidationError):
        Train(nodes=said)


def test_copies_and_folders_of_others_are_paths_too() -> None:
    nfs = {"name": "/mnt/nfs", "mount_point": "/mnt/nfs", "metrics": {}}
    stage = {"path": "/mnt/a/imagenet/staged", "medium": "ssd"}
    found = paths(source="s3://bucket/imagenet", folder="", compare=[nfs], stage=stage)
    assert found[:4] == ["1 synthetic synthetic", "1 /mnt/nfs train", "1 mount train", "1 staged train"]
    remote = DATASET | {"source": "s3://b/i", "folder": ""}
    copy = next(one for one in steps.runs(remote, TRAIN, "/s", True) if one["kind"] == "copy")
    assert (copy["source"], copy["root"]) == ("/mnt/a/imagenet/data", "/s/copy")


def test_pods_see_what_consumers_do() -> None:
    seen = {"path": "/mnt/a/imagenet/data", "mount_point": "/var/lib/a/fuse/imagenet/data"}
    stage = {"path": "/mnt/a/imagenet/data", "medium": "ssd"}
    for more, path in (({}, "mount"), ({"stage": stage}, "staged")):
        found = steps.pod_runs(DATASET | seen | more, TRAIN)
        assert [one["path"] for one in found] == ["synthetic", path] * 2
        assert {one["root"] for one in found if one["kind"] == "train"} == {"/mnt/a/imagenet/data"}
        assert {one["before"] for one in found if one["kind"] == "train"} == {"forget"}


def test_of_a_mount_the_disk_of_its_cache_is_looked_at() -> None:
    cached = DATASET | {"identity_file": "/mnt/nvme/a/client-cache/imagenet/.identity", "client_cache_bytes": 1 << 30}
    found = {one["path"]: one.get("cache") for one in steps.runs(cached, TRAIN, "/s", True)}
    assert found.pop("mount") == "/mnt/nvme/a/client-cache/imagenet"
    assert set(found.values()) == {None}
    without = DATASET | {"identity_file": "/mnt/nvme/a/tier/.identity", "client_cache_bytes": 0}
    assert {one.get("cache") for one in steps.runs(without, TRAIN, "/s", True)} == {None}


@pytest.mark.parametrize(("disruptive", "before"), [(True, "drop"), (False, "forget")])
def test_caches_are_dropped_as_far_as_that_is_allowed(disruptive: bool, before: str) -> None:
    for one in steps.runs(DATASET, TRAIN, "/s", disruptive):
        if one["kind"] == "train":
            assert one["before"] == before


def refused(train: Train = TRAIN, users: tuple[str, ...] = (), **facts: Any) -> list[str]:
    return steps.refusals(train, {**FACTS, **facts}, list(users), "/mnt/a/imagenet/data")


def test_nothing_speaks_against_a_free_node() -> None:
    assert refused() == []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"users": ("python3 (12)", "GPU 0 at 40 %")}, "is in use by python3 (12), GPU 0 at 40 %"),
        ({"unlabelled": "no folder for each class"}, "alluxio_train.folder: unset: no folder for each class"),
        (
            {"cannot_run": "no torch"},
            "/opt/torch/bin/python3: it cannot run pytorch on processors: no torch; name one whose python3 has torch",
        ),
        ({"memory": 10**9}, "4 loaders with batches of 256 may need 2.7 GB of memory, and 1.0 GB are free"),
        ({"disk": 10**8}, "alluxio_train.local_copy: true: the copy needs 1.0 GB, and 0.1 GB are free"),
    ],
)
def test_what_cannot_be_is_refused(facts: dict[str, Any], reason: str) -> None:
    (said,) = refused(**facts)
    assert reason in said


def test_numbers_of_nodes_do_not_share_images() -> None:
    (said,) = refused(TRAIN.model_copy(update={"images": 300, "nodes": [1, "all"]}), few="600 are wanted")
    assert said.startswith(
        "alluxio_train.images: 300: 600 are wanted: each of 2 numbers of nodes trains on images that"
    )


def test_a_dataset_without_shards_is_refused() -> None:
    (said,) = refused(TENSORFLOW, unlabelled="no shard")
    assert (
        said == "alluxio_train.folder: unset: no shard; name a folder with shards, or a program that reads no tfrecord"
    )


def test_a_loader_without_a_shard_is_refused() -> None:
    """Threads take turns in shards, processes do not."""
    train = TRAIN.model_copy(update={"program": "webdataset", "sweep": [2, 8]})
    (said,) = refused(train, shards=6)
    assert said.startswith(
        "alluxio_train: 8 loaders (loaders, sweep): each reads whole shards, and there are 6, so some"
    )
    assert refused(train, shards=8) == []
    assert refused(TENSORFLOW, shards=1) == refused(TRAIN, shards=0) == []


def test_threads_share_the_memory_of_their_process() -> None:
    assert steps.memory(TRAIN, 100) - steps.memory(TENSORFLOW, 100) == 4 * 100


def test_programs_are_told_what_holds_the_images() -> None:
    assert steps.orders(TRAIN)["shards"] is None
    about = {"kind": "tfrecord", "count": 3, "classes": 1001, "image_bytes": 114_660}
    assert steps.orders(TENSORFLOW.model_copy(update={"shards": 3}))["shards"] == about


@pytest.mark.parametrize(
    ("fields", "reason", "remedy"),
    [
        (
            {"program": "jax"},
            "no program of that name",
            "write pytorch, paddle, webdataset, tensorflow, emulated, or the",
        ),
        ({"program": "tensorflow", "images": 9}, "images: 9: tensorflow reads whole shards", "write shards instead"),
        ({"shards": 9}, "shards: 9: pytorch reads no shards", "write images instead"),
    ],
)
def test_settings_that_no_program_can_follow_are_refused(fields: dict[str, Any], reason: str, remedy: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Train(**fields)
    (error,) = refused.value.errors()
    assert error["msg"] == reason
    assert error["ctx"]["remedy"].startswith(remedy)


def test_a_sweep_comes_after_the_rounds() -> None:
    swept = [one["name"] for one in steps.runs(DATASET, TRAIN.model_copy(update={"sweep": [1, 4]}), "/s", True)][9:]
    assert swept == ["1 loader: mount", "1 loader: local copy", "4 loaders: mount", "4 loaders: local copy"]
