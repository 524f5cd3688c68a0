"""A bucket is read without keys where the user says so, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import fleet, local

from alluxio_fuse.plan import plan

SOURCE = "s3://bucket/set"
UNSIGNED = {
    "alluxio.underfs.s3.signer.algorithm": "NoOpSignerType",
    "s3a.accessKeyId": "unsigned",
    "s3a.secretKey": "unsigned",
}


def dataset(**said: Any) -> dict[str, Any]:
    return {"name": "set", "source": SOURCE, "files": 1000, "bytes": "1Gi", **said}


def found(state: str, **said: Any) -> dict[str, Any]:
    """A machine whose controller has found the store in this state."""
    hosts = local(alluxio_datasets=[dataset(**said)])
    known = {"state": state, "detail": "why", "files": None, "bytes": None}
    hosts["localhost"]["facts"]["sources"] = {SOURCE: known}
    return hosts


def test_a_store_without_keys_is_refused(finding: Any) -> None:
    refused = finding(found("keyless"))
    assert (refused.path, refused.value, refused.reason) == ("alluxio_credentials.set", "(not shown)", "why")
    assert "anonymous: true into alluxio_datasets[0].s3" in refused.remedy


def test_a_token_that_services_cannot_send_is_refused(finding: Any) -> None:
    refused = finding(found("tokened"))
    assert refused.path == "alluxio_credentials.set"
    assert refused.remedy.startswith("write keys that need no token; or credential_chain: true into")


def test_keys_and_anonymous_are_refused_together(finding: Any) -> None:
    refused = finding(found("contradictory", s3={"anonymous": True}))
    assert refused.path == "alluxio_credentials.set"
    assert "remove one of them" in refused.remedy


def test_services_sign_nothing() -> None:
    made = plan(local(alluxio_datasets=[dataset(s3={"anonymous": True})]))
    assert made.datasets[0].options.items() >= UNSIGNED.items()
    assert "should be read with keys" not in str(made.warnings)


@pytest.mark.parametrize("said", [None, {}, {"anonymous": False}])
def test_services_sign_with_the_keys(said: dict[str, Any] | None) -> None:
    made = plan(local(alluxio_datasets=[dataset(s3=said)]))
    assert not UNSIGNED.keys() & made.datasets[0].options.keys()
    assert "should be read with keys" in str(made.warnings)


def test_nothing_is_written_without_keys(finding: Any) -> None:
    refused = finding(local(alluxio_datasets=[dataset(s3={"anonymous": True}, writable=True)]))
    assert refused.reason == "anonymous and writable contradict each other"


def test_a_secret_with_keys_is_none_of_an_anonymous_dataset(finding: Any) -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_datasets": [dataset(s3={"anonymous": True})]}
    refused = finding(fleet(2, {**said, "alluxio_kubernetes": {"secrets": {"set": "keys"}}}))
    assert (refused.path, refused.remedy) == ("alluxio_datasets[0].s3.anonymous", "remove one of the two")
