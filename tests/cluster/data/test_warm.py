"""Warm-up tasks in pods: lists, kills, cancels, a schedule, and a training that begins once its dataset is warm.

The order matters: the first test deploys, the last one tears down.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bundle import Run, latest_file, succeed
from cluster import Object
from main_job import NAME, Job, sample_digests, unlike
from test_staged import STAGES, WHOLE, on_node, said, staged_files

COMMAND = f"/var/lib/{NAME}/warm/alluxio-warm"
SPACE = f"--namespace={NAME}"
TRAIN = f"train-on-{WHOLE}-once-warm"


@pytest.fixture(scope="module")
def deployed(job: Job, before: Any) -> Run:
    first, *others = (f"playbooks/{stage}.yml" for stage in STAGES)
    return succeed(job.play(first, *others, **said(job, part=False)))


@pytest.fixture(scope="module")
def sizes(job: Job) -> dict[str, int]:
    """Bytes of each file that tasks bring: they leave hidden ones out."""
    sample = Path(job.cluster.settings["lab_sample"])
    shown = [name for name in sample_digests(sample) if not name.startswith("./.")]
    return {name: (sample / name).stat().st_size for name in shown}


@pytest.fixture(scope="module")
def nodes(job: Job) -> list[str]:
    return job.cluster.gpu_nodes()


def warm(job: Job, action: str = "", task: str = "", *, limit: str = "", **wish: Any) -> Run:
    """`playbooks/warm.yml` with what is wanted of tasks."""
    asked: dict[str, Any] = {"alluxio_warm": wish} if wish else {"alluxio_warm_action": action}
    given = {**said(job, part=False), **asked, "alluxio_warm_task": task}
    return job.play("playbooks/warm.yml", *(["--limit", limit] if limit else []), **given)


def tasks(job: Job, node: str) -> list[dict[str, Any]]:
    """All tasks of a node, as it tells."""
    found: list[dict[str, Any]] = json.loads(on_node(job, node, f"{COMMAND} list --json"))
    return found


def last(job: Job, nodes: list[str]) -> list[dict[str, Any]]:
    """The newest one of each node."""
    return [tasks(job, node)[-1] for node in nodes]


def copies(job: Job, nodes: list[str]) -> list[int]:
    """How many of those files each node has staged."""
    found = [staged_files(job, node, WHOLE) for node in nodes]
    return [sum(not name.startswith("./.") for name in one) for one in found]


def runners(job: Job) -> list[str]:
    """Pods that carry tasks out now."""
    found = job.cluster.pods(NAME, "warm")
    return sorted(name for name, pod in found.items() if pod["status"]["phase"] == "Running")


def jobs(job: Job) -> dict[str, Object]:
    """All Jobs of the namespace, by name."""
    return {one["metadata"]["name"]: one for one in job.cluster.get("jobs", SPACE)}


def is_complete(one: Object) -> bool:
    held = {said["type"] for said in one["status"].get("conditions", []) if said["status"] == "True"}
    assert "Failed" not in held, one["status"]
    return "Complete" in held


def warms(nodes: list[str]) -> list[str]:
    """The Jobs that stage the dataset, one for each node."""
    return [f"warm-{WHOLE}-{node}" for node in nodes]


def test_what_was_given_up_is_read_again_once_by_all_nodes_together(
    job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]
) -> None:
    succeed(warm(job, evict=True))
    run = succeed(warm(job, verify=True))
    done = last(job, nodes)
    assert {one["state"] for one in done} == {"done"}, run.output[-2000:]
    assert sum(one["done_files"] for one in done) == len(sizes)
    assert sum(one["read"] for one in done) == sum(sizes.values())
    assert len({one["id"] for one in done}) == 1
    listed = succeed(warm(job, "list")).output
    assert all(f"{node}: {done[0]['id']}  load workers" in listed for node in nodes), listed
    job.cluster.wait("their Jobs are complete", lambda: all(map(is_complete, jobs(job).values())), 60)


def test_a_list_is_refused_with_its_lines(job: Job, deployed: Run, nodes: list[str], tmp_path: Path) -> None:
    before = {node: len(tasks(job, node)) for node in nodes}
    file = tmp_path / "list"
    file.write_text("none\n/elsewhere/x\n")
    refused = warm(job, filelist=str(file))
    assert refused.status != 0
    assert "line 1: 'none'" in refused.output
    assert "line 2: '/elsewhere/x'" in refused.output
    assert before == {node: len(tasks(job, node)) for node in nodes}


def test_a_pod_that_is_deleted_reads_nothing_twice(
    job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]
) -> None:
    succeed(warm(job, evict=True))
    rate = max(1 << 20, sum(sizes.values()) // len(nodes) // 30)
    succeed(warm(job, background=True, bandwidth=str(rate)))
    job.cluster.wait("they load", lambda: all(one["done_files"] > 5 for one in last(job, nodes)), 90)
    deleted = runners(job)
    assert len(deleted) == len(nodes)
    job.cluster.kubectl("delete", "pod", SPACE, *deleted, "--grace-period=0", "--force")
    succeed(warm(job, "watch", last(job, nodes)[0]["id"]))
    done = last(job, nodes)
    assert sum(one["done_files"] for one in done) == len(sizes)
    # What a pod had asked for as it went, a worker may have finished, or not have begun.
    assert sum(one["read"] for one in done) <= sum(sizes.values())


def test_cancel_while_it_runs_and_resume(job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]) -> None:
    succeed(warm(job, evict=True, into="stage"))
    assert copies(job, nodes) == [0] * len(nodes)
    rate = max(1 << 20, sum(sizes.values()) // 60)
    succeed(warm(job, background=True, into="stage", bandwidth=str(rate)))
    job.cluster.wait("they copy", lambda: all(one["done_files"] > 5 for one in last(job, nodes)), 90)
    task = last(job, nodes)[0]["id"]
    succeed(warm(job, "cancel", task))
    job.cluster.wait("they have ended", lambda: all(one["ended"] for one in last(job, nodes)), 60)
    assert {one["state"] for one in last(job, nodes)} == {"canceled"}
    assert all(0 < one < len(sizes) for one in copies(job, nodes))
    succeed(warm(job, "resume", task))
    assert copies(job, nodes) == [len(sizes)] * len(nodes)


def test_one_node_alone_does_what_is_asked_of_it(
    job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]
) -> None:
    here, other = nodes
    before = tasks(job, other)
    succeed(warm(job, limit=here, evict=True, into="stage"))
    assert copies(job, nodes) == [0, len(sizes)]
    succeed(warm(job, limit=here, into="stage"))
    assert copies(job, nodes) == [len(sizes)] * len(nodes)
    succeed(warm(job, limit=here, into="workers", evict=True))
    succeed(warm(job, limit=here, into="workers"))
    (loaded,) = last(job, [here])
    assert (loaded["state"], loaded["done_files"]) == ("done", len(sizes))
    assert tasks(job, other) == before


def test_a_training_begins_once_its_dataset_is_warm_on_all_nodes(
    job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]
) -> None:
    """All of it from the file that the run writes, as a user creates it. One node comes late."""
    succeed(warm(job, evict=True, into="stage"))
    job.cluster.kubectl("cordon", nodes[1])
    try:
        job.cluster.kubectl("create", "-f", str(latest_file("warm.yaml")))
        job.cluster.wait("one is warm", lambda: is_complete(jobs(job)[warms(nodes)[0]]), 200)
        assert copies(job, nodes) == [len(sizes), 0]
        assert jobs(job)[TRAIN]["spec"]["suspend"] is True
    finally:
        job.cluster.kubectl("uncordon", nodes[1])

    def trained() -> bool:
        found = jobs(job)
        return all(is_complete(found[name]) for name in (*warms(nodes), f"release-{TRAIN}", TRAIN))

    job.cluster.wait("the training has ended", trained, 300)
    made = jobs(job)
    ended = [made[name]["status"]["completionTime"] for name in warms(nodes)]
    assert made[TRAIN]["status"]["startTime"] >= max(ended)
    assert copies(job, nodes) == [len(sizes)] * len(nodes)
    said_there = job.cluster.kubectl("logs", SPACE, f"job/release-{TRAIN}")
    assert said_there == f"{NAME}/{TRAIN} begins, as its files are warm\n"
    assert job.cluster.kubectl("logs", SPACE, f"job/{TRAIN}", "--container=reader").strip() == "100"
    assert all(one["id"].startswith(name) for one, name in zip(last(job, nodes), warms(nodes), strict=True))


def test_a_schedule_warms_what_was_given_up(job: Job, deployed: Run, nodes: list[str], sizes: dict[str, int]) -> None:
    succeed(warm(job, evict=True, into="stage"))
    nightly = [f"{name}-nightly" for name in warms(nodes)]

    def patch(**spec: Any) -> None:
        for name in nightly:
            job.cluster.kubectl("patch", SPACE, f"cronjob/{name}", "--patch", json.dumps({"spec": spec}))

    patch(suspend=False, schedule="* * * * *")
    job.cluster.wait("it is warm again", lambda: copies(job, nodes) == [len(sizes)] * len(nodes), 200)
    patch(suspend=True)
    begun = [name for name in jobs(job) if any(name.startswith(f"{cron}-") for cron in nightly)]
    assert len(begun) >= len(nodes)
    job.cluster.wait("its Jobs end", lambda: all(is_complete(jobs(job)[name]) for name in begun), 120)


def test_a_second_run_changes_nothing(job: Job, deployed: Run) -> None:
    again = succeed(job.play("playbooks/services.yml", **said(job, part=False)))
    assert again.changed == 0, again.tasks("changed")


def test_teardown_leaves_nodes_and_cluster_as_they_were(job: Job, before: Any, deployed: Run) -> None:
    """While a task runs, and with all of warm.yaml that is ours: the training is the user's."""
    job.cluster.kubectl("delete", "job", SPACE, TRAIN)
    succeed(warm(job, background=True))
    succeed(job.play("playbooks/teardown.yml", **said(job, part=False)))
    nodes, objects = before
    for name, after in job.nodes().items():
        assert unlike(nodes[name], after) == []
    assert job.objects() == objects
