"""The controller reads OSS by the vendor's own client, which also checks the stand-in that it is read from here."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import object_stores, objects, oss, store_facts
from oss_stand_in import Key, Serving, oss_stand_in

FILES = {f"set/many/{number:04}": b"x" * (number % 7) for number in range(1203)} | {
    "set/b c+d/é&=?": b"other",
    "set/b c+d/plain": b"hello world",
    "set/": b"",
    "elsewhere": b"no",
}


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    with oss_stand_in() as running:
        for name, content in FILES.items():
            running.store.put("training", name, content)
        yield running


def ask(serving: Serving, source: str = "oss://training/set", **said: Any) -> dict[str, Any]:
    """What preflight is told of a source; `said` replaces keys, or settings as `store`."""
    keys = {"access_key": "", "secret_key": "", "security_token": "", **serving.keys}
    return store_facts.ask({"source": source, "store": serving.oss, "limit": 5000, **keys, **said})


@pytest.mark.parametrize(("few", "requests"), [(8, 2), (1, 8)], ids=["one after the other", "side by side"])
def test_a_bucket_is_listed_over_all_pages(
    few: int, requests: int, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.bucket.FEW_PAGES", few)
    monkeypatch.setattr("ansible_collections.alluxio.fuse.plugins.module_utils.bucket.FULL", 0)
    begun = len(serving.store.asked)
    bucket = object_stores.opened("oss://training/set", serving.oss, {"security_token": "", **serving.keys})
    listed = list(objects.entries(bucket))
    assert [entry.path for entry in listed if entry.is_read] == sorted(
        name[4:] for name in FILES if name.startswith("set/") and len(name) > 4 and "?" not in name
    )
    assert len(serving.store.asked) - begun == requests
    assert ask(serving)["files"] == 1204


def test_digests_and_heads_are_those_of_the_objects(serving: Serving) -> None:
    bucket = object_stores.opened("oss://training/set", serving.oss, {"security_token": "", **serving.keys})
    listed = [entry for entry in objects.entries(bucket) if entry.path.startswith("b c+d/pl")]
    sha256, md5 = hashlib.sha256(b"hello world").hexdigest(), hashlib.md5(b"hello world").hexdigest()  # noqa: S324
    assert objects.digests(bucket)(listed, False) == {"b c+d/plain": (sha256, "")}
    assert objects.digests(bucket)(listed, True) == {"b c+d/plain": (sha256, md5)}
    assert listed[0].stamp == md5.upper()
    assert listed[0].mtime == int(serving.store.modified["training", "set/b c+d/plain"])
    begun = len(serving.store.asked)
    assert objects.heads(bucket)("b c+d/plain") == b"hello world"[:12]
    assert [one.status for one in serving.store.asked[begun:]] == [206]


@pytest.mark.parametrize(
    ("said", "state", "code"),
    [
        ({"secret_key": "wrong"}, "denied", "SignatureDoesNotMatch: The request signature we calculated"),
        ({"access_key": "nobody"}, "denied", "InvalidAccessKeyId: The OSS Access Key Id you provided does not exist"),
        ({"source": "oss://no-bucket/set"}, "missing", "NoSuchBucket: The specified bucket does not exist"),
        ({"source": "oss://training/nothing"}, "empty", None),
        ({"store": {"region": "cn-beijing"}}, "unreachable", "InvalidArgument: Invalid signing region"),
        ({"store": {"endpoint": "http://127.0.0.1:9"}}, "unreachable", "Connection refused"),
        ({"security_token": "none of mine"}, "denied", "InvalidSecurityToken: The security token you provided"),
        ({"secret_key": ""}, "keyless", "no secret_key given"),
    ],
)
def test_the_store_s_own_error_is_told(serving: Serving, said: dict[str, Any], state: str, code: str | None) -> None:
    found = ask(serving, **{**said, "store": serving.oss | said.get("store", {})})
    assert (found["state"], found["files"]) == (state, 0 if state == "empty" else None)
    assert code is None or code in found["detail"]
    assert "\n" not in (found["detail"] or "")
    assert serving.keys["secret_key"] not in str(found)


def test_a_key_that_fits_in_no_header_is_not_told(serving: Serving) -> None:
    found = ask(serving, **{"security_token": " canary-token"})
    assert (found["state"], "********" in found["detail"]) == ("unreachable", True)
    assert "canary-token" not in found["detail"]


def test_a_clock_that_is_off_is_told(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving.store, "clock", 3600)
    found = ask(serving)
    assert found["state"] == "denied"
    assert found["detail"].startswith("RequestTimeTooSkewed: The difference between the request time and the current")


def test_temporary_keys_need_their_token(serving: Serving) -> None:
    serving.store.keys["STS.id"] = Key("secret", "token")
    temporary = {"access_key": "STS.id", "secret_key": "secret"}
    token = {"security_token": "token"}
    assert ask(serving, **temporary)["detail"].startswith("InvalidAccessKeyId")
    assert ask(serving, **temporary | token)["state"] == "ok"
    serving.store.keys["STS.id"].expires = time.time() - 1
    assert ask(serving, **temporary | token)["detail"].startswith("SecurityTokenExpired")


def test_the_stand_in_takes_nothing_and_knows_that_it_was_asked(serving: Serving) -> None:
    import alibabacloud_oss_v2 as vendor  # noqa: PLC0415 - the rest asks by our own module

    client = oss.client(serving.oss, serving.access_key, serving.keys["secret_key"])
    with pytest.raises(vendor.exceptions.OperationError, match="AccessDenied"):
        client.put_object(vendor.PutObjectRequest(bucket="training", key="set/new", body=b"x"))
    assert (serving.store.asked[-1].method, serving.store.asked[-1].key) == ("PUT", "set/new")
    assert "set/new" not in serving.store.buckets["training"]


def test_both_kinds_of_listing_end_with_the_same_names(serving: Serving) -> None:
    """The older kind, with markers, is what Alluxio's under store uses."""
    import alibabacloud_oss_v2 as vendor  # noqa: PLC0415

    client = oss.client(serving.oss, serving.access_key, serving.keys["secret_key"])
    pages = client.list_objects_paginator(limit=500).iter_page(vendor.ListObjectsRequest(bucket="training"))
    assert [one.key for page in pages for one in page.contents] == sorted(FILES)
    (top,) = client.list_objects_paginator().iter_page(
        vendor.ListObjectsRequest(bucket="training", prefix="set/", delimiter="/")
    )
    assert [one.prefix for one in top.common_prefixes] == ["set/b c+d/", "set/many/"]
    assert [one.key for one in top.contents] == ["set/"]


def test_a_token_for_s3_is_not_left_out_without_a_word() -> None:
    keys = {"access_key": "AK", "secret_key": "SK", "security_token": "token"}
    wrong = object_stores.wrong_keys("s3://training/set", {}, keys)
    assert wrong == ("tokened", "a security_token is given, and services read s3:// without one")


def test_an_object_that_is_gone_is_told_by_its_code(serving: Serving) -> None:
    bucket = object_stores.opened("oss://training/set", serving.oss, {"security_token": "", **serving.keys})
    with pytest.raises(Exception, match="NoSuchKey") as caught:
        objects.heads(bucket)("gone")
    assert oss.error_code(caught.value) == "NoSuchKey"
    assert object_stores.said("oss://training/set", caught.value)[1] == "NoSuchKey: The specified key does not exist."
