"""Jobs that carry warm-up tasks out have the configuration of the chart's FUSE, and an API server takes them."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml
from helm import Helm, Object
from test_release import deployer  # noqa: F401 - a fixture
from test_render import apply
from test_staged import SAID, fleet, planned  # noqa: F401 - one is a fixture

from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.kubernetes.warm_jobs import jobs
from alluxio_fuse.kubernetes.warming import runner_job
from alluxio_fuse.plan import Plan, plan

TASK = "20260102-030405-0a1b"
ACCOUNT = "alluxio-fuse-warm-release"
COMMAND = "/var/lib/alluxio-fuse/warm/alluxio-warm"


@pytest.fixture
def daemonsets(helm: Helm, planned: Plan) -> list[Object]:  # noqa: F811
    return of_release(helm, planned)


def of_release(helm: Helm, planned: Plan) -> list[Object]:  # noqa: F811
    """DaemonSets as the chart makes them."""
    values = chart_values(planned, {one.name: "keys" for one in planned.datasets})
    objects = helm.objects(values=values, release="alluxio-fuse", namespace="alluxio-fuse")
    return [one for (kind, _), one in objects.items() if kind == "DaemonSet"]


def properties(job: Object) -> str:
    """The file of the ConfigMap that a pod's client is configured by."""
    (configure,) = job["spec"]["template"]["spec"]["initContainers"]
    return next(one["subPath"] for one in configure["volumeMounts"] if one["name"] == "config")


def test_each_pool_has_its_own_client(daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    assert properties(runner_job(planned, "t4-1", daemonsets, TASK)) == "fuse-clicks.properties"
    assert properties(runner_job(planned, "a100-1", daemonsets, TASK)) == "fuse-clicks.gpu-a100.properties"


def rights(helm: Helm, planned: Plan) -> tuple[bool, bool]:  # noqa: F811
    """Whether the runner of a node is privileged, and whether its memory has a limit."""
    job = runner_job(planned, "a100-1", of_release(helm, planned), TASK)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return "privileged" in container["securityContext"], "limits" in container["resources"]


def test_a_pod_without_copies_may_mount_nothing(helm: Helm, planned: Plan) -> None:  # noqa: F811
    """What is staged in memory is charged to who writes it, so those have no limit of their own."""
    sets = [{**one, "stage": "off"} for one in SAID["alluxio_datasets"]]
    assert rights(helm, planned) == (True, False)
    assert rights(helm, plan(fleet({**SAID, "alluxio_datasets": sets}))) == (False, True)


def commands(planned: Plan, daemonsets: list[Object]) -> dict[str, list[str]]:  # noqa: F811
    """What the pods of each Job do."""
    made = [one for one in jobs(planned, daemonsets)["items"] if one["kind"] == "Job"]
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"]["containers"][0]["command"] for one in made}


def test_what_some_nodes_stage_in_part_all_load_into_workers(daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    """Each loads its share, so all must do the same."""
    shares = [planned.mounts(host)["clicks"]["stage"].amount.share for host in ("t4-1", "a100-1")]
    assert shares[0] < shares[1] == 1
    made = commands(planned, daemonsets)
    assert {"--into=workers", "--share=$(JOB_COMPLETION_INDEX)+0/2"} <= set(made["warm-clicks"])
    assert {"--into=workers", "--share=$(JOB_COMPLETION_INDEX)+1/2"} <= set(made["warm-clicks-gpu-a100"])
    assert all("--into=stage" in made[f"warm-imagenet-{host}"] for host in ("t4-1", "a100-1"))


def test_what_nobody_holds_whole_gets_no_job(helm: Helm) -> None:
    sets = [{**one, "bytes": "90Ti"} if one["name"] == "clicks" else one for one in SAID["alluxio_datasets"]]
    large = plan(fleet({**SAID, "alluxio_datasets": sets, "alluxio_force": ["set_fits_caches"]}))
    assert large.fleet["residency"].amount["clicks"]["worker"] < 1
    made = commands(large, of_release(helm, large))
    assert "warm-imagenet-t4-1" in made
    assert not any("clicks" in name for name in made)


def test_names_fit(cluster: list[str], helm: Helm) -> None:
    """Of Jobs, their pods and the Jobs of CronJobs, with the longest name of a dataset and nodes with domains."""
    name = "d" * 30
    said = {**SAID, "alluxio_datasets": [{**SAID["alluxio_datasets"][0], "name": name}]}
    hosts = fleet(said)
    long = plan({f"{host}.{'node-pool.' * 3}example.org": about for host, about in hosts.items()})
    made = jobs(long, of_release(helm, long))["items"]
    names = [one["metadata"]["name"] for one in made]
    assert len([one for one in names if one.startswith("warm-d")]) == len(set(names) - {ACCOUNT}) - 2 == 4
    assert all(len(f"{one['metadata']['name']}-29300000-0") <= 63 for one in made if one["kind"] == "CronJob")
    apply(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "alluxio-fuse"}}])
    apply(cluster, made, "--dry-run=server", "--validate=strict")


def test_who_releases_may_do_nothing_else(daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    (role,) = [one for one in jobs(planned, daemonsets)["items"] if one["kind"] == "Role"]
    assert {(*rule["apiGroups"], *rule["resources"]) for rule in role["rules"]} == {("batch", "jobs")}
    assert {name: rule["verbs"] for rule in role["rules"] for name in rule["resourceNames"]} == {
        **{f"warm-imagenet-{host}": ["get"] for host in ("t4-1", "a100-1")},
        **{f"warm-{name}{pool}": ["get"] for name in ("clicks", "logs") for pool in ("", "-gpu-a100")},
        **{f"train-on-{name}-once-warm": ["patch"] for name in ("imagenet", "clicks", "logs")},
    }


def test_every_volume_that_is_mounted_is_there(daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    spec = runner_job(planned, "a100-1", daemonsets, TASK)["spec"]["template"]["spec"]
    mounted = {one["name"] for part in spec["initContainers"] + spec["containers"] for one in part["volumeMounts"]}
    assert mounted == {one["name"] for one in spec["volumes"]}


def test_a_training_begins_after_the_jobs_of_all_pools(daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    items = {(one["kind"], one["metadata"]["name"]): one for one in jobs(planned, daemonsets)["items"]}
    training = items["Job", "train-on-clicks-once-warm"]
    (release,) = items["Job", "release-train-on-clicks-once-warm"]["spec"]["template"]["spec"]["containers"]
    after = [one.partition("=")[2] for one in release["command"] if one.startswith("--after=")]
    assert training["spec"]["suspend"] is True
    assert f"{training['metadata']['namespace']}/{training['metadata']['name']}" in release["command"]
    assert after == ["alluxio-fuse/warm-clicks", "alluxio-fuse/warm-clicks-gpu-a100"]
    for name in after:
        spec = items["Job", name.partition("/")[2]]["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        assert spec["completions"] == spec["parallelism"] == 1
        assert container["command"][:2] == ["/usr/bin/python3", COMMAND]
        nightly = items["CronJob", f"{name.partition('/')[2]}-nightly"]["spec"]
        assert (nightly["suspend"], nightly["jobTemplate"]["spec"]["parallelism"]) == (True, 1)


def test_an_api_server_takes_them(cluster: list[str], daemonsets: list[Object], planned: Plan) -> None:  # noqa: F811
    made: list[Any] = [runner_job(planned, host, daemonsets, TASK) for host in ("t4-1", "a100-1")]
    made += jobs(planned, daemonsets)["items"]
    spaces = {one["metadata"]["namespace"] for one in made}
    apply(cluster, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces])
    apply(cluster, made, "--dry-run=server", "--validate=strict")


def test_the_rights_of_a_run_are_enough_to_make_and_delete_them(
    cluster: list[str],
    deployer: str,  # noqa: F811
    daemonsets: list[Object],
    planned: Plan,  # noqa: F811
) -> None:
    """Not only to dry-run them: that a Role grants no more than its maker may is told when it is made."""
    made = yaml.safe_dump(jobs(planned, daemonsets))
    for verb in (["create", "--validate=strict"], ["delete", "--wait=false"]):
        command = [cluster[0], f"--kubeconfig={deployer}", *verb, "-f", "-"]
        done = subprocess.run(command, input=made, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_without_fuse_it_is_said_what_is_to_be_run(planned: Plan) -> None:  # noqa: F811
    with pytest.raises(ValueError, match=r"no DaemonSet fuse-clicks of alluxio-fuse: run playbooks/services\.yml"):
        runner_job(planned, "t4-1", [], TASK)
