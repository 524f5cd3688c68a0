"""Bad input: every finding names its variable and says what to do; all of them at once."""

from typing import Any

import pytest
from fleets import fleet, host, local

DATASET = {"name": "imagenet", "source": "s3://bucket/imagenet", "files": 1000, "bytes": "10Gi"}

MARKER = {"file": ".dataset", "sha256": "0" * 64}


def with_dataset(**changes: Any) -> dict[str, Any]:
    return local(alluxio_datasets=[{**DATASET, **changes}])


@pytest.mark.parametrize(
    ("variables", "path", "remedy"),
    [
        ({"alluxio_dataset": []}, "alluxio_dataset", "did you mean alluxio_datasets?"),
        ({"alluxio_workload_memory": "64G"}, "localhost: alluxio_workload_memory", "write 64Gi"),
        ({"alluxio_workload_memory": 64}, "localhost: alluxio_workload_memory", "write the unit: 64Gi"),
        ({"alluxio_room": {"bytes": 500}}, "alluxio_room.bytes", "write the unit: 500Gi"),
        ({"alluxio_warm": {"bandwidth": "100"}}, "alluxio_warm.bandwidth", "write the unit: 100Gi or 100Mi"),
        (
            {"alluxio_cache_tiers": [{"medium": "memory", "budget": "4"}]},
            "localhost: alluxio_cache_tiers[0].budget",
            "write the unit: 4Gi",
        ),
        ({"alluxio_overrides": {"worker.heap": 2}}, "alluxio_overrides[worker.heap]", "write the unit: 2Gi"),
        ({"alluxio_platform": "host", "alluxio_room": {"datasets": 2}}, "alluxio_room", "remove it"),
        ({"alluxio_platform": "docker"}, "alluxio_platform", "'containers', 'fluid', 'host' or 'kubernetes'"),
        ({"alluxio_check_folders": {"set": ["/nfs"]}}, "alluxio_check_folders.set", "write imagenet-sample"),
        ({"alluxio_check_budget": {"bytes": "8G"}}, "alluxio_check_budget.bytes", "write 8Gi"),
        ({"alluxio_check_profiles": ["tfrecords"]}, "alluxio_check_profiles[0]", "tfrecord"),
        ({"alluxio_libfuse": 4}, "alluxio_libfuse", "2 or 3"),
        ({"alluxio_version": "3.1.0"}, "alluxio_version", "one of 2.9.6"),
        ({"alluxio_name": "My Cluster"}, "alluxio_name", "small letters"),
        ({"alluxio_force": ["memory_counted_twice"]}, "alluxio_force", "did you mean memory_counted_once?"),
        ({"alluxio_bind_address": "eth7"}, "localhost: alluxio_bind_address", "eth0"),
        ({"alluxio_bind_address": "10.9.9.9"}, "localhost: alluxio_bind_address", "one of its interfaces: lo, eth0"),
        ({"alluxio_overrides": {"worker.heep": "1Gi"}}, "alluxio_overrides[worker.heep]", "did you mean heap?"),
        ({"alluxio_overrides": {"workers.heap": "1Gi"}}, "alluxio_overrides[workers.heap]", "did you mean worker?"),
        ({"alluxio_overrides": {"worker.heap": "1G"}}, "alluxio_overrides[worker.heap]", "write 1Gi"),
        ({"alluxio_cache_tiers": [{"medium": "ssd"}]}, "localhost: alluxio_cache_tiers[0]", "give path or devices"),
        ({"alluxio_cache_tiers": [{"medium": "memory", "path": "/x"}]}, "localhost: alluxio_cache_tiers[0]", "tmpfs"),
        (
            {"alluxio_cache_tiers": [{"medium": "ssd", "devices": ["/dev/sdb"], "wipe": ["/dev/sdc"]}]},
            "localhost: alluxio_cache_tiers[0]",
            "what devices say",
        ),
    ],
)
def test_variables(finding: Any, variables: dict[str, Any], path: str, remedy: str) -> None:
    found = finding(local(**variables))
    assert found.path == path
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("changes", "path", "remedy"),
    [
        ({"sorce": "x"}, ".sorce", "did you mean source?"),
        ({"cache": {"sare": 0.5}}, ".cache.sare", "did you mean share?"),
        ({"source": "gs://bucket/x"}, ".source", "write s3://bucket/x with s3: {"),
        ({"source": "s3://key:secret@bucket/x"}, ".source", "alluxio_credentials"),
        (
            {"s3": {"endpoint": "minio:9000"}},
            ".s3.endpoint",
            "write https://minio:9000 or http://…, without the bucket",
        ),
        ({"s3": {"endpoint": "https://minio:9000/bucket"}}, ".s3.endpoint", "write https://minio:9000 or http://…"),
        ({"s3": {"endpoint": "s3://minio"}}, ".s3.endpoint", "write https://s3.example.com:9000 or http://…"),
        ({"freshness": "fresh"}, ".freshness", "within: 10m"),
        ({"freshness": "within: 1s"}, ".freshness", "within: 4s"),
        ({"writable": True, "freshness": "immutable"}, "", "within: 10s"),
        ({"readers": {"mode": 0o750}}, ".readers.mode", 'write it in quotes: "0750"'),
        ({"readers": {"mode": 755}}, ".readers.mode", 'write it in quotes: "0755"'),
        ({"readers": {"mode": 440}}, ".readers.mode", 'write it in quotes: "0670" or "0440"'),
        ({"readers": {"mode": 999}}, ".readers.mode", "write four octal digits in quotes"),
        ({"readers": {"mode": True}}, ".readers.mode", "write a string"),
        ({"s3": {"ca_file": "~/ca.pem"}}, ".s3.ca_file", "write it from /, like /home/…"),
        ({"s3": {"ca_file": "ca.pem"}}, ".s3.ca_file", "write it from /, without .."),
        ({"readers": {"mode": "755"}}, ".readers.mode", '"0755"'),
        ({"readers": {"uid": 2001, "mode": "0700"}}, ".readers.uid", "by their group"),
        ({"readers": {"gid": 2001, "mode": "0770"}}, ".readers.mode", 'write "0750"'),
        ({"stage": "auto", "freshness": "within: 10m"}, ".stage", "remove stage, or remove freshness"),
        ({"stage": "require", "writable": True}, ".stage", "remove stage, or remove writable"),
        ({"cache": {"share": 0.5, "pin": True}}, "", "pin or share"),
        ({"bytes": None, "files": None}, ".files", "give files and bytes"),
        ({"through": "under_store"}, ".through", "through: cluster"),
        ({"marker": MARKER}, "", "a store or a claim is the same for all nodes"),
        ({"source": "file:///data/set", "marker": {**MARKER, "file": "../x"}}, ".marker.file", "without .."),
        ({"source": "file:///data/set", "marker": {**MARKER, "sha256": "d41d"}}, ".marker.sha256", "sha256sum"),
    ],
)
def test_datasets(finding: Any, changes: dict[str, Any], path: str, remedy: str) -> None:
    found = finding(with_dataset(**changes))
    assert found.path == f"alluxio_datasets[0]{path}"
    assert remedy in found.remedy


@pytest.mark.parametrize("endpoint", ["https://minio:9000", "http://minio:9000/", "http://[fd00::1]:9000", "", None])
def test_endpoints_that_are_right(planned: Any, endpoint: str | None) -> None:
    keys = planned(with_dataset(s3={"endpoint": endpoint})).fleet["datasets"].amount[0].options
    assert keys.get("alluxio.underfs.s3.endpoint", "") == (endpoint or "").rstrip("/")


def test_a_name_that_two_datasets_have(finding: Any) -> None:
    found = finding(local(alluxio_datasets=[{**DATASET, "name": "coco"}, DATASET, {**DATASET, "source": "s3://other"}]))
    assert (found.path, found.value) == ("alluxio_datasets[2].name", "'imagenet'")
    assert found.reason.startswith("alluxio_datasets[1] has this name")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"alluxio_port_offset": 20000}, ("alluxio_port_offset", "20000", "write 15000 or less")),
        ({"alluxio_gate": {"mb_per_s": 0}}, ("alluxio_gate.mb_per_s", "0", "write more than 0")),
        ({"alluxio_train": {"sweep": [0]}}, ("alluxio_train.sweep[0]", "0", "write 1 or more")),
        ({"alluxio_version": "3"}, ("alluxio_version", "'3'", r"write text that matches ^\d+\.\d+\.\d+$")),
        ({"alluxio_bind_address": ""}, ("localhost: alluxio_bind_address", "''", "write something, or leave it out")),
        ({"alluxio_datasets": [DATASET] * 101}, ("alluxio_datasets", "a list of 101", "write 100 at most")),
        ({"alluxio_datasets": [{"name": "x"}]}, ("alluxio_datasets[0].source", "unset", "give it")),
        ({"alluxio_tune": {"rate": [1]}}, ("alluxio_tune.rate", "'rate'", "one of 'read_ahead_kb', ")),
        (
            {"alluxio_gpus": [{"model": "H100", "count": 1, "files_per_s": 5}]},
            ("localhost: alluxio_gpus[0].files_per_s", "5", "say both, as measured"),
        ),
    ],
)
def test_a_remedy_says_what_is_known_of_the_value(
    finding: Any, variables: dict[str, Any], said: tuple[str, ...]
) -> None:
    found = finding(local(**variables))
    assert (found.path, found.value) == said[:2]
    assert found.remedy.startswith(said[2])


@pytest.mark.parametrize(
    ("variables", "reason", "remedy"),
    [
        ({"alluxio_datasets": DATASET}, "not a list", "write a list, like [{name: …, source: …}]"),
        ({"alluxio_datasets": ["imagenet"]}, "not a mapping", "write a mapping, like {name: …, source: …}"),
        ({"alluxio_kubernetes": [1]}, "not a mapping", "write a mapping, like {kubeconfig: …}"),
        ({"alluxio_check_compare": "other"}, "not a list", "write a list"),
        ({"alluxio_overrides": []}, "not a mapping", "write a mapping"),
    ],
)
def test_another_shape_is_told_by_an_example(finding: Any, variables: dict[str, Any], reason: str, remedy: str) -> None:
    found = finding(local(**variables))
    assert (found.reason, found.remedy) == (reason, remedy)


@pytest.mark.parametrize(
    ("said", "path", "value"),
    [
        ({"namespace": "team.data"}, "namespace", "'team.data'"),
        ({"namespace": "x" * 64}, "namespace", repr("x" * 64)),
        ({"pull_secrets": ["Registry"]}, "pull_secrets[0]", "'Registry'"),
        ({"secrets": {"imagenet": "keys_of_s3"}}, "secrets.imagenet", "'keys_of_s3'"),
        ({"secrets": {"imagenet": "keys..s3"}}, "secrets.imagenet", "'keys..s3'"),
    ],
)
def test_objects_that_kubernetes_cannot_have(finding: Any, said: dict[str, Any], path: str, value: str) -> None:
    """Names of Secrets are no secrets."""
    found = finding(
        fleet(1, {"alluxio_platform": "kubernetes", "alluxio_datasets": [DATASET], "alluxio_kubernetes": said})
    )
    assert (found.path, found.value) == (f"alluxio_kubernetes.{path}", value)
    assert "small letters" in found.remedy


def test_all_findings_come_at_once(findings: Any) -> None:
    hosts = local(alluxio_plattform="x", alluxio_java=12, alluxio_workload_memory="1G", alluxio_libfuse="4")
    assert len(findings(hosts)) == 4


def test_secrets_are_not_echoed(findings: Any) -> None:
    hosts = with_dataset(s3={"secret_key": "CANARY"}, source="s3://a:CANARY@bucket/x")
    hosts["localhost"]["variables"]["alluxio_credential"] = {"x": {"secret_key": "CANARY"}}
    hosts["localhost"]["variables"]["alluxio_overrides"] = {"worker.properties": {"s3a.secretKey": "CANARY"}}
    assert "CANARY" not in str(findings(hosts))
    hosts = local(alluxio_overrides={"worker.properties": {"s3a.secretKey": "CANARY"}})
    assert "CANARY" not in str(findings(hosts))


@pytest.mark.parametrize("state", ["missing", "empty", "unreachable", "denied"])
def test_a_source_that_cannot_be_read(finding: Any, state: str) -> None:
    hosts = with_dataset()
    known = {"state": state, "detail": "why", "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {"s3://bucket/imagenet": known}
    found = finding(hosts)
    assert found.path == "alluxio_datasets[0].source"
    assert found.reason == f"{state} on localhost: why"


def shared(node: str, state: str, **dataset: Any) -> dict[str, Any]:
    """Three nodes that should see one filesystem, of which one sees something else."""
    folder = {**DATASET, "source": "file:///mnt/lake", **dataset}
    hosts = fleet(3, {"alluxio_datasets": [folder], "alluxio_platform": "kubernetes"})
    for name, one in hosts.items():
        known = {"state": state if name == node else "ok", "detail": "why", "files": 10, "bytes": 1000}
        one["facts"]["sources"] = {folder["source"]: known}
    return hosts


def test_a_node_that_sees_another_filesystem_is_named(finding: Any) -> None:
    found = finding(shared("node-1", "foreign", marker=MARKER))
    assert found.reason == "foreign on node-1: why"
    assert found.remedy == "mount the dataset's filesystem there, or correct alluxio_datasets[0].marker"


def test_a_shared_filesystem_that_nothing_proves_is_named(planned: Any) -> None:
    def about(**dataset: Any) -> list[str]:
        return [str(one) for one in planned(shared("", "ok", **dataset)).warnings if "filesystem on all" in str(one)]

    assert len(about()) == 1
    assert about(marker=MARKER) == []


def test_fleet_wide_variables_must_agree(finding: Any) -> None:
    hosts = fleet(3, {"alluxio_datasets": [DATASET], "alluxio_profile": "tuned"})
    hosts["node-2"]["variables"]["alluxio_profile"] = "upstream"
    found = finding(hosts)
    assert found.path == "alluxio_profile"
    assert "node-0" in found.value
    assert "node-2" in found.value


@pytest.mark.parametrize(
    ("variable", "said", "path", "value"),
    [
        ("alluxio_profile", ("tuned", None), "alluxio_profile", "'tuned' on node-0, unset on node-1"),
        ("alluxio_datasets", ([DATASET], [{**DATASET, "files": 2}]), "alluxio_datasets[0].files", "1000 on node-0, 2"),
        ("alluxio_datasets", ([DATASET], [DATASET] * 2), "alluxio_datasets", "a list of 1 on node-0, a list of 2"),
        ("alluxio_room", ({"files": 5}, {}), "alluxio_room.files", "5 on node-0, unset on node-1"),
        ("alluxio_overrides", ({}, {"worker.heap": "2Gi"}), "alluxio_overrides.worker.heap", "unset on node-0, '2Gi'"),
        (
            "alluxio_overrides",
            ({"worker.jvm_flags": ["-Dp=CANARY"]}, {"worker.jvm_flags": ["-Dp=CANARIES"]}),
            "alluxio_overrides.worker.jvm_flags[0]",
            "(not shown) on node-0, (not shown) on node-1",
        ),
    ],
)
def test_hosts_that_differ_are_told_apart_where_they_do(
    finding: Any, variable: str, said: tuple[Any, Any], path: str, value: str
) -> None:
    hosts = fleet(2, {"alluxio_datasets": [DATASET]})
    for node, own in zip(hosts.values(), said, strict=True):
        node["variables"] |= {variable: own}
        if own is None:
            del node["variables"][variable]
    found = finding(hosts)
    assert found.path == path
    assert found.value.startswith(value)


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_loopback_does_not_serve_a_fleet(finding: Any, address: str) -> None:
    found = finding(fleet(2, {"alluxio_datasets": [DATASET], "alluxio_bind_address": address}))
    assert found.path == "node-0, node-1: alluxio_bind_address"
    assert found.reason == f"{address} is not reached from the fleet's other nodes"


def test_an_address_of_the_node_is_one_however_it_is_written(planned: Any) -> None:
    hosts = local(alluxio_bind_address="FD00:0::1")
    hosts["localhost"]["facts"]["network"][1]["addresses"].append("fd00::1/64")
    planned(hosts)


@pytest.mark.parametrize(("group", "others"), [("masters", ("gpu_nodes",)), ("gpu_nodes", ("masters",))])
def test_groups_must_not_be_empty(finding: Any, group: str, others: tuple[str, ...]) -> None:
    assert finding({"only": host(groups=others)}).path == group


def test_two_masters_are_one_too_many(finding: Any) -> None:
    hosts = fleet(2, {"alluxio_datasets": [DATASET]})
    hosts["node-1"]["groups"] = ["masters", "gpu_nodes"]
    assert finding(hosts).path == "masters"


def test_facts_are_typed(findings: Any) -> None:
    hosts = local()
    del hosts["localhost"]["facts"]["memory"]
    hosts["localhost"]["facts"]["cpu"] = 2
    assert {found.path for found in findings(hosts)} == {"facts of localhost: memory", "facts of localhost: cpu"}


def test_no_host_at_all(finding: Any) -> None:
    assert finding({}).path == "inventory"
