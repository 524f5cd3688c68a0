"""An oss:// source is planned read-only, with what Alluxio's under store needs; its keys are in no plan."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import local

from alluxio_fuse.plan import plan
from alluxio_fuse.preflight.asked import questions

OSS = {"endpoint": "https://oss-cn-hangzhou.aliyuncs.com", "region": "cn-hangzhou"}


def dataset(**said: Any) -> dict[str, Any]:
    one = {"name": "set", "source": "oss://bucket/x", "oss": OSS, "files": 1000, "bytes": "1Gi"}
    return local(alluxio_datasets=[{key: value for key, value in {**one, **said}.items() if value is not None}])


def test_what_alluxio_is_told() -> None:
    made = plan(dataset())
    (one,) = made.datasets
    assert one.options == {
        "fs.oss.endpoint": OSS["endpoint"],
        "fs.oss.region": "cn-hangzhou",
        "alluxio.underfs.oss.default.mode": "0555",
    }
    assert (one.writable, one.oss, one.s3) == (False, OSS, None)
    assert made.nodes["localhost"]["fuse/set"]["properties"].amount["alluxio.fuse.special.command.enabled"] == "true"
    assert any("keys that can only read and list this prefix" in str(one) for one in made.warnings)


@pytest.mark.parametrize(
    ("said", "path", "reason", "remedy"),
    [
        ({"writable": True}, "", "oss:// is read only here", "write to a file:// or s3:// source"),
        ({"oss": None}, "", "nothing says where the bucket is", "write oss: {endpoint: https://oss-<region>"),
        ({"source": "s3://bucket/x"}, "", "oss is given, the source is s3://bucket/x", "remove oss"),
        ({"s3": {"region": "x"}}, "", "s3 is given, the source is oss://bucket/x", "remove s3"),
        ({"source": "oss:///x"}, ".source", "no bucket", "write oss://bucket/prefix"),
        ({"source": "oss://AK:CANARY@bucket/x"}, ".source", "credentials do not belong in a source", "alluxio_cred"),
        (
            {"oss": {**OSS, "endpoint": "oss-cn-hangzhou.aliyuncs.com"}},
            ".oss.endpoint",
            "not an address",
            "https://oss-",
        ),
        (
            {"oss": {**OSS, "region": "oss-cn-hangzhou"}},
            ".oss.region",
            "not a region",
            "like cn-hangzhou, without oss-",
        ),
        (
            {"oss": {**OSS, "endpoint": "https://bucket.oss-cn-hangzhou.aliyuncs.com"}},
            "",
            "its endpoint holds the bucket bucket",
            "take bucket. out of it",
        ),
        ({"oss": {"endpoint": OSS["endpoint"]}}, ".oss.region", "", "region"),
        ({"oss": {**OSS, "access_key": "CANARY"}}, ".oss.access_key", "", ""),
        ({"through": "under_store"}, "", "oss:// is read through a cluster only", "remove through"),
    ],
)
def test_what_is_refused(finding: Any, said: dict[str, Any], path: str, reason: str, remedy: str) -> None:
    found = finding(dataset(**said))
    assert found.path == f"alluxio_datasets[0]{path}"
    assert reason in found.reason
    assert remedy in f"{found.path} {found.reason} {found.remedy}"
    assert "CANARY" not in str(found)


def test_preflight_asks_the_store_that_the_source_is_in() -> None:
    said = {"alluxio_datasets": [{"name": "set", "source": "oss://bucket/x", "oss": OSS, "s3": {"region": "no"}}]}
    assert questions(said)["object_stores"] == [
        {"name": "set", "source": "oss://bucket/x", "store": OSS, "keyed": True}
    ]


@pytest.mark.parametrize(
    ("source", "state", "detail", "remedy"),
    [
        ("oss", "denied", "SignatureDoesNotMatch: The request", "correct the keys of set in the vault"),
        ("oss", "denied", "RequestTimeTooSkewed: The difference", "set the controller's clock"),
        ("oss", "denied", "SecurityTokenExpired: The security", "have STS make new keys, and write all three"),
        (
            "oss",
            "missing",
            "NoSuchBucket: The",
            "correct the bucket's name, or the endpoint in alluxio_datasets[0].oss",
        ),
        ("oss", "unreachable", "refused", "correct endpoint and region in alluxio_datasets[0].oss"),
        ("oss", "empty", "", "name a prefix that holds the dataset"),
        ("s3", "unreachable", "refused", "correct endpoint and region in alluxio_datasets[0].s3"),
        ("file", "denied", "why", "can be read by uid 1000"),
    ],
)
def test_a_remedy_is_of_what_the_store_said(finding: Any, source: str, state: str, detail: str, remedy: str) -> None:
    url = "file:///data/set" if source == "file" else f"{source}://bucket/x"
    hosts = dataset(source=url, oss=OSS if source == "oss" else None)
    known = {"state": state, "detail": detail or None, "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {url: known}
    found = finding(hosts)
    assert found.path == "alluxio_datasets[0].source"
    assert detail in found.reason
    assert remedy in found.remedy
