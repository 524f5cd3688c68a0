"""How the controller asks an object store: as Alluxio's services do."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import object_stores, s3, store_facts

ENDPOINT = "https://s3.example.com"
UNSAID = "neither s3.anonymous nor s3.credential_chain is true"


class Asked(Exception):  # noqa: N818 - ends a request before it leaves
    """What would have been sent."""


def asked(settings: dict[str, Any], keys: tuple[str, str] = ("AK", "SK")) -> Any:
    """The request with which the client would list a bucket."""

    def stop(request: Any, **_: Any) -> None:
        raise Asked(request)

    client = s3.client(settings, *keys)
    client.meta.events.register("before-send.s3", stop)
    with pytest.raises(Asked) as caught:
        client.list_objects_v2(Bucket="bucket", Prefix="set/")
    return caught.value.args[0]


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"endpoint": ENDPOINT}, "https://bucket.s3.example.com/?"),
        ({"endpoint": ENDPOINT, "path_style": True}, "https://s3.example.com/bucket?"),
        ({"endpoint": "https://10.0.0.1:9000"}, "https://10.0.0.1:9000/bucket?"),
        ({"region": "us-east-1"}, "https://bucket.s3.amazonaws.com/?"),
    ],
    ids=["virtual host", "path", "an address has no subdomains", "AWS"],
)
def test_the_bucket_is_where_services_put_it(settings: dict[str, Any], url: str) -> None:
    assert asked(settings).url.startswith(url)


@pytest.mark.parametrize(("endpoint", "signed"), [(ENDPOINT, False), (None, False), ("http://s3.example.com", True)])
def test_over_tls_the_signature_leaves_the_content_out(endpoint: str | None, signed: bool) -> None:
    digest = asked({"endpoint": endpoint}).headers["X-Amz-Content-SHA256"]
    assert (digest != b"UNSIGNED-PAYLOAD") is signed


def test_an_anonymous_request_is_not_signed() -> None:
    assert "Authorization" not in asked({"endpoint": ENDPOINT, "anonymous": True}, ("", "")).headers


def test_keys_of_no_dataset_are_named_where_a_source_has_none() -> None:
    said = {"source": "s3://bucket/set", "store": {}, "limit": 1, "security_token": "", "unused": ["imagnet", "old"]}
    found = store_facts.ask({**said, "access_key": "", "secret_key": ""})
    assert found["detail"].endswith("; alluxio_credentials has imagnet, old, and no dataset of that name")
    anonymous = {**said, "store": {"anonymous": True}, "access_key": "AK", "secret_key": "SK"}
    assert "imagnet" not in store_facts.ask(anonymous)["detail"]


@pytest.mark.parametrize(
    ("settings", "keys", "state", "detail"),
    [
        ({}, ("", ""), "keyless", f"no access_key and no secret_key given, and {UNSAID}"),
        ({"anonymous": False}, ("AK", ""), "keyless", f"no secret_key given, and {UNSAID}"),
        (
            {"anonymous": True},
            ("AK", "SK"),
            "contradictory",
            "keys are given, and s3.anonymous says to read without any",
        ),
        (
            {"credential_chain": True},
            ("AK", "SK"),
            "contradictory",
            "keys are given, and s3.credential_chain says to look for them",
        ),
    ],
)
def test_a_store_is_not_asked_without_a_word(
    settings: dict[str, Any], keys: tuple[str, str], state: str, detail: str
) -> None:
    said = {"source": "s3://bucket/set", "store": {**settings, "endpoint": "http://127.0.0.1:9"}, "limit": 1}
    assert store_facts.ask({**said, "access_key": keys[0], "secret_key": keys[1], "security_token": ""}) == {
        "state": state,
        "detail": detail,
        "files": None,
        "bytes": None,
        "sizes": None,
    }
    with pytest.raises(ValueError, match=detail):
        object_stores.opened("s3://bucket/set", settings, dict(zip(object_stores.KEYS, (*keys, ""), strict=True)))


def test_requests_are_signed_by_version_4_in_the_said_region() -> None:
    request = asked({"endpoint": ENDPOINT, "region": "eu-1"})
    assert b"AWS4-HMAC-SHA256 Credential=AK/" in request.headers["Authorization"]
    assert b"/eu-1/s3/aws4_request" in request.headers["Authorization"]
