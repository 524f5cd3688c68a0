"""Where keys are looked for rather than given: what is planned for services, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import fleet, local

from alluxio_fuse.containers import containers
from alluxio_fuse.plan import Plan, credential_chain, plan
from alluxio_fuse.plan.intent.nodes import Aws
from alluxio_fuse.preflight import findings as all_findings
from alluxio_fuse.preflight import questions

CHAIN = {"credential_chain": True}
ROLE = {"role_arn": "arn:aws:iam::111122223333:role/reader", "token_file": "/run/keys/token", "region": "eu-1"}
PROFILE = {"profile_file": "/etc/alluxio-keys/credentials"}
READS = {"master", "job_master", "worker", "job_worker"}


def dataset(**said: Any) -> dict[str, Any]:
    return {"name": "set", "source": "s3://bucket/set", "files": 1000, "bytes": "1Gi", "s3": CHAIN, **said}


def found(state: str) -> dict[str, Any]:
    """A machine whose controller has found the store in this state."""
    hosts = local(alluxio_datasets=[dataset()])
    known = {"state": state, "detail": "why", "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {"s3://bucket/set": known}
    return hosts


def services(**said: Any) -> dict[str, dict[str, Any]]:
    document = Plan.load(plan(local(alluxio_datasets=[dataset()], **said)).dump())
    return {one["service"]: one for one in containers(document, "localhost")}


def told(service: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in service["env"].items() if name.startswith("AWS_")}


def test_a_mount_has_no_key_so_that_services_look_for_one() -> None:
    options = plan(local(alluxio_datasets=[dataset()])).datasets[0].options
    assert not [name for name in options if "key" in name.lower() or "signer" in name]


def test_the_role_of_the_instance_needs_no_word() -> None:
    made = services()
    assert [told(one) for one in made.values()] == [{}] * len(made)


@pytest.mark.parametrize(
    ("aws", "env", "folder"),
    [
        (PROFILE, {"AWS_CREDENTIAL_PROFILES_FILE": "/etc/alluxio-keys/credentials"}, "/etc/alluxio-keys"),
        (
            ROLE,
            {
                "AWS_ROLE_ARN": ROLE["role_arn"],
                "AWS_WEB_IDENTITY_TOKEN_FILE": "/run/keys/token",
                "AWS_REGION": "eu-1",
                "AWS_STS_REGIONAL_ENDPOINTS": "regional",
            },
            "/run/keys",
        ),
    ],
    ids=["profile", "web identity"],
)
def test_those_that_read_the_store_are_told_where_to_look(
    aws: dict[str, str], env: dict[str, str], folder: str
) -> None:
    """The folder is shown, not the file: one that is replaced would stay the former one."""
    for name, one in services(alluxio_aws=aws).items():
        shown = f"{folder}:{folder}:ro" in one["volumes"]
        assert (told(one), shown) == ((env, True) if name in READS else ({}, False))


def test_another_place_starts_services_again() -> None:
    before, after = services(), services(alluxio_aws=PROFILE)
    changed = {name for name in before if before[name]["digest"] != after[name]["digest"]}
    assert changed == READS


def test_nothing_found_is_refused_with_what_was_tried(finding: Any) -> None:
    refused = finding(found("unfound"))
    assert (refused.path, refused.reason) == ("alluxio_datasets[0].s3.credential_chain", "why")
    assert "aws sts get-caller-identity" in refused.remedy


def test_a_store_that_refuses_found_keys_sends_nobody_to_the_vault(finding: Any) -> None:
    remedy = finding(found("denied")).remedy
    assert remedy == "correct the role, profile or token that the keys come from, or let them list and read this prefix"


def test_anonymous_and_chain_are_refused_together(finding: Any) -> None:
    refused = finding(local(alluxio_datasets=[dataset(s3={**CHAIN, "anonymous": True})]))
    assert refused.reason == "anonymous says to read without keys, and credential_chain to look for some"


@pytest.mark.parametrize(
    ("said", "path", "reason"),
    [
        ({"profile_file": "/etc/credentials"}, "profile_file", "services are shown the folder that it is in"),
        ({"profile_file": "credentials"}, "profile_file", "not an absolute path"),
        ({"role_arn": ROLE["role_arn"]}, "alluxio_aws", "web identity needs token_file and region, too"),
        ({**ROLE, "role_arn": "reader"}, "role_arn", "string should match pattern"),
        ({**ROLE, **PROFILE}, "alluxio_aws", "services take the role, which comes first in the chain"),
        ({"profile": "training"}, "profile", "unknown key"),
    ],
)
def test_what_services_could_not_follow_is_refused(finding: Any, said: dict[str, str], path: str, reason: str) -> None:
    refused = finding(local(alluxio_datasets=[dataset()], alluxio_aws=said))
    assert refused.path.endswith(path)
    assert refused.reason.startswith(reason)


def test_a_place_that_no_dataset_is_looked_for_in_is_refused(finding: Any) -> None:
    refused = finding(local(alluxio_datasets=[dataset(s3={})], alluxio_aws=PROFILE))
    assert (refused.path, refused.reason) == ("alluxio_aws", "no dataset is read by the credential chain")


def test_pods_are_told_by_values_of_the_chart(finding: Any) -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [dataset()], "alluxio_aws": ROLE}
    assert "alluxio_kubernetes: {values: {webIdentity: …}}" in finding(fleet(2, said)).remedy
    role = {"roleArn": ROLE["role_arn"], "region": "eu-1"}
    right = {**said, "alluxio_kubernetes": {"values": {"webIdentity": role}}}
    del right["alluxio_aws"]
    assert all_findings(fleet(2, right)) == []


def test_a_secret_with_keys_is_none_of_a_dataset_by_chain(finding: Any) -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [dataset()]}
    refused = finding(fleet(2, {**said, "alluxio_kubernetes": {"secrets": {"set": "keys"}}}))
    assert (refused.path, refused.remedy) == ("alluxio_datasets[0].s3.credential_chain", "remove one of the two")


def test_fluid_is_not_sent_looking(findings: Any) -> None:
    said = {"alluxio_platform": "fluid", "alluxio_datasets": [dataset()]}
    paths = {one.path: one.reason for one in findings(fleet(2, said))}
    assert "would find no key" in paths["alluxio_datasets[0].s3.credential_chain"]


def test_a_role_that_may_do_more_than_read_is_warned_of() -> None:
    warnings = {one["path"]: one["message"] for one in plan(local(alluxio_datasets=[dataset()])).warnings}
    assert "set should be read by a role that can only read and list this prefix" in warnings["credential_chain"]
    assert "alluxio_credentials" not in warnings


@pytest.mark.parametrize(("platform", "asked"), [("containers", ["/run/keys/token"]), ("kubernetes", [])])
def test_files_of_keys_are_looked_at_on_nodes(platform: str, asked: list[str]) -> None:
    assert questions({"alluxio_platform": platform, "alluxio_aws": ROLE})["key_files"] == asked


@pytest.mark.parametrize("said", [None, 7, {"profile_file": 7}])
def test_any_value_can_be_asked_after(said: object) -> None:
    assert questions({"alluxio_aws": said})["key_files"] == []


def test_a_file_of_keys_that_services_cannot_read_is_told() -> None:
    hosts = local(alluxio_datasets=[dataset()], alluxio_aws=PROFILE)
    hosts["localhost"]["facts"]["key_files"] = {"/etc/alluxio-keys/credentials": "Permission denied"}
    (refused,) = all_findings(hosts)
    assert refused["path"] == "localhost: /etc/alluxio-keys/credentials"
    assert (refused["value"], refused["reason"]) == ("not readable by uid 1000", "Permission denied")


def test_no_key_is_among_what_services_are_told() -> None:
    for aws in (PROFILE, ROLE):
        assert not [name for name in credential_chain.environment(Aws(**aws)) if "ACCESS_KEY" in name]
