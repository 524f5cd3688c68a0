"""What holds for every object of every case."""

import json
from typing import Any

import pytest
import yaml
from helm import CASES, CHART, Helm, Object, case, containers, pod_template

from alluxio_fuse.plan.rules.properties import read_past_workers

SELECTOR = {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"}
WITH_FUSE = ("object-store", "nvme-nodes", "shared-filesystem", "autoscaling", "official-image")


@pytest.fixture(params=CASES)
def objects(helm: Helm, request: pytest.FixtureRequest) -> list[Object]:
    return list(helm.objects(case(request.param)).values())


def templates(objects: list[Object]) -> list[Object]:
    return [template for one in objects if (template := pod_template(one))]


def host_paths(objects: list[Object]) -> set[str]:
    volumes = [volume for template in templates(objects) for volume in template["spec"].get("volumes", [])]
    return {volume["hostPath"]["path"] for volume in volumes if "hostPath" in volume}


def identities(objects: dict[Any, Object]) -> set[tuple[str, str, str]]:
    metadata = [(kind, one["metadata"]) for (kind, _), one in objects.items()]
    return {(kind, about.get("namespace", ""), about["name"]) for kind, about in metadata}


def test_selectors_hold_name_instance_and_component(objects: list[Object]) -> None:
    for one in objects:
        if one["kind"] in ("StatefulSet", "DaemonSet", "Deployment", "PodDisruptionBudget"):
            assert one["spec"]["selector"]["matchLabels"].keys() == SELECTOR
        if one["kind"] == "Service":
            assert one["spec"]["selector"].keys() == SELECTOR


def test_secrets_are_files_of_the_containers_that_need_them(objects: list[Object]) -> None:
    for template in templates(objects):
        assert "secretKeyRef" not in json.dumps(template)
        assert "envFrom" not in json.dumps(template)
        secret = {volume["name"] for volume in template["spec"].get("volumes", []) if "secret" in volume}
        mounts = [(one["name"], mount["name"]) for one in containers(template) for mount in one["volumeMounts"]]
        readers = {name for name, volume in mounts if volume in secret and (name, volume) != ("stage", "token")}
        assert readers <= {"mounts", "master", "job-master", "worker", "job-worker", "verify"}


def test_no_pod_has_a_token(objects: list[Object]) -> None:
    for template in templates(objects):
        assert template["spec"]["automountServiceAccountToken"] is False


def test_only_who_mounts_is_privileged_and_every_root_filesystem_is_read_only(objects: list[Object]) -> None:
    for template in templates(objects):
        for one in containers(template):
            context = one["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context.get("privileged", False) == (one["name"] in ("fuse", "stage", "csi"))
            if not context.get("privileged"):
                assert context["allowPrivilegeEscalation"] is False
                assert context["capabilities"]["drop"] == ["ALL"]


def test_every_container_has_a_memory_limit(objects: list[Object]) -> None:
    for template in templates(objects):
        for one in containers(template):
            assert one["resources"]["limits"]["memory"], one["name"]


def test_probes_that_run_a_program_have_a_limit_of_time(objects: list[Object]) -> None:
    for template in templates(objects):
        for one in containers(template):
            if one["name"] == "fuse":
                for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                    assert one[probe]["timeoutSeconds"] <= 15


def test_network_policies_cover_every_pod(objects: list[Object]) -> None:
    covered = {
        component
        for one in objects
        if one["kind"] == "NetworkPolicy"
        for component in one["spec"]["podSelector"]["matchExpressions"][0]["values"]
    }
    running = {one["metadata"]["labels"]["app.kubernetes.io/component"] for one in templates(objects)}
    assert running - {"test"} <= covered


@pytest.mark.parametrize("name", WITH_FUSE)
@pytest.mark.parametrize("other", [{"release": "second"}, {"namespace": "other"}])
def test_two_releases_share_nothing(helm: Helm, name: str, other: dict[str, Any]) -> None:
    first, second = helm.objects(case(name)), helm.objects(case(name), **other)
    assert not identities(first) & identities(second)


@pytest.mark.parametrize("name", ["object-store", "autoscaling"])
@pytest.mark.parametrize("other", [{"release": "second"}, {"namespace": "other"}])
def test_two_releases_have_their_own_folders_on_a_node(helm: Helm, name: str, other: dict[str, Any]) -> None:
    first, second = (host_paths(list(helm.objects(case(name), **how).values())) for how in ({}, other))
    assert first
    assert not first & second


def test_folders_of_two_releases_that_meet_are_told_apart_by_owner(helm: Helm) -> None:
    owners = set()
    for namespace in ("data", "other"):
        daemon = helm.objects(case("nvme-nodes"), namespace=namespace)["DaemonSet", "cache-alluxio-fuse-fuse-imagenet"]
        prepare = next(one for one in containers(daemon["spec"]["template"]) if one["name"] == "prepare")
        owners.add(prepare["args"][4])
    assert owners == {"data-cache-alluxio-fuse/imagenet", "other-cache-alluxio-fuse/imagenet"}


def test_tiers_of_one_medium_do_not_meet(helm: Helm) -> None:
    site = helm.objects(case("nvme-nodes"))["ConfigMap", "cache-alluxio-fuse"]["data"]["worker.properties"]
    lines = dict(line.split("=", 1) for line in site.splitlines())
    prefix = "alluxio.worker.tieredstore."
    assert lines[f"{prefix}levels"] == "2"
    assert lines[f"{prefix}level0.dirs.path"] == "/tiers/memory-2/blocks"
    assert lines[f"{prefix}level1.dirs.path"] == "/tiers/ssd-0/blocks,/tiers/ssd-1/blocks"
    assert lines[f"{prefix}level1.dirs.mediumtype"] == "SSD,SSD"
    assert lines[f"{prefix}level1.dirs.quota"] == "819200MB,819200MB"


@pytest.mark.parametrize("name", ["pod", "training-job"])
def test_examples_mount_what_the_chart_makes(helm: Helm, name: str) -> None:
    objects = helm.objects(case("object-store"))
    pod = pod_template(yaml.safe_load((CHART / "examples" / f"{name}.yaml").read_text()))
    assert pod is not None
    claims = {one["metadata"]["name"] for one in objects.values() if one["kind"] == "PersistentVolumeClaim"}
    for volume in pod["spec"]["volumes"]:
        if "hostPath" in volume:
            assert volume["hostPath"]["path"] in host_paths(list(objects.values()))
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["claimName"] in claims
    for one in containers(pod):
        assert one["volumeMounts"][0]["mountPropagation"] == "HostToContainer"
    prepare = pod_template(objects["DaemonSet", "cache-alluxio-fuse-fuse-imagenet"])["spec"]["initContainers"][-1]
    assert prepare["name"] == "prepare"
    assert f'"$(cat /data/.owner)" = {prepare["args"][4]} ||' in pod["spec"]["initContainers"][0]["command"][-1]


def test_helm_test_runs_where_its_dataset_is(helm: Helm) -> None:
    own = {"datasets": [{"name": "a", "source": "s3://b/a", "fuse": {"nodeSelector": {"pool": "vision"}}}]}
    pod = helm.objects(values=own)["Pod", "cache-alluxio-fuse-test"]
    assert pod["spec"]["nodeSelector"]["pool"] == "vision"


def test_every_service_is_restarted_when_it_no_longer_listens(helm: Helm) -> None:
    for replicas in (1, 3):
        objects = helm.objects(values={"master": {"replicas": replicas}})
        silent = {
            one["name"]
            for made in objects.values()
            for one in (pod_template(made) or {"spec": {"containers": []}})["spec"]["containers"]
            if "livenessProbe" not in one and made["kind"] in ("StatefulSet", "DaemonSet")
        }
        assert silent == ({"job-master"} if replicas > 1 else set())


def properties(helm: Helm, component: str, values: Object) -> list[str]:
    configs = helm.objects(values=values)
    text = configs["ConfigMap", "cache-alluxio-fuse"]["data"][f"{component}.properties"]
    return str(text).splitlines()


def dataset(**more: Any) -> Object:
    return {"datasets": [{"name": "imagenet", "source": "s3://bucket/imagenet", **more}]}


def test_a_promise_of_freshness_holds_without_tuning(helm: Helm) -> None:
    plain = {"profile": "plain", **dataset(freshness="within: 10m")}
    assert "alluxio.user.file.metadata.sync.interval=150s" in properties(helm, "fuse-imagenet", plain)


def test_what_was_written_is_in_the_store_when_close_returns(helm: Helm) -> None:
    through = "alluxio.user.file.writetype.default=CACHE_THROUGH"
    assert through in properties(helm, "fuse-imagenet", dataset(writable=True))
    assert through not in properties(helm, "fuse-imagenet", dataset())


READ_TYPE = "alluxio.user.file.readtype.default"


@pytest.mark.parametrize("profile", ["tuned", "plain"])
def test_reads_go_past_workers_unless_told_otherwise(helm: Helm, profile: str) -> None:
    """A block that finds no room costs Alluxio 2.9.6 a connection to the store for good."""
    site = properties(helm, "fuse-imagenet", {"profile": profile, **dataset()})
    assert f"{READ_TYPE}={read_past_workers(0).amount}" in site


def test_an_anonymous_dataset_signs_nothing(helm: Helm) -> None:
    objects = helm.objects(values=dataset(s3={"anonymous": True}))
    (mount,) = objects["ConfigMap", "cache-alluxio-fuse-datasets"]["data"].values()
    assert "option=alluxio.underfs.s3.signer.algorithm=NoOpSignerType" in mount
    assert "option=s3a.secretKey=unsigned" in mount
    assert "secret=" not in mount


def test_web_identity_is_lent_to_those_that_read_the_store_alone(helm: Helm) -> None:
    """Neither FUSE nor what tells the master of mounts sees the token; no key is in any object."""
    role = {"roleArn": "arn:aws:iam::111122223333:role/reader", "region": "eu-1", "audience": "sts.example.com"}
    objects = helm.objects(values={"webIdentity": role, **dataset()})
    told = {
        "AWS_ROLE_ARN": role["roleArn"],
        "AWS_WEB_IDENTITY_TOKEN_FILE": "/web-identity/token",
        "AWS_REGION": "eu-1",
        "AWS_STS_REGIONAL_ENDPOINTS": "regional",
    }
    lent = set()
    for (kind, _), found in objects.items():
        if kind not in ("StatefulSet", "DaemonSet", "Deployment"):
            continue
        pod = found["spec"]["template"]["spec"]
        tokens = [one for one in pod["volumes"] if one["name"] == "web-identity"]
        for container in (*pod.get("initContainers", []), *pod["containers"]):
            env = {one["name"]: one.get("value") for one in container.get("env", []) if one["name"].startswith("AWS_")}
            mounted = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "web-identity"]
            assert (env, mounted) in ((told, ["/web-identity"]), ({}, []))
            if env:
                lent.add(container["name"])
                (volume,) = tokens
                token = {"serviceAccountToken": {"audience": "sts.example.com", "path": "token"}}
                assert volume["projected"]["sources"] == [token]
                assert pod["securityContext"]["fsGroup"] == 1000
    assert lent == {"master", "job-master", "worker", "job-worker"}


def test_keeping_in_workers_what_is_read_is_said_for_all_or_for_one(helm: Helm) -> None:
    two = {"datasets": [*dataset(fuse={"readType": "NO_CACHE"})["datasets"], {"name": "b", "source": "s3://b/b"}]}
    values = {"fuse": {"readType": "CACHE"}, **two}
    for component, said in (("fuse-imagenet", "NO_CACHE"), ("fuse-b", "CACHE")):
        assert f"{READ_TYPE}={said}" in properties(helm, component, values)


def test_affinity_of_the_user_comes_on_top(helm: Helm) -> None:
    mine = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": [name]}]} for name in ("a", "b")]
    beside = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "other"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": mine}}, "podAntiAffinity": {required: [beside]}}
    masters = helm.objects(values={"master": {"replicas": 3, "affinity": affinity}})
    found = masters["StatefulSet", "cache-alluxio-fuse-master"]["spec"]["template"]["spec"]["affinity"]
    terms = found["nodeAffinity"][required]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0]["values"] for term in terms] == [["a"], ["b"]]
    assert all("karpenter.sh/capacity-type" in json.dumps(term) for term in terms)
    apart = found["podAntiAffinity"][required]
    assert [term["topologyKey"] for term in apart] == ["rack", "kubernetes.io/hostname"]


def test_the_official_image_never_formats_by_itself(helm: Helm) -> None:
    values = {"image": {"kind": "official", "java": 11}}
    masters = helm.objects(values=values)["StatefulSet", "cache-alluxio-fuse-master"]
    (master,) = [one for one in containers(pod_template(masters)) if one["name"] == "master"]
    assert master["args"] == ["master-only", "--no-format"]


def test_workers_come_before_the_startup_taint_goes(helm: Helm) -> None:
    values = {"fuse": {"startupTaint": {"enabled": True}}}
    workers = helm.objects(values=values)["DaemonSet", "cache-alluxio-fuse-worker"]
    tolerated = {one.get("key") for one in workers["spec"]["template"]["spec"]["tolerations"]}
    assert "alluxio-fuse/mount-not-ready" in tolerated


def test_every_pod_runs_where_the_image_does_unless_told_otherwise(objects: list[Object]) -> None:
    for template in templates(objects):
        selector = template["spec"]["nodeSelector"]
        assert (selector["kubernetes.io/arch"], selector["kubernetes.io/os"]) == ("amd64", "linux")


def test_node_selectors_of_the_user_come_on_top(helm: Helm) -> None:
    own = helm.objects(values={"worker": {"nodeSelector": {"pool": "a", "kubernetes.io/arch": "other"}}})
    selector = own["DaemonSet", "cache-alluxio-fuse-worker"]["spec"]["template"]["spec"]["nodeSelector"]
    assert selector == {"pool": "a", "kubernetes.io/arch": "other", "kubernetes.io/os": "linux"}


@pytest.mark.parametrize("volume", [{"claim": "c"}, {"nfs": {"server": "s", "path": "/p"}}])
@pytest.mark.parametrize("writable", [False, True])
def test_what_nobody_writes_is_mounted_read_only(helm: Helm, volume: Object, writable: bool) -> None:
    values = {"datasets": [{"name": "a", "volume": volume, "writable": writable}]}
    for kind, name in (("StatefulSet", "master"), ("DaemonSet", "worker")):
        spec = helm.objects(values=values)[kind, f"cache-alluxio-fuse-{name}"]["spec"]["template"]["spec"]
        (source,) = [one for one in spec["volumes"] if one["name"] == "source-a"]
        assert source["persistentVolumeClaim" if "claim" in volume else "nfs"].get("readOnly", False) is not writable


def test_another_volume_is_another_source(helm: Helm) -> None:
    """Caches know a file by the path in pods."""

    def seen(volume: Object) -> str:
        made = helm.objects(values={"datasets": [{"name": "a", "volume": volume}]})
        return str(made["ConfigMap", "cache-alluxio-fuse-datasets"]["data"]["a"].splitlines()[0])

    marker = {"marker": {"file": ".dataset", "sha256": "0" * 64}}
    volumes: list[Object] = [{"claim": "c"}, {"claim": "d"}, {"claim": "c", "subPath": "x"}, {"hostPath": "/c"}]
    assert len({seen(volume) for volume in volumes}) == len(volumes)
    assert seen({"hostPath": "/c"} | marker) == seen({"hostPath": "/c"})


def test_a_claim_and_a_folder_that_look_like_numbers_are_names(helm: Helm) -> None:
    values = {"datasets": [{"name": "a", "volume": {"claim": "123", "subPath": "2012"}}]}
    spec = helm.objects(values=values)["DaemonSet", "cache-alluxio-fuse-worker"]["spec"]["template"]["spec"]
    (volume,) = [one for one in spec["volumes"] if one["name"] == "source-a"]
    assert volume["persistentVolumeClaim"]["claimName"] == "123"
    mounts = [one for part in spec["containers"] for one in part["volumeMounts"] if one["name"] == "source-a"]
    assert {one["subPath"] for one in mounts} == {"2012"}
