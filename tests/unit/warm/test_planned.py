"""What carries tasks out has what it imports, sees what it needs, and is told what a user said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import warm_tasks
from fleets import filesystem, fleet, local

from alluxio_fuse import stages, warm
from alluxio_fuse.plan import Refused, plan
from alluxio_fuse.plan.views.said import said

SET = {"name": "set", "source": "s3://bucket/set", "files": 1000, "bytes": "1Gi", "s3": {"anonymous": True}}
FOLDER = {"name": "folder", "source": "file:///data/folder", "files": 1000, "bytes": "1Gi", "stage": "require"}


def warmed(*datasets: dict[str, Any]) -> warm.WarmUp:
    return warm.warm_up(plan(local(alluxio_datasets=list(datasets))), "localhost", ["localhost"])


def container(*datasets: dict[str, Any]) -> dict[str, Any]:
    made = warmed(*datasets).runner
    assert made
    return made


def orders(action: str | None = None, task: str = "t", **wish: Any) -> dict[str, Any]:
    return warm.orders(said("alluxio_warm", {"alluxio_warm": wish} if wish else {}), action, task, "new")


def test_a_node_is_described_as_tasks_read_it() -> None:
    node = warm_tasks.described(json.loads(json.dumps(warmed(SET, FOLDER).node)))
    assert node.datasets["set"].roots == ["/mnt/alluxio-fuse/set/data"]
    assert (node.datasets["set"].store, node.datasets["set"].copy) == (True, "")
    assert node.datasets["folder"].roots == [
        "/mnt/alluxio-fuse/folder/data",
        "/var/lib/alluxio-fuse/fuse/folder/data",
    ]
    assert (node.datasets["folder"].store, node.datasets["folder"].copy) == (False, "/mnt/alluxio-fuse/folder/data")
    assert node.worker_bytes > 0
    assert node.assignments == "/var/lib/alluxio-fuse/assignments"


def test_without_copies_the_container_may_mount_nothing() -> None:
    assert container(SET)["capabilities"] == ["DAC_READ_SEARCH"]
    assert not any("/mnt" in one for one in container(SET)["volumes"])
    staged = container(SET, FOLDER)
    assert {"SYS_ADMIN", "DAC_READ_SEARCH"} <= set(staged["capabilities"])
    assert "/mnt/alluxio-fuse/folder:/mnt/alluxio-fuse/folder:rshared" in staged["volumes"]
    assert "/var/lib/alluxio-fuse/assignments:/var/lib/alluxio-fuse/assignments" in staged["volumes"]


def test_it_sees_the_manifests_that_it_reads() -> None:
    made = warmed(SET, FOLDER)
    seen = [one.partition(":")[0] for one in container(SET, FOLDER)["volumes"]]
    for place in warm_tasks.described(json.loads(json.dumps(made.node))).datasets.values():
        assert place.manifest.rpartition("/")[0] in seen


def test_it_asks_workers_with_the_configuration_of_fuse() -> None:
    conf = [one for one in container(SET)["volumes"] if "/opt/alluxio/conf/" in one]
    assert any(
        one.endswith("fuse-set/alluxio-site.properties:/opt/alluxio/conf/alluxio-site.properties:ro") for one in conf
    )
    assert any("rpc-password" in one for one in conf)


def test_whoever_serves_readers_has_the_processor_first() -> None:
    made = warmed({**SET, "stage": "require"})
    kept = stages.staged(plan(local(alluxio_datasets=[{**SET, "stage": "require"}])), "localhost").keeper
    assert made.runner is not None
    assert kept is not None
    assert (made.runner["weight"], kept["weight"]) == (51, 1024)


def test_another_description_starts_nothing_again() -> None:
    """What tasks know of the node is read anew by each: more room in workers must not end a task that runs."""
    one = warm.warm_up(plan(local(alluxio_datasets=[SET])), "localhost", ["localhost"])
    other = warm.warm_up(plan(local(alluxio_datasets=[{**SET, "bytes": "2Gi"}])), "localhost", ["localhost", "another"])
    assert one.runner is not None
    assert other.runner is not None
    assert one.runner["digest"] == other.runner["digest"]
    assert one.share != other.share


def test_the_command_runs_where_nothing_else_is(tmp_path: Path) -> None:
    made = warmed(SET)
    for item in made.files:
        path = tmp_path / item["path"].lstrip("/")
        if "content" not in item:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.write_text(item["content"].replace("/var/lib/", f"{tmp_path}/var/lib/"))
        path.chmod(int(item["mode"], 8))
    command = tmp_path / made.folder.lstrip("/") / warm.COMMAND
    text = command.read_text().replace("#!/usr/bin/python3\n", "#!/usr/bin/env -S python3 -I -S\n")
    command.write_text(text)
    done = subprocess.run([command, "list"], capture_output=True, text=True, check=True)
    assert done.stdout == "no tasks\n"
    runner = container(SET)["command"][1]
    programs = f"{tmp_path}{made.folder}/programs"
    code = (
        f"import sys; sys.path.insert(0, {programs!r}); import {runner} as runner; print(runner.go_round(sys.argv[1]))"
    )
    command_line = ["python3", "-I", "-S", "-c", code, f"{tmp_path}{made.folder}"]
    assert subprocess.run(command_line, capture_output=True, text=True, check=True).stdout == "\n"


def test_on_host_a_unit_stages_and_asks_no_workers() -> None:
    said = {"alluxio_platform": "host", "alluxio_datasets": [{**FOLDER, "through": "under_store"}]}
    made = warm.warm_up(plan(local(**said)), "localhost", ["localhost"])
    assert made.runner is not None
    assert made.runner["name"] == "alluxio-fuse-warm.service"
    assert {"CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH"} <= set(made.runner["capabilities"])
    assert {"kind": "unit", "id": "alluxio-fuse-warm.service"}.items() <= made.owned[-1].items()
    node = warm_tasks.described(json.loads(json.dumps(made.node)))
    assert (node.tiers, node.runner) == ([], "systemctl start alluxio-fuse-warm")


def in_pods(**kubernetes: Any) -> warm.WarmUp:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [SET], "alluxio_kubernetes": kubernetes}
    planned = plan(fleet(2, said, filesystems=[filesystem("/", 200)]))
    return warm.warm_up(planned, warm.mounting(planned)[1], list(planned.nodes))


def test_in_pods_none_is_made() -> None:
    made = in_pods()
    node = warm_tasks.described(json.loads(json.dumps(made.node)))
    assert made.runner is None
    assert [one["id"] for one in made.owned] == ["/var/lib/alluxio-fuse/warm"]
    assert "alluxio_warm_action=resume" in node.runner


def test_nodes_that_are_not_reached_keep_no_tasks() -> None:
    with pytest.raises(ValueError, match="node_access: false: tasks of alluxio_warm are kept on nodes"):
        in_pods(node_access=False)


def test_what_is_said_is_what_a_task_does() -> None:
    assert orders(paths=["a"], bandwidth="200Mi", verify="yes") == {
        "verb": "start",
        "id": "t",
        "idle_within": 0,
        "waits": True,
        "wish": {
            "datasets": [],
            "paths": ["a"],
            "filelist": "",
            "include": [],
            "exclude": [],
            "into": "workers",
            "operation": "load",
            "verify": True,
            "bandwidth": 200 << 20,
        },
    }
    assert orders(evict=True)["wish"]["operation"] == "evict"
    assert orders(verify="only")["wish"]["operation"] == "verify"
    assert (orders(dry_run=True)["verb"], orders(dry_run=True)["waits"]) == ("estimate", False)
    assert orders(paths=["a"], background=True)["waits"] is False
    assert orders("resume", "x")["waits"] is True
    assert orders(paths=["a"], when_idle=600)["idle_within"] == 600
    assert orders(dry_run=True, when_idle=600)["idle_within"] == 0
    assert orders(task="", paths=["a"])["id"] == "new"
    assert orders() == {"verb": "", "id": "", "idle_within": 0, "waits": False, "wish": {}}
    assert orders("cancel", "x") == {"verb": "cancel", "id": "x", "idle_within": 0, "waits": False, "wish": {}}


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"replicas": 2}, "one copy of a block"),
        ({"evict": True, "verify": True}, "cannot be compared"),
        ({"bandwidth": "200M"}, "200Mi"),
        ({"into": "moon"}, "workers"),
        ({"path": ["a"]}, "alluxio_warm"),
    ],
)
def test_what_cannot_be_is_refused_in_words(wish: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused, match=words):
        orders(**wish)


def test_a_tasks_name_is_checked_before_it_is_a_folder() -> None:
    with pytest.raises(ValueError, match="small letters"):
        orders(task="../x", paths=["a"])


def test_a_verb_needs_its_task() -> None:
    with pytest.raises(ValueError, match="of which task"):
        orders("cancel", "")
    with pytest.raises(ValueError, match="one run does one of the two"):
        orders("list", "", paths=["a"])
    assert orders("list", "")["verb"] == "list"
