"""What running pods tell."""

from typing import Any

import pytest
from planned import plan_of

from alluxio_fuse.kubernetes import objects, pods
from alluxio_fuse.plan import Plan


def pod(component: str, node: str = "gpu-1", ready: bool = True, **status: Any) -> dict[str, Any]:
    name = f"a-{component}-{node}"
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {pods.COMPONENT: component}},
        "spec": {"nodeName": node},
        "status": {
            "podIP": "10.0.0.1",
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": str(ready)}],
            **status,
        },
    }


def container(state: dict[str, Any], restarts: int = 0, ready: bool = False) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "c", "state": state, "restartCount": restarts, "ready": ready}]}


def controller(count: int, updated: int, generation: int = 1, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {pods.COMPONENT: "worker"}}}
    return {
        "metadata": {"generation": 1},
        "spec": {"replicas": count, "template": template, **spec},
        "status": {"observedGeneration": generation, "updatedReplicas": updated},
    }


def daemons(count: int, updated: int, strategy: str) -> dict[str, Any]:
    one = controller(0, 0, updateStrategy={"type": strategy})
    one["status"] = {"observedGeneration": 1, "desiredNumberScheduled": count, "updatedNumberScheduled": updated}
    return one


def test_endpoints_and_identity() -> None:
    found = pods.endpoints([pod("master"), pod("worker"), pod("fuse-a"), pod("fuse-a", node="gpu-2"), pod("mounts")])
    assert found["master"] == ["10.0.0.1:19999"]
    assert found["worker"] == ["10.0.0.1:30000"]
    assert found["fuse"] == {"gpu-1": {"a": "10.0.0.1:49999"}, "gpu-2": {"a": "10.0.0.1:49999"}}
    assert found["identity"]["gpu-1"]["a"] != found["identity"]["gpu-2"]["a"]


@pytest.mark.parametrize(
    "gone",
    [
        pod("fuse-a", phase="Failed", reason="Evicted"),
        pod("fuse-a", phase="Pending"),
        pod("fuse-a", podIP=None),
        {**pod("fuse-a"), "metadata": {**pod("fuse-a")["metadata"], "deletionTimestamp": "2026-11-21T18:00:00Z"}},
    ],
)
def test_a_pod_that_is_gone_is_not_asked_though_it_has_an_address(gone: dict[str, Any]) -> None:
    successor = pod("fuse-a", podIP="10.0.0.2")
    for found in ([gone, successor], [successor, gone]):
        assert pods.endpoints(found)["fuse"] == {"gpu-1": {"a": "10.0.0.2:49999"}}
    assert pods.endpoints([gone])["fuse"] == {}


def other(name: str, **spec: Any) -> dict[str, Any]:
    """A running pod of somebody else, in namespace `team`."""
    about = {"name": name, "namespace": "team", "labels": {}}
    found = {"nodeName": "gpu-1", "containers": [{"name": "c"}], **spec}
    return {"metadata": about, "spec": found, "status": {"podIP": "10.0.0.9", "phase": "Running"}}


def folder(path: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "hostPath": {"path": path}}, {"name": "e", "emptyDir": {}}]}


def inline(driver: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "csi": {"driver": driver}}]}


def claim(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]}


GPU = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (folder("/mnt/a/imagenet"), True),
        (folder("/mnt/a"), True),
        (folder("/mnt/ab/imagenet"), False),
        (inline("a.data"), True),
        (inline("ab.data"), False),
        (inline("data.a"), False),
        (claim("imagenet.a.data"), True),
        (claim("imagenet.b.data"), False),
        (folder("/"), False),  # monitoring of the node, on every node
        (GPU, True),
        ({}, False),
    ],
)
def test_pods_that_may_read_are_users_of_their_node(spec: dict[str, Any], found: bool) -> None:
    told = pods.endpoints([], [other("trainer", **spec)], "a")
    named = {"gpu-1": ["pod team/trainer"]}
    assert told["users"] == (named if found else {})
    assert told["readers"] == (named if found and spec is not GPU else {})


def test_our_own_pods_are_no_users() -> None:
    ours = other("fuse", **folder("/mnt/a/imagenet"))
    ours["metadata"]["labels"] = objects.labels("a", "access")
    assert pods.endpoints([], [ours], "a")["users"] == {}
    assert pods.endpoints([], [ours], "b")["users"] == {}
    ended = other("trainer", **GPU)
    ended["status"]["phase"] = "Succeeded"
    assert pods.endpoints([], [ended], "a")["users"] == {}


def test_another_master_or_another_fuse_is_another_identity() -> None:
    def identity(master: str, fuse: str) -> str:
        found = [pod("master"), pod("fuse-a")]
        found[0]["metadata"]["uid"], found[1]["metadata"]["uid"] = master, fuse
        return str(pods.endpoints(found)["identity"]["gpu-1"]["a"])

    assert len({identity("m", "f"), identity("n", "f"), identity("m", "g")}) == 3


@pytest.mark.parametrize(
    ("made", "done"),
    [
        (controller(2, 2), True),
        (controller(2, 1), False),
        (controller(2, 2, generation=0), False),
        (daemons(2, 0, "OnDelete"), True),
        (daemons(2, 1, "RollingUpdate"), False),
        (daemons(2, 2, "RollingUpdate"), True),
    ],
)
def test_when_a_controller_is_done(made: dict[str, Any], done: bool) -> None:
    wanted = pods.wanted([made])["worker"]
    assert (wanted.count, wanted.done) == (2, done)


def test_a_pod_that_goes_away_is_not_counted_as_ready() -> None:
    going = pod("worker")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert pods.ready([going]) == {"worker": 0}


def test_ready_pods_of_each_component() -> None:
    assert pods.ready([pod("worker"), pod("worker", ready=False), pod("master")]) == {"worker": 1, "master": 1}


@pytest.mark.parametrize(
    ("state", "restarts", "hopeless"),
    [
        ({"waiting": {"reason": "ErrImagePull", "message": "not found"}}, 0, True),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, 1, False),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, 3, True),
        ({"waiting": {"reason": "ContainerCreating"}}, 0, False),
        ({"running": {}}, 0, False),
    ],
)
def test_what_waiting_does_not_mend(state: dict[str, Any], restarts: int, hopeless: bool) -> None:
    assert bool(pods.hopeless([pod("worker", ready=False, **container(state, restarts))])) is hopeless


def test_whose_last_words_are_wanted() -> None:
    ended = container({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=2)
    slow = container({"running": {}})
    found = pods.failing([pod("worker"), pod("master", ready=False, **ended), pod("fuse-a", ready=False, **slow)])
    assert found == [("a-master-gpu-1", "c", True), ("a-fuse-a-gpu-1", "c", False)]


def test_the_reason_holds_all_that_was_said_once() -> None:
    event = {"type": "Warning", "reason": "Failed", "message": "no such image", "object": "a-worker"}
    text = pods.why(["a-worker: ErrImagePull"], [event, event], {"a-worker, container c": "java: no"})
    assert text.count("no such image") == 1
    assert "ErrImagePull" in text
    assert "java: no" in text


def revision(number: int, text: str, owner: str = "ds") -> dict[str, Any]:
    labels, owners = {pods.REVISION: text}, [{"uid": owner}]
    return {"metadata": {"labels": labels, "ownerReferences": owners}, "revision": number}


def made(text: str, node: str, **about: Any) -> dict[str, Any]:
    one = pod("fuse-a", node)
    return {
        **one,
        "metadata": {**one["metadata"], "labels": {**one["metadata"]["labels"], pods.REVISION: text}, **about},
    }


def test_what_its_daemonset_has_left_as_it_was() -> None:
    """Revisions count up: 10 comes after 9, and a roll-back makes an old one the newest."""
    fuse = daemons(2, 1, "OnDelete")
    fuse["metadata"]["uid"] = "ds"
    fuse["spec"]["template"]["metadata"]["labels"][pods.COMPONENT] = "fuse-a"
    found = [made("old", "gpu-1"), made("new", "gpu-2"), made("old", "gpu-3", deletionTimestamp="now"), pod("worker")]
    revisions = [revision(10, "new"), revision(9, "old"), revision(99, "other", "another")]
    assert [pods.told_of(one, "a") for one in pods.of_before(found, [fuse], revisions)] == [
        {"name": "fuse-a", "pod": "a-fuse-a-gpu-1", "node": "gpu-1", "mount_point": "/mnt/a/a/data"}
    ]
    fuse["spec"]["updateStrategy"]["type"] = "RollingUpdate"
    assert pods.of_before(found, [fuse], revisions) == []


def test_a_fuse_pod_tells_where_it_mounts() -> None:
    """A pod of before its dataset was staged mounts where readers read, one of after out of their way."""
    hidden = made("new", "gpu-1")
    hidden["spec"]["volumes"] = [{"name": "parent", "hostPath": {"path": "/var/lib/a/fuse/a"}}]
    assert pods.told_of(hidden, "a")["mount_point"] == "/var/lib/a/fuse/a/data"
    hidden["spec"]["volumes"] = [{"name": "parent", "hostPath": {"path": "/mnt/a/a"}}]
    assert pods.told_of(hidden, "a")["mount_point"] == "/mnt/a/a/data"


def test_keepers_are_awaited_where_they_are_planned() -> None:
    nodes: dict[str, Any] = {
        "n1": {"node": {"keeper": {"memory": 1, "tmpfs": 0, "cpu_request": 1}}, "fuse/a": {}},
        "n2": {"node": {}, "fuse/a": {}},
    }
    assert pods.planned(plan_of("x", {}, nodes)) == {"fuse-a": 2, "stage": 1}


def test_what_another_manifest_would_roll() -> None:
    def manifest(image: str, component: str) -> dict[str, Any]:
        labels = {pods.COMPONENT: component}
        return {"kind": "DaemonSet", "spec": {"template": {"metadata": {"labels": labels}, "spec": {"image": image}}}}

    installed = [manifest("1", "worker"), manifest("1", "fuse-a"), {"kind": "ConfigMap", "data": {}}]
    rendered = [manifest("1", "worker"), manifest("2", "fuse-a"), manifest("1", "master")]
    assert pods.rolling(installed, rendered) == {"fuse-a"}
    assert pods.rolling(installed, []) == set(), "what goes is not started again"


def test_who_reads_is_asked_of_the_node_and_else_of_the_api() -> None:
    behind = [pods.told_of(pod(*which), "a") for which in (("fuse-a", "n1"), ("fuse-a", "n2"), ("worker", "n1"))]
    seen: dict[str, list[dict[str, Any]]] = {
        "n1": [{"item": behind[0], "readers": ["python3 (7)"]}],
        "n2": [{"item": behind[1], "skipped": True}],
    }
    there = {"n1": ["pod train/idle"], "n2": ["pod train/one"]}
    found = [one["readers"] for one in pods.read_through(behind, seen, there)]
    assert found == [["python3 (7)"], ["pod train/one"], []]


def test_an_install_takes_what_is_not_planned_and_what_has_no_password() -> None:
    def made(component: str, *volumes: str) -> dict[str, Any]:
        one = pod(component, "n1")
        one["spec"]["volumes"] = [{"name": name} for name in volumes]
        return one

    there = [made("master"), made("worker", "config"), made("fuse-a", "config"), made("fuse-b", "rpc-password")]

    def planned(*datasets: str) -> Plan:
        mounts: dict[str, dict[str, Any]] = {f"fuse/{name}": {} for name in datasets}
        return plan_of("x", {"datasets": [{"name": name} for name in datasets]}, {"n1": {"node": {}, **mounts}})

    assert [one["mount_point"] for one in pods.taken(there, planned("a", "b"))] == ["/mnt/x/a/data"]
    assert [one["mount_point"] for one in pods.taken(there, planned("a"))] == ["/mnt/x/a/data", "/mnt/x/b/data"]
    assert pods.taken(there, planned("a"), installs=False) == []
    there[2]["metadata"]["deletionTimestamp"] = "now"
    assert pods.taken(there, planned("a", "b")) == []


def test_pods_of_another_pool_than_their_nodes_are_taken_whoever_installs() -> None:
    services: dict[str, dict[str, Any]] = {"worker": {}, "fuse/a": {}}
    nodes = {"n1": {"node": {"pool": ""}, **services}, "n2": {"node": {"pool": "big"}, **services}}
    plan = plan_of("x", {"datasets": [{"name": "a"}]}, nodes)
    assert pods.planned(plan) == {"worker": 1, "fuse-a": 1, "worker.big": 1, "fuse-a.big": 1}
    there = [
        pod("fuse-a", "n1"),
        pod("fuse-a.big", "n2"),
        pod("fuse-a", "n2"),
        pod("worker", "n2"),
        pod("fuse-a", "n9"),
    ]
    for one in there:
        one["spec"]["volumes"] = [{"name": "rpc-password"}]
    for installs in (True, False):
        (found,) = pods.taken(there, plan, installs=installs)
        assert (found["name"], found["node"], found["mount_point"]) == ("fuse-a", "n2", "/mnt/x/a/data")


def test_pods_of_a_pool_are_found_by_dataset_and_kind() -> None:
    found = pods.endpoints([pod("worker.big", "n2"), pod("fuse-a.big", "n2"), pod("master", "n1")])
    assert list(found["fuse"]["n2"]) == ["a"]
    assert len(found["worker"]) == 1
