"""What the chart alone stages: FUSE out of the readers' way, a pod that copies, and its question to the API server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils.chart_stage import Dataset
from ansible_collections.alluxio.fuse.plugins.module_utils.owning_object import OwningObject
from helm import Helm, Object, case
from test_render import apply
from test_staged import seen

NAME = "cache-alluxio-fuse"
STATE, ROOT = f"/var/lib/data/{NAME}", f"/mnt/data/{NAME}"
SA = f"{NAME}-stage"
FUSES = ("imagenet", "tokens", "logs")
INIT = ("verify", "prepare")


@pytest.fixture
def objects(helm: Helm) -> dict[Any, Object]:
    return helm.objects(case("staged-alone"))


def staging(objects: dict[Any, Object], name: str = NAME) -> Object:
    return next(one for one in objects["DaemonSet", f"{name}-stage"]["spec"]["template"]["spec"]["containers"])


def said(objects: dict[Any, Object]) -> tuple[dict[str, Any], list[Dataset]]:
    """What the program is told: all, and the datasets as it takes them."""
    about = json.loads(staging(objects)["args"][-2])
    return about, [Dataset(**one) for one in about["datasets"]]


def test_what_the_program_is_told(objects: dict[Any, Object]) -> None:
    about, (imagenet, tokens) = said(objects)
    assert about["state"] == STATE
    assert about["object"] == f"/apis/apps/v1/namespaces/data/daemonsets/{NAME}-stage"
    assert (imagenet.name, imagenet.uri, imagenet.size, imagenet.folder) == (
        "imagenet",
        "s3://datasets/imagenet",
        4 << 30,
        "",
    )
    assert (imagenet.uid, imagenet.gid, imagenet.mode) == (0, 2000, "0750")
    assert (tokens.folder, tokens.size, tokens.per_file) == ("/mnt/nvme0/stage/tokens/copy", 200 << 30, 512)


def test_fuse_mounts_where_it_is_copied_from(objects: dict[Any, Object]) -> None:
    """And where nothing is staged, where it is read. A byte that is staged needs no client cache."""
    mounts = {one.name: one.source for one in said(objects)[1]} | {"logs": f"{ROOT}/logs/data"}
    for name, point in mounts.items():
        spec = objects["DaemonSet", f"{NAME}-fuse-{name}"]["spec"]["template"]["spec"]
        (fuse,) = spec["containers"]
        assert fuse["args"][-2] == point
        cached = [volume["name"] for volume in spec["volumes"] if volume["name"] == "client-cache"]
        assert cached == (["client-cache"] if name == "logs" else [])
    assert mounts["imagenet"].startswith(f"{STATE}/fuse/imagenet.")


def test_fuse_can_be_told_to_forget_where_blocks_were(objects: dict[Any, Object]) -> None:
    """It lists a dataset before workers hold it."""
    lines = objects["ConfigMap", NAME]["data"]
    of = {name: "alluxio.fuse.special.command.enabled=true" in lines[f"fuse-{name}.properties"] for name in FUSES}
    assert of == {"imagenet": True, "tokens": True, "logs": False}


def test_workers_are_asked_as_fuse_asks_them(objects: dict[Any, Object]) -> None:
    """The worker that reads a block is the same for all nodes, and the user one who may see the dataset."""
    spec = objects["DaemonSet", f"{NAME}-stage"]["spec"]["template"]["spec"]
    (configure,) = (one for one in spec["initContainers"] if one["name"] == "configure-stage")
    (file,) = (one["subPath"] for one in configure["volumeMounts"] if one["name"] == "config")
    lines = objects["ConfigMap", NAME]["data"][file].splitlines()
    policy = "alluxio.user.ufs.block.read.location.policy"
    assert f"{policy}=alluxio.client.block.policy.DeterministicHashPolicy" in lines
    assert {f"{policy}.deterministic.hash.shards=1", "alluxio.security.login.username=alluxio"} <= set(lines)


def test_another_configuration_of_fuse_has_other_pods(helm: Helm) -> None:
    def checksum(**fuse: Any) -> str:
        stage = {"medium": "memory", "size": "4Gi"}
        dataset = {"name": "imagenet", "source": "s3://datasets/imagenet", "stage": stage}
        made = helm.objects(values={"datasets": [dataset], "fuse": fuse})
        return str(made["DaemonSet", f"{NAME}-stage"]["spec"]["template"]["metadata"]["annotations"]["checksum/config"])

    assert checksum() != checksum(properties={"alluxio.user.network.rpc.keepalive.time": "1min"})


def test_another_source_is_mounted_elsewhere(helm: Helm, objects: dict[Any, Object]) -> None:
    stage = {"medium": "memory", "size": "4Gi"}
    other = {"datasets": [{"name": "imagenet", "source": "s3://datasets/another", "stage": stage}]}
    assert said(helm.objects(values=other))[1][0].source != said(objects)[1][0].source


def test_it_sees_the_node_as_the_node_does(objects: dict[Any, Object]) -> None:
    spec = objects["DaemonSet", f"{NAME}-stage"]["spec"]["template"]["spec"]
    assert seen(spec, staging(objects)) == {
        STATE: (STATE, "Bidirectional", False),
        ROOT: (ROOT, "Bidirectional", False),
        "/mnt/nvme0/stage": ("/mnt/nvme0/stage", None, False),
    }
    assert spec["hostPID"]
    verify, prepare = (next(one for one in spec["initContainers"] if one["name"] == name) for name in INIT)
    assert verify["args"] == ["storage", "/mnt/nvme0/stage", "/points/2", "/mnt/nvme0"]
    assert prepare["args"][:5] == ["own", STATE, "data-cache-alluxio-fuse", "stage.path", "fuse"]
    assert prepare["args"][5:17:6] == ["readers", "readers"]


def test_limits_hold_copies_in_memory_alone(objects: dict[Any, Object]) -> None:
    resources = staging(objects)["resources"]
    assert resources["limits"]["memory"] == resources["requests"]["memory"] == f"{(4 << 10) + 768}Mi"


def memory(quota: str) -> Object:
    return {"medium": "memory", "quota": quota, "emptyDir": {}}


def test_each_pool_stages(helm: Helm) -> None:
    stage = {"medium": "memory", "size": "4Gi"}
    label, a100 = ({"nodeSelector": {"gpu": gpu}} for gpu in ("t4", "a100"))
    made = helm.objects(
        values={
            "datasets": [{"name": "imagenet", "source": "s3://datasets/imagenet", "stage": stage}],
            "worker": {**label, "tiers": [memory("512Mi"), memory("256Mi")]},
            "fuse": label,
            "pools": [{"name": "a100", "worker": {**a100, "tiers": [memory("640Mi")]}, "fuse": a100}],
        }
    )
    (one,) = made["DaemonSet", f"{NAME}-stage-a100"]["spec"]["template"]["spec"]["containers"]
    assert json.loads(one["args"][-2])["object"].endswith(f"/{NAME}-stage-a100")
    names = {f"{NAME}-stage", f"{NAME}-stage-a100"}
    assert one["args"][-1] == staging(made)["args"][-1] == str(640 << 20)  # all copy in the same windows
    assert set(made["Role", SA]["rules"][0]["resourceNames"]) == names
    assert names <= {name for kind, name in made if kind == "DaemonSet"}
    assert made["DaemonSet", f"{NAME}-stage-a100"]["spec"]["template"]["spec"]["nodeSelector"]["gpu"] == "a100"


def test_without_a_stage_nothing_of_it_is_there(helm: Helm) -> None:
    assert not [name for _, name in helm.objects(case("default")) if "stage" in name]


class Api:
    """The API server with a release's objects, and the token of its pod."""

    def __init__(self, cluster: list[str], objects: dict[Any, Object], folder: Path) -> None:
        self._cluster, self._folder = cluster, folder
        config = Path(cluster[1].partition("=")[2])
        self.server = self.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
        (folder / "ca.crt").write_bytes((config.parent / "certificates/apiserver.crt").read_bytes())
        self.objects = {kind: one for (kind, name), one in objects.items() if name == SA}
        self.path = f"/apis/apps/v1/namespaces/data/daemonsets/{SA}"

    def kubectl(self, *arguments: str) -> str:
        return subprocess.run([*self._cluster, *arguments], check=True, capture_output=True, text=True).stdout

    def make(self, *kinds: str, **metadata: Any) -> None:
        made = [self.objects[kind] for kind in kinds]
        apply(self._cluster, [{**one, "metadata": {**one["metadata"], **metadata}} for one in made])

    def pod(self) -> OwningObject:
        """The program of a pod that has just started, with a token that is no pod's own, as that of its Secret."""
        (self._folder / "token").write_text(self.kubectl("create", "token", "--namespace=data", SA))
        return OwningObject(self.path, self.server, str(self._folder))

    def delete(self, *kinds: str) -> None:
        for kind in kinds:
            self.kubectl("delete", kind, SA, "--namespace=data", "--ignore-not-found", "--wait=false")


@pytest.fixture
def api(cluster: list[str], objects: dict[Any, Object], tmp_path: Path) -> Any:
    made = Api(cluster, objects, tmp_path)
    made.make("ServiceAccount", "Role", "RoleBinding")
    yield made
    made.delete("DaemonSet", "RoleBinding", "Role", "ServiceAccount")
    if made.kubectl("get", "daemonset", SA, "--namespace=data", "--ignore-not-found"):  # it has a finalizer
        made.kubectl("patch", "daemonset", SA, "--namespace=data", "--patch", '{"metadata": {"finalizers": null}}')


def test_a_pod_that_is_replaced_is_told_that_the_release_stays(api: Api) -> None:
    api.make("DaemonSet")
    pod_ = api.pod()
    assert pod_.look() == ["what is staged goes with the release"]
    assert pod_.look() == []
    assert not pod_.is_gone()


@pytest.mark.parametrize("kinds", [["DaemonSet"], ["RoleBinding"], ["ServiceAccount", "Role", "RoleBinding"]])
def test_a_release_that_is_uninstalled_is_gone(api: Api, kinds: list[str]) -> None:
    """In whichever order its objects go."""
    api.make("DaemonSet")
    pod_ = api.pod()
    pod_.look()
    api.delete(*kinds)
    assert pod_.is_gone()


def test_a_release_that_is_being_deleted_is_gone(api: Api) -> None:
    """As `helm uninstall --wait`, or an owner that waits for its pods, has it."""
    api.make("DaemonSet", finalizers=["foregroundDeletion"])
    pod_ = api.pod()
    pod_.look()
    api.delete("DaemonSet")
    assert pod_.is_gone()


def test_who_was_never_answered_calls_nothing_gone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.make("DaemonSet")
    api.delete("RoleBinding")
    pod_ = api.pod()
    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.owning_object.AGAIN_S", 0.0)
    assert pod_.look() == [
        "the API server answers 403 to this pod, so what is staged would stay on the node when the release goes"
    ]
    assert not pod_.is_gone()
    api.make("RoleBinding")
    assert pod_.look() == ["what is staged goes with the release"]


def test_an_api_server_that_is_away_calls_nothing_gone(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.make("DaemonSet")
    pod_ = api.pod()
    pod_.look()
    api.delete("DaemonSet")
    away, there = "https://127.0.0.1:1" + api.path, pod_._url
    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.owning_object.PAUSE_S", 0.0)
    monkeypatch.setattr(pod_, "_url", away)
    assert not pod_.is_gone()
    monkeypatch.setattr(pod_, "_url", there)
    assert pod_.is_gone()
