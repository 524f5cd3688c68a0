"""What training runs come to: states, proof, verdict and answer."""

import json
from typing import Any

import jsonschema
import pytest
from check_schema import SCHEMAS

from alluxio_fuse.report import training as page
from alluxio_fuse.train import table
from alluxio_fuse.train.measured import Run
from alluxio_fuse.train.result import Training, training
from alluxio_fuse.views.train import train_need
from train.conftest import BYTES, IMAGES, Made

FACTS = {
    "folder": "train",
    "shards": 0,
    "images": IMAGES,
    "classes": 4,
    "bytes": BYTES,
    "digested": IMAGES,
    "processors": 8,
}
COPY = {"name": "copying", "path": "local copy", "kind": "copy", "round": 1, "at": "", "seconds": 36.0, "bytes": BYTES}
GPU = {"device": "NVIDIA H100 80GB HBM3"}


def result(*runs: dict[str, Any], kept: tuple[dict[str, Any], ...] = (), **facts: Any) -> Training:
    about = {**FACTS, **facts}
    measured = {"host": "node1", "nodes": 1, "dataset": "imagenet", "facts": about}
    return training(
        [{**measured, "results": list(runs), "kept": list(kept)}],
        {},
        "2026-11-25T08:00:00Z",
        {"machine": {"host": "node1"}},
    )


def said(made: Training) -> list[str]:
    return [f"{finding.outcome}: {finding.reason}" for finding in made.nodes[0].findings]


@pytest.mark.parametrize(
    ("path", "state"),
    [
        *(("mount", state) for state in ("cold", "worker", "client-cache", "page-cache", "mixed")),
        ("local copy", "disk"),
        ("local copy", "page-cache"),
        ("source", "uncached"),
        ("source", "page-cache"),
        ("source", "mixed"),
    ],
)
def test_an_epoch_has_the_state_that_it_proves(run: Made, path: str, state: str) -> None:
    assert Run.model_validate(run(path, state)).state == state


def test_rows_are_of_paths_and_states(run: Made) -> None:
    made = result(
        run("synthetic", "", "", images_per_s=400.0),
        run("mount", "worker", "page-cache"),
        COPY,
        run("local copy", "disk", "page-cache", images_per_s=200.0),
        run("mount", "worker", "page-cache", images_per_s=120.0),
        kept=(run("mount", "cold", "worker", images_per_s=50.0),),
    )
    rows = {(row.path, row.state, row.state_later): row for row in made.nodes[0].rows}
    assert list(rows) == [
        ("synthetic", "", ""),
        ("mount", "cold", "worker"),
        ("mount", "worker", "page-cache"),
        ("local copy", "disk", "page-cache"),
    ]
    mount, copy = rows["mount", "worker", "page-cache"], rows["local copy", "disk", "page-cache"]
    assert (mount.first.median, mount.first.passes, mount.steps, mount.waiting) == (110.0, 2, 8, 0.5)
    assert mount.origins["worker"] == 1.0
    assert mount.origins_later["page_cache"] == 1.0
    assert rows["mount", "cold", "worker"].first_read
    assert copy.seconds == 2.0
    assert copy.hours_with_copy == 38 / 3600
    assert copy.read_bytes == BYTES / IMAGES / 2


def test_a_cold_run_of_now_takes_the_place_of_one_that_was_kept(run: Made) -> None:
    made = result(run("mount", "cold", images_per_s=60.0), kept=(run("mount", "cold", images_per_s=50.0),))
    assert [(row.first.median, row.first_read) for row in made.nodes[0].rows] == [(60.0, False)]


def test_a_path_with_other_bytes_fails_by_name_and_gives_no_figure(run: Made, epoch: Made) -> None:
    problem = {"path": "train/cat/1.jpg", "what": "wrong digest"}
    lying = run("mount", epochs=[epoch("mount", "worker", wrong=1, problems=[problem], digest="e" * 64)])
    made = result(run("source", "uncached"), lying)
    assert made.verdict == "FAIL"
    assert "node1: not the source's bytes: 1: mount, epoch 1: train/cat/1.jpg: wrong digest" in made.reasons
    assert [row.path for row in made.nodes[0].rows] == ["source"]
    assert "train/cat/1.jpg" in table.render(made)
    assert "train/cat/1.jpg" in page.render(made)


def test_another_digest_of_an_epoch_fails_by_itself(run: Made, epoch: Made) -> None:
    made = result(run("mount", epochs=[epoch("mount", "worker", digest="e" * 64)]))
    assert "FAIL: not the source's bytes: 1: mount, epoch 1: its digest is not the manifest's" in said(made)


def test_without_any_digest_nothing_is_proven(run: Made, epoch: Made) -> None:
    made = result(run("mount", epochs=[epoch("mount", "worker", compared=0)]))
    assert "CANNOT TELL: no digest was compared" in said(made)


def test_losses_are_compared_exactly_on_processors(run: Made, epoch: Made) -> None:
    other = run("mount", epochs=[epoch("mount", "worker", losses=[2.0, 1.9, 1.8000001, 1.7])])
    found = said(result(run("source", "uncached"), other))
    assert "FAIL: losses of 1: mount and of 1: source differ from step 3 on" in found
    equal = result(run("source", "uncached"), run("mount", "worker"))
    assert "PASS: 2 loss curves of 4 steps are equal" in said(equal)


@pytest.mark.parametrize(("loss", "outcome"), [(1.81, "PASS"), (1.83, "FAIL"), (float("nan"), "FAIL")])
def test_losses_may_differ_a_little_on_gpus(run: Made, epoch: Made, loss: float, outcome: str) -> None:
    other = run("mount", epochs=[epoch("mount", "worker", losses=[2.0, 1.9, loss, 1.7])], **GPU)
    found = [one for one in said(result(run("source", "uncached", **GPU), other)) if "loss" in one]
    assert [one.partition(":")[0] for one in found] == [outcome]


def test_on_gpus_the_first_losses_count_since_rounding_grows_from_step_to_step(run: Made, epoch: Made) -> None:
    """Losses of an H200, of the same images in the same order: source and mount."""
    source, mount = [4.1459, 4.2250, 4.2978, 6.5899, 9.9682, 12.4285], [4.1459, 4.2250, 4.2978, 6.5907, 9.9570, 12.7050]
    runs = [
        run(path, epochs=[epoch(path, state, losses=losses)], **GPU)
        for path, state, losses in (("source", "uncached", source), ("mount", "worker", mount))
    ]
    assert "PASS: 2 loss curves of 6 steps are equal within 1% in the first 5" in said(result(*runs))
    runs[1]["epochs"] = [epoch("mount", "worker", losses=mount[:5])]
    assert "FAIL: losses of 1: mount and of 1: source differ from step 6 on" in said(result(*runs))


def test_losses_of_shards_are_compared_between_runs_of_as_many_loaders(run: Made, epoch: Made) -> None:
    """Another number of loaders reads shards in another order."""
    runs = [
        run(path, loaders=loaders, epochs=[epoch(path, "mixed", losses=[loss])])
        for loaders, loss in ((1, 2.0), (4, 1.5))
        for path in ("mount", "local copy")
    ]
    assert [one for one in said(result(*runs)) if "loss" in one] == [
        "FAIL: losses of 1: mount and of 1: mount differ from step 1 on"
    ]
    equal = [one for one in said(result(*runs, shards=4)) if "loss" in one]
    assert equal == ["PASS: 2 loss curves of 1 steps are equal"] * 2
    runs[3]["epochs"][0]["losses"] = [1.6]
    assert "FAIL: losses of 1: local copy and of 1: mount differ from step 1 on" in said(result(*runs, shards=4))


def test_images_in_shards_are_those_that_were_read(run: Made) -> None:
    made = result(run("synthetic", ""), run("mount", "worker"), shards=4, images=IMAGES + 50)
    assert made.nodes[0].images == IMAGES
    assert f"{IMAGES} images, 4 shards, " in table.render(made)
    assert f"{IMAGES} images, 4 shards, " in page.render(made)


def test_a_program_that_ends_early_fails(run: Made) -> None:
    made = result(run("mount", "worker", failed="it ended with status 1: out of memory"))
    assert "FAIL: 1: mount: it ended with status 1: out of memory" in said(made)
    assert made.nodes[0].rows == []


def test_processors_judge_no_path(run: Made) -> None:
    made = result(run("synthetic", ""), run("source", "uncached"))
    assert made.verdict == "CANNOT TELL"
    assert made.nodes[0].answer.startswith("training ran on this machine's 8 processors")
    assert table.render(made).splitlines()[-1] == f"answer      node1: {made.nodes[0].answer}"


def test_the_simplest_path_that_feeds_is_named(run: Made) -> None:
    paths = [run("synthetic", "", images_per_s=1000.0, **GPU), run("mount", "worker", images_per_s=980.0, **GPU)]
    assert result(*paths).nodes[0].answer.startswith("use mount, worker: 980 images/s in epoch 1 are 98%")
    simple = result(*paths, run("source", "uncached", images_per_s=910.0, **GPU))
    assert simple.verdict == "PASS"
    assert simple.nodes[0].answer.startswith("use source, uncached: 910 images/s")


def test_no_path_that_feeds_is_a_failure_of_paths_only_with_idle_processors(run: Made, epoch: Made) -> None:
    ceiling = run("synthetic", "", images_per_s=1000.0, **GPU)
    assert result(ceiling, run("mount", "worker", images_per_s=500.0, **GPU)).verdict == "FAIL"
    busy = [epoch("mount", "worker", images_per_s=500.0, cpu_s=3.0)]  # of 8 processors in 0.4 s
    made = result(ceiling, run("mount", epochs=busy, **GPU))
    assert made.verdict == "CANNOT TELL"
    assert "the 8 processors were busy in mount, worker" in made.nodes[0].answer


def test_no_path_fails_where_loaders_give_no_more_from_memory(run: Made) -> None:
    """Ratios of an H200 with 14 loaders: made-up batches, the mount, the page cache, processors half idle."""
    ceiling = run("synthetic", "", images_per_s=274.0, **GPU)
    mount = run("mount", "worker", images_per_s=134.0, **GPU)
    made = result(ceiling, mount, run("source", "page-cache", images_per_s=190.0, **GPU))
    assert made.verdict == "CANNOT TELL"
    assert made.nodes[0].answer.startswith("loaders limit, not a path: from the page cache they give 190 images/s")
    assert result(ceiling, mount, run("source", "page-cache", images_per_s=260.0, **GPU)).verdict == "PASS"
    assert result(ceiling, mount, run("source", "uncached", images_per_s=190.0, **GPU)).verdict == "FAIL"


def test_what_one_gpu_reached_becomes_the_need_of_later_plans(run: Made) -> None:
    settings = {"gpus": 2, "image": "torch"}
    runs = [run("synthetic", "", "", images_per_s=5400.0, **GPU), run("mount", "worker", images_per_s=900.0, **GPU)]
    need = {"images_per_s": 2700.0, "image_bytes": BYTES // IMAGES, "at": "2026-11-25T08:00:00Z"}
    assert train_need(runs, settings, FACTS) == {"workload": "resnet50", "gpu": GPU["device"], "need": need}
    for other in ({"gpus": 0}, {"model": "resnet152"}, {"size": 128}, {"program": "/home/me/own.py"}):
        assert train_need(runs, settings | other, FACTS) == {}
    assert train_need(runs[1:], settings, FACTS) == {}


def test_train_json_fits_its_schema_and_reads_back(run: Made) -> None:
    made = result(run("synthetic", ""), run("mount", "worker", "page-cache"), COPY, run("local copy", "disk"))
    written = json.loads(made.model_dump_json())
    schema = json.loads(next(path for path, model in SCHEMAS.items() if model is Training).read_text())
    jsonschema.validate(written, schema)
    assert Training.model_validate(written) == made
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(written | {"verdict": "MAYBE"}, schema)


def test_the_page_has_a_plot_of_each_kind(run: Made) -> None:
    shown = page.render(result(run("synthetic", ""), run("mount", "worker", "page-cache")))
    for title in ("images/s by path and epoch", "where the bytes came from", "loss by step"):
        assert f"<title>imagenet on node1: {title}</title>" in shown
    assert "<script" not in shown


def test_the_disk_below_a_path_is_told_where_it_served_the_bytes(run: Made, epoch: Made) -> None:
    """Of the mount another program read the disk, and what a disk did for the first epoch only is told."""
    disk = {"reads": 200.0, "bytes": float(BYTES), "wait_s": 0.5}
    copied = run("local copy", epochs=[epoch("local copy", "disk", disk=disk), epoch("local copy", "page-cache", 2)])
    mount = run("mount", epochs=[epoch("mount", "worker", disk=disk | {"bytes": BYTES / 100})])
    cached = run("local copy", epochs=[epoch("local copy", "page-cache", disk=disk)])
    assert result(cached).nodes[0].rows[0].medium is None
    made = result(copied, mount)
    found = {row.path: row.medium and row.medium.model_dump() for row in made.nodes[0].rows}
    assert found == {"local copy": {"read_bytes": BYTES / 200, "wait_ms": 2.5, "queue": 0.25}, "mount": None}
    note = "local copy, disk: the disk served epoch 1 in reads of 100 KB, which took 2.50 ms, 0.2 of them at a time, on"
    assert note in table.render(made)
