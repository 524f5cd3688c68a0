"""The first failing layer, from the source on; services against what was planned."""

from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import cluster_status
from ansible_collections.alluxio.fuse.plugins.modules import workers_hold
from fleets import IMAGENET, filesystem, fleet
from planned import plan_of

from alluxio_fuse.kubernetes.pods import COMPONENT
from alluxio_fuse.plan import plan
from alluxio_fuse.status import judge, services, table
from alluxio_fuse.views import state

PAGES = {"medium": "memory", "path": "/pages", "page_size": 2**20}
NODES = {
    host: {"worker": {}, "fuse/imagenet": {"client_cache": PAGES | cache, "mount_options": ["ro", "kernel_cache"]}}
    for host, cache in {"n1": {"enabled": True, "size": 2**30}, "n2": {"enabled": False, "size": 0}}.items()
}
FLEET: dict[str, Any] = {
    "alluxio_version": "2.9.6",
    "masters": ["n1:19998"],
    "platform": "containers",
    "datasets": [{"name": "imagenet", "alluxio_path": "/imagenet", "bytes": 2**30}],
}
PLAN = plan_of("fuse", FLEET, NODES)
SERVES = {"state": "serves", "why": "", "readers": ["python (7)"], "waiting": 0, "cached": 2.0**29}
MASTER = {
    "why": "",
    "version": "2.9.6",
    "workers": 2,
    "lost": 0,
    "capacity": 2**30,
    "used": 2**20,
    "paths": ["/imagenet"],
}
WORKER = {"why": "", "version": "2.9.6", "failures": {}}
STAGED: dict[str, Any] = {
    "shows": "whole",
    "files": 1,
    "bytes": 1,
    "direct": True,
    "readers": [],
    "kept": [],
    "scrub": {"wrong": []},
}
SILENT = {"why": "n1:19999: Connection refused"}


def judged(
    n1: dict[str, Any] | None = SERVES, master: Any = MASTER, worker: Any = WORKER, found: Any = ()
) -> judge.Status:
    hosts = {"n1": n1 and {"imagenet": n1}, "n2": {"imagenet": SERVES}}
    return judge.judge(PLAN, hosts, found, {"masters": {"n1:19999": master}, "workers": {"n1:30000": worker}})


def test_what_serves_fails_nowhere() -> None:
    status = judged()
    assert status.failing == []
    shown = table.render(status)
    assert "1 of 1 answer, 2 live, 1Mi of 1Gi used" in shown
    assert "512Mi of 1Gi" in shown
    assert "FAILING" not in shown


def test_a_hung_mount_is_explained_by_the_master_that_is_down() -> None:
    hung = {**SERVES, "state": "hung", "why": "3 requests wait"}
    status = judged(hung, master=SILENT)
    assert status.failing == [
        "master: n1:19999: Connection refused",
        "master on n1, imagenet: 3 requests wait",
    ]
    assert judged(hung).failing == ["FUSE process on n1, imagenet: 3 requests wait"]


@pytest.mark.parametrize(
    ("n1", "said"),
    [
        (None, "node on n1, imagenet: Ansible does not reach it"),
        ({**SERVES, "state": "dead", "why": "gone"}, "FUSE process on n1, imagenet: gone"),
        ({"state": "not mounted", "why": "", "readers": []}, "mount on n1, imagenet: "),
    ],
)
def test_what_fails_on_a_node(n1: dict[str, Any] | None, said: str) -> None:
    assert judged(n1).failing == [said]


@pytest.mark.parametrize(
    ("shows", "state", "failing"),
    [
        ("whole", "dead", []),
        ("part", "dead", ["FUSE process on n1, imagenet: gone"]),
        ("source", "serves", []),
        ("nothing", "serves", ["stage on n1, imagenet: nothing is mounted at /mnt/x: playbooks/warm.yml mounts it"]),
    ],
)
def test_a_staged_dataset(shows: str, state: str, failing: list[str]) -> None:
    copy = {"medium": "memory", "folder": "/stage", "path": "/mnt/x", "parent": {}, "footprint": 2**30}
    fuse = {**NODES["n1"]["fuse/imagenet"], "stage": copy}
    plan = plan_of("fuse", FLEET, {**NODES, "n1": {"worker": {}, "fuse/imagenet": fuse}})
    held = 2**30 if shows == "whole" else 2**28 if shows == "part" else 0
    staged = {**STAGED, "shows": shows, "bytes": held, "readers": ["python (8)"]}
    seen = {**SERVES, "state": state, "why": "gone" if state == "dead" else "", "staged": staged}
    found = judge.judge(
        plan,
        {"n1": {"imagenet": seen}, "n2": {"imagenet": SERVES}},
        [],
        {"masters": {"n1:19999": MASTER}, "workers": {"n1:30000": WORKER}},
    )
    assert found.failing == failing
    assert found.mounts[0].readers == ["python (7)", "python (8)"]
    told = {"whole": "1Gi of 1Gi, 100%", "part": "256Mi of 1Gi, 25%"}.get(shows, "of 1Gi, 0%")
    assert told in table.render(found)


def test_a_copy_that_differs_fails() -> None:
    staged = {**STAGED, "scrub": {"wrong": ["a/b"]}}
    status = judged({**SERVES, "staged": staged})
    assert status.failing == ["stage on n1, imagenet: 1 files of the copy differ from what was copied, a/b for one"]


def test_who_keeps_a_former_copy_is_told() -> None:
    staged = {**STAGED, "kept": ["sleep (9)"]}
    status = judged({**SERVES, "staged": staged})
    assert status.failing == []
    assert "kept     imagenet on n1: the former copy stays for sleep (9)" in table.render(status)


def test_a_copy_that_is_not_read_past_the_page_cache_is_told() -> None:
    told = "note     imagenet on n1: files of the copy do not open with O_DIRECT"
    assert told in table.render(judged({**SERVES, "staged": {**STAGED, "direct": False}}))
    assert "O_DIRECT" not in table.render(judged({**SERVES, "staged": STAGED}))


def test_what_workers_hold_of_each_dataset() -> None:
    lines = table.render(judged(), {"imagenet": 2**29}).splitlines()
    (one,) = [line.strip() for line in lines if line.strip().startswith("of ")]
    assert one == "of imagenet  512Mi of 1Gi, 50%"
    assert "of imagenet  the master did not tell" in table.render(judged(), {"imagenet": None})
    nobody = judge.judge(PLAN, {}, [], {"masters": {"n1:19999": MASTER}, "workers": {}})
    assert "of imagenet  512Mi" in table.render(nobody.model_copy(update={"mounts": []}), {"imagenet": 2**29})


#: What `alluxio fs du -s` of 2.9.6 writes.
TOLD = """\
File Size     In Alluxio       Path
80433339      40216669 (50%)   /bucket
"""


@pytest.mark.parametrize(
    ("cli", "held"),
    [
        (f"echo '{TOLD}'", 40216669),
        (f"echo '{TOLD}'; exit 1", None),
        ("echo 'Path \"/bucket\" does not exist.'", None),
        ("sleep 60", None),
    ],
    ids=["told", "failed", "unknown", "silent"],
)
def test_the_master_is_asked_what_workers_hold(cli: str, held: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers_hold, "ANSWER_S", 0.5)
    assert workers_hold.ask(["sh", "-c", cli, "cli"], {"bucket": "/bucket", "other": "/other"}) == {
        "bucket": held,
        "other": None,
    }


def test_without_a_command_nobody_tells() -> None:
    assert workers_hold.ask(["/nonexistent/podman"], {"bucket": "/bucket"}) == {"bucket": None}


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        ({}, {"imagenet": "/imagenet"}),
        ({"alluxio_platform": "fluid"}, {}),
        ({"alluxio_platform": "host", "through": "under_store", "stage": "require"}, {}),
    ],
    ids=["ours", "of Fluid", "none"],
)
def test_whose_bytes_workers_may_hold(said: dict[str, Any], paths: dict[str, str]) -> None:
    platform = {key: value for key, value in said.items() if key.startswith("alluxio_")}
    dataset = IMAGENET | {key: value for key, value in said.items() if key not in platform}
    disks = [filesystem("/", 900)]
    made = plan(fleet(2, {**platform, "alluxio_datasets": [dataset]}, memory=512, cpus=96, filesystems=disks))
    assert state.paths_in_workers(made) == paths


def test_a_dataset_whose_name_ends_alike_is_another() -> None:
    assert workers_hold.parse(TOLD, "/bucket2") is None
    assert workers_hold.parse(TOLD.replace("/bucket", "/my/bucket"), "/bucket") is None


def test_a_master_that_is_nowhere_fails_too() -> None:
    status = judge.judge(PLAN, {"n1": {"imagenet": SERVES}}, [], {"masters": {}, "workers": {}})
    assert status.failing == ["master: none runs"]


def test_workers_that_came_back_with_other_addresses_are_not_lost() -> None:
    assert judged(master={**MASTER, "lost": 2}).failing == []


def test_layers_below_the_mounts() -> None:
    gone = judged(master={**MASTER, "workers": 1, "lost": 2})
    assert gone.failing == ["lost worker: the master has lost 1 of its workers"]
    assert judged(worker=SILENT).failing == ["worker: n1:19999: Connection refused"]
    [line] = judged(master={**MASTER, "paths": ["/"]}).failing
    assert line.startswith("namespace: /imagenet not mounted")


def test_under_stores_that_refuse_are_counted() -> None:
    flat = {
        "Worker.OpenFailures.User:a.UFS:s3:%2F%2Fbucket.v2%2Fimagenet.UFS_TYPE:s3": 3.0,
        "Worker.ListStatusFailures.UFS:s3:%2F%2Fbucket.v2%2Fimagenet.UFS_TYPE:s3": 1.0,
        "Worker.Open.UFS:s3:%2F%2Fbucket.v2%2Fimagenet.UFS_TYPE:s3": 9.0,
        "Worker.OpenFailures.UFS:%2Fdata.UFS_TYPE:local": 0.0,
    }
    failures = cluster_status.failures(flat)
    assert failures == {"s3://bucket.v2/imagenet": 4}
    status = judged(worker={**WORKER, "failures": failures})
    assert status.under_store == "4 failed calls to s3://bucket.v2/imagenet"


def container(name: str, digest: str, status: str = "running") -> dict[str, Any]:
    state = {"Status": status, "ExitCode": 137}
    return {"Name": f"/{name}", "State": state, "Config": {"Labels": {"alluxio-fuse.digest": digest}}}


def test_containers_against_the_plan() -> None:
    planned = [{"name": name, "digest": "new"} for name in ("master", "worker", "fuse", "job")]
    found = [container("master", "new"), container("worker", "old"), container("fuse", "new", "exited")]
    states = {one["name"]: one["state"] for one in services.of_containers(planned, found, "n1")}
    assert states == {
        "master": services.AS_PLANNED,
        "worker": services.BEHIND,
        "fuse": services.DOWN,
        "job": services.DOWN,
    }


def test_units_as_systemd_has_them() -> None:
    def shown(name: str, state: str, reload: str = "no", digest: str = "new") -> str:
        about = f"Id={name}\nDescription=Alluxio FUSE: dataset {name} of us ({digest})"
        return f"{about}\nActiveState={state}\nResult=success\nNeedDaemonReload={reload}"

    running = [
        shown("a", "active"),
        shown("b", "active", "yes"),
        shown("c", "inactive"),
        shown("d", "active", "no", "old"),
    ]
    found = services.of_units(running, [{"digest": "new"}] * 4, "n1")
    assert [one["state"] for one in found] == [services.AS_PLANNED, services.BEHIND, services.DOWN, services.BEHIND]
    assert found[2]["why"] == "the unit is inactive (success)"
    assert found[3]["why"].startswith("it runs what was planned before")


def pod(image: str, checksum: str, ready: bool = True, node: str = "n1") -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"fuse-{node}",
            "labels": {COMPONENT: "fuse-a"},
            "annotations": {"checksum/config": checksum, "of": "somebody else's"},
        },
        "spec": {"nodeName": node, "containers": [{"name": "fuse", "image": image}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_pods_against_their_template() -> None:
    template = pod("image:1", "new")
    daemons = {"spec": {"template": template}, "status": {"desiredNumberScheduled": 5}}
    pods = [
        pod("image:1", "new"),
        pod("image:0", "new", node="n2"),
        pod("image:1", "old", node="n3"),
        pod("image:1", "new", ready=False, node="n4"),
    ]
    found = services.of_pods([daemons], pods)
    assert [(one["node"], one["state"]) for one in found] == [
        ("n1", services.AS_PLANNED),
        ("n2", services.BEHIND),
        ("n3", services.BEHIND),
        ("n4", services.DOWN),
        ("", services.DOWN),
    ]
    assert "1 of 5 pods are missing" in found[-1]["why"]
    left = services.of_pods([daemons], pods, before=pods[:1])
    assert left[0]["state"] == services.BEHIND, "its memory or environment may be what changed"
    lines = judge.behind(found)
    assert lines[0].startswith("fuse-a on n2: pod fuse-n2 is older than its template")


def test_options_that_a_mount_lost_are_told() -> None:
    """Those that the kernel does not tell of are not missed."""
    [one, other] = judged({**SERVES, "options": ["rw", "allow_other"]}).mounts
    assert (one.lacks, other.lacks) == (["ro"], [])


def test_a_claim_is_below_fluids_root() -> None:
    claim = {**FLEET["datasets"][0], "source": "pvc://nfs/train"}
    plan = plan_of("fuse", {**FLEET, "platform": "fluid", "datasets": [claim]}, NODES)
    hosts = {"n1": {"imagenet": SERVES}, "n2": {"imagenet": SERVES}}

    def failing(*paths: str) -> list[str]:
        asked: dict[str, Any] = {
            "masters": {"n1:19999": {**MASTER, "paths": list(paths)}},
            "workers": {"n1:30000": WORKER},
        }
        return judge.judge(plan, hosts, (), asked).failing

    assert failing("/") == []
    assert failing() == ["namespace: / not mounted in Alluxio: playbooks/services.yml mounts it"]
