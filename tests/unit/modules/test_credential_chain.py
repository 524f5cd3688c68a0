"""The controller finds keys as AWS's clients do, by botocore itself, which also checks the stand-in for AWS."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import credential_chain, object_stores, objects, store_facts
from aws_stand_in import CONTAINER, ROLE_ARN, Key, Lent, aws_stand_in
from botocore.exceptions import ClientError
from object_store import object_store, own_address

from alluxio_fuse.plan.facts import Source

ROOT = Path(__file__).parents[3]
FILES = {"a b/é&=": b"other", "plain": b"hello world", "z": b""}
IDENTITY = f"canary-{secrets.token_hex(16)}"
STATIC = ("AKIACANARY", "canary-static")
KEYLESS = dict.fromkeys(object_stores.KEYS, "")


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lent]:
    """A store that knows a key, and lends others."""
    with object_store(tmp_path_factory.mktemp("store") / "s3") as store:
        store.create_bucket("training")
        for name, content in FILES.items():
            store.client().put_object(Bucket="training", Key=f"set/{name}", Body=content)
        yield Lent(store, identity=IDENTITY)


class Places:
    """Where AWS's clients look, empty until something is put there; and where the stand-in answers."""

    def __init__(self, endpoint: str, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.endpoint, self.patch, self.folder = endpoint, patch, folder
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("HOME", str(folder))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_METADATA_SERVICE_TIMEOUT", "20")  # a busy machine answers after botocore's one second

    def environment(self, access_key: str, key: Key) -> None:
        self.patch.setenv("AWS_ACCESS_KEY_ID", access_key)
        self.patch.setenv("AWS_SECRET_ACCESS_KEY", key.secret)
        if key.token:
            self.patch.setenv("AWS_SESSION_TOKEN", key.token)

    def profile(self, access_key: str, key: Key) -> None:
        token = f"aws_session_token={key.token}\n" if key.token else ""
        text = f"[training]\naws_access_key_id={access_key}\naws_secret_access_key={key.secret}\n{token}"
        (self.folder / "credentials").write_text(text)
        self.patch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(self.folder / "credentials"))
        self.patch.setenv("AWS_PROFILE", "training")

    def instance(self, endpoint: str = "") -> None:
        self.patch.delenv("AWS_EC2_METADATA_DISABLED")
        self.patch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint or self.endpoint)

    def container(self, token: str) -> None:
        self.patch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{self.endpoint}{CONTAINER}")
        self.patch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", token)

    def web_identity(self, token: str, role: str = ROLE_ARN) -> None:
        (self.folder / "token").write_text(token)
        self.patch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(self.folder / "token"))
        self.patch.setenv("AWS_ROLE_ARN", role)
        self.patch.setenv("AWS_REGION", "us-east-1")
        self.patch.setenv("AWS_ENDPOINT_URL_STS", self.endpoint)


@pytest.fixture
def places(lent: Lent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Places]:
    lent.keys, lent.asked, lent.lenders = {STATIC[0]: Key(STATIC[1])}, [], set()
    lent.lifetime_s = 3600
    with aws_stand_in(lent, own_address()) as url:
        yield Places(url, monkeypatch, tmp_path)


def settings(endpoint: str) -> dict[str, Any]:
    return {"endpoint": endpoint, "region": "us-east-1", "path_style": True, "credential_chain": True}


def ask(endpoint: str) -> dict[str, Any]:
    """What preflight is told."""
    said = {"source": "s3://training/set", "store": settings(endpoint), "limit": 100, **KEYLESS}
    found = store_facts.ask(said)
    Source.model_validate(found)
    return found


def read(endpoint: str) -> dict[str, str]:
    """Digests of the manifest."""
    bucket = object_stores.opened("s3://training/set", settings(endpoint), KEYLESS)
    listed = [entry for entry in objects.entries(bucket) if entry.is_read]
    return {path: digest.sha256 for path, digest in objects.digests(bucket)(listed, False).items()}


DIGESTS = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}


@pytest.mark.parametrize(
    "way",
    ["environment", "environment with token", "profile", "profile with token", "instance", "container", "web identity"],
)
def test_preflight_and_manifest_read_with_what_is_found(way: str, lent: Lent, places: Places) -> None:
    given = lent.lend() if way.endswith("token") else (STATIC[0], lent.keys[STATIC[0]])
    if way.startswith("environment"):
        places.environment(*given)
        where = "the environment (AWS_ACCESS_KEY_ID)"
    elif way.startswith("profile"):
        places.profile(*given)
        where = f"profile training in {places.folder}/credentials"
    elif way == "instance":
        places.instance()
        where = "the role of the instance"
    elif way == "container":
        places.container(lent.identity)
        where = "the role of the container"
    else:
        places.web_identity(lent.identity)
        where = "web identity (AWS_ROLE_ARN, or profile default)"
    found = ask(places.endpoint)
    assert (found["state"], found["files"], found["keys_from"]) == ("ok", 3, where)
    assert read(places.endpoint) == DIGESTS
    lenders = {"instance": {"metadata"}, "container": {"container"}, "web identity": {"sts"}}
    assert lent.lenders == lenders.get(way, set())
    assert not [one for one in lent.canaries() if one in json.dumps(found)]


def manifest(endpoint: str, path: Path) -> dict[str, Any]:
    """What the module answers that makes the manifest, in a process of its own."""
    said = {
        "source": "s3://training/set",
        "path": str(path),
        "store": settings(endpoint),
        "_ansible_remote_tmp": "/tmp",
    }
    answer = subprocess.run(
        [sys.executable, "-m", "ansible_collections.alluxio.fuse.plugins.modules.dataset_manifest"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": said}),
        env={**os.environ, "PYTHONPATH": str(ROOT / "collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(json.loads(answer.stdout))


def test_the_manifest_s_module_says_which_keys_it_read_with(lent: Lent, places: Places) -> None:
    path = places.folder / "manifest.jsonl"
    nothing = manifest(places.endpoint, path)
    assert nothing["msg"].startswith("source: s3://training/set cannot be read: no key in the environment")
    places.instance()
    made = manifest(places.endpoint, path)
    assert (made["keys_from"], made["manifest"]["files"]) == ("the role of the instance", 3)
    lent.lifetime_s = -1
    places.environment(*lent.lend())
    ended = manifest(places.endpoint, path)
    assert "(ExpiredToken)" in ended["msg"]
    assert ended["msg"].endswith("(keys from the environment (AWS_ACCESS_KEY_ID))")
    text = path.read_text() + json.dumps([nothing, made, ended])
    assert not [one for one in (*lent.canaries(), *lent.keys) if one in text]


def test_temporary_keys_are_renewed_while_they_are_used(lent: Lent, places: Places) -> None:
    places.web_identity(lent.identity)
    lent.lifetime_s = 300  # botocore renews what ends within ten minutes
    bucket = object_stores.opened("s3://training/set", settings(places.endpoint), KEYLESS)
    assert len(list(objects.entries(bucket))) == 4
    former = set(lent.keys)
    lent.keys = {}
    assert len(list(objects.entries(bucket))) == 4
    assert not former & set(lent.keys)


def test_nothing_found_says_what_was_tried(places: Places) -> None:
    found = ask(places.endpoint)
    assert found["state"] == "unfound"
    for place in ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "profile default of ~/.aws/credentials"):
        assert place in found["detail"]
    assert "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI" in found["detail"]
    assert "an instance (not asked: AWS_EC2_METADATA_DISABLED)" in found["detail"]
    places.instance("http://127.0.0.1:9")
    assert "an instance (http://127.0.0.1:9)" in ask(places.endpoint)["detail"]


def test_a_profile_that_is_not_there_is_told(places: Places) -> None:
    places.patch.setenv("AWS_PROFILE", "traning")
    found = ask(places.endpoint)
    assert found["state"] == "unfound"
    assert "(traning) could not be found" in found["detail"]


@pytest.mark.parametrize(
    ("token", "role", "code"),
    [
        ("nobody's", ROLE_ARN, "InvalidIdentityToken"),
        (f"ended-{IDENTITY}", ROLE_ARN, "ExpiredTokenException"),
        (IDENTITY, "arn:aws:iam::111122223333:role/other", "AccessDenied"),
    ],
)
def test_sts_own_error_is_told(token: str, role: str, code: str, places: Places) -> None:
    places.web_identity(token, role)
    found = ask(places.endpoint)
    assert found["state"] == "denied"
    assert f"({code}) when calling the AssumeRoleWithWebIdentity operation" in found["detail"]
    assert found["detail"].endswith("(keys from web identity (AWS_ROLE_ARN, or profile default))")
    assert token not in json.dumps(found)


def test_a_session_that_has_ended_is_told(lent: Lent, places: Places) -> None:
    lent.lifetime_s = -1
    places.environment(*lent.lend())
    found = ask(places.endpoint)
    assert found["state"] == "denied"
    assert "(ExpiredToken)" in found["detail"]


def test_given_keys_are_not_joined_by_found_ones(lent: Lent, places: Places) -> None:
    """Without the switch nothing is looked for, and keys that are given take no token of the environment."""
    places.environment(*lent.lend())
    store = {**settings(places.endpoint), "credential_chain": False}
    said = {"source": "s3://training/set", "limit": 100, "store": store}
    assert store_facts.ask({**said, **KEYLESS})["state"] == "keyless"
    given = {**KEYLESS, "access_key": STATIC[0], "secret_key": STATIC[1]}
    found = store_facts.ask({**said, **given})
    assert (found["state"], "keys_from" in found) == ("ok", False)
    assert [code for _, _, code in lent.asked] == [""]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"aws_secret_access_key": "wrong"}, "SignatureDoesNotMatch"),
        ({"aws_session_token": "wrong"}, "InvalidToken"),
        ({"aws_session_token": None}, "InvalidAccessKeyId"),
        ({"aws_access_key_id": "nobody"}, "InvalidAccessKeyId"),
    ],
)
def test_the_stand_in_verifies_signature_and_token(said: dict[str, Any], code: str, lent: Lent, places: Places) -> None:
    name, key = lent.lend()
    right = {"aws_access_key_id": name, "aws_secret_access_key": key.secret, "aws_session_token": key.token}

    def listed(**keys: Any) -> Any:
        client = boto3.Session().client("s3", endpoint_url=places.endpoint, region_name="us-east-1", **keys)
        return client.list_objects_v2(Bucket="training", Delimiter="/", Prefix="set/a b/")

    assert [one["Key"] for one in listed(**right)["Contents"]] == ["set/a b/é&="]
    with pytest.raises(ClientError, match=code):
        listed(**{**right, **said})


def test_metadata_is_told_by_version_2_alone(lent: Lent, places: Places) -> None:
    import urllib3  # noqa: PLC0415 - the rest asks by botocore

    answer = urllib3.request("GET", f"{places.endpoint}/latest/meta-data/iam/security-credentials/", retries=False)
    assert (answer.status, lent.taken("metadata")) == (401, [])


def test_a_provider_without_words_is_named_by_botocore() -> None:
    """Each provider of this botocore has words of its own, but those that only old clients know."""
    import botocore.session  # noqa: PLC0415

    session = botocore.session.get_session()
    methods = {one.METHOD for one in session.get_component("credential_provider").providers}
    assert methods - credential_chain.PLACES.keys() == {"login", "ec2-credentials-file", "boto-config"}
