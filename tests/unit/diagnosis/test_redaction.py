"""No secret leaves in a bundle. Each text here holds one that would be read in it if nothing took it out."""

from __future__ import annotations

import base64
import json
import urllib.parse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alluxio_fuse.diagnosis.redaction import MARK, Redactor, looks_secret, values

SECRET = "hunter2+/S3cr3t"  # noqa: S105
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\nabc=\n-----END RSA PRIVATE KEY-----"
UNKNOWING = Redactor(())

WORDS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2000, exclude_characters="[]", exclude_categories=["Ll"])
)
KNOWN = WORDS.filter(lambda word: len(word) >= 4)


@pytest.mark.parametrize(
    "text",
    [
        f"s3a.secretKey={SECRET}",
        f"s3a.accessKeyId = {SECRET}",
        f"password: correct {SECRET} battery",
        f"  - secret_key: {SECRET} and more",
        f"-Dfs.s3a.secret.key={SECRET} -Xmx1g",
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f"2026-11-21 INFO asked with token={SECRET}, twice",
        f'{{"password": "a {SECRET} b", "user": "x"',  # JSON that was cut
        f'said {{\\"secretKey\\":\\"a {SECRET}\\"}}',
        f"mc alias set store http://s3 --secret-key {SECRET}",
        f"Authorization: AWS4-HMAC-SHA256 Credential=AK/x, SignedHeaders=host, Signature={SECRET}",
        f'http-outgoing-0 >> "authorization: Digest username="me", response="{SECRET}"[\\r][\\n]"',
        f"Cookie: a=1; session={SECRET}",
        f"sent Bearer {SECRET}",
        f"GET /set/1?X-Amz-Date=1&X-Amz-Signature={SECRET}&x=1",
        f"https://s3.example.com/o?AWSAccessKeyId={SECRET}&Expires=1",
        f"https://s3.example.com/o?sv=1&sig={SECRET}",
        "https://me:hunter2+S3cr3t@proxy.example.com:3128/",
        f"<Error><AWSAccessKeyId>{SECRET}</AWSAccessKeyId></Error>",
        f"before\n{PEM}\nafter",
        PEM.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,12\n\n", 1),
        json.dumps({"file": PEM})[:-30],
        f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
        f"{SECRET.replace('+', 'x')}\n-----END PRIVATE KEY-----",
    ],
)
def test_texts(text: str) -> None:
    for part in ("hunter2", "S3cr3t"):
        assert part in text
        assert part not in UNKNOWING.document(text)


@pytest.mark.parametrize(
    "data",
    [
        {"s3": {"secret_key": SECRET}},
        {"credentials": {"imagenet": {"any": [SECRET]}}},
        {"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": SECRET}]},
        {"command": ["mc", "--password", SECRET]},
        {"command": ["java", f"-Dstore.password={SECRET}"]},
        {"data": {"site.properties": f"a=b\ns3a.secretKey={SECRET}\nc=d\n"}},
        [{"headers": {"Authorization": SECRET, "Set-Cookie": SECRET}}],
    ],
)
def test_documents(data: Any) -> None:
    told = UNKNOWING.document(json.dumps(data))
    assert SECRET in json.dumps(data)
    assert SECRET not in told
    assert MARK in told


def test_numbers_under_a_secret_s_name_are_secrets() -> None:
    assert "12345678" not in UNKNOWING.document('{"password": 12345678}')
    assert "12345678" not in Redactor(["12345678"]).document('{"any": 12345678}')


@pytest.mark.parametrize(
    "text",
    [
        "alluxio.master.hostname=n1",
        "alluxio.security.authorization.permission.enabled=false",
        "java.io.IOException: InvalidTokenException: too old",
        "secretName: alluxio-fuse-imagenet",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "s3://training/imagenet http://127.0.0.1:19999/api/v1/master/info?raw=false",
        "FUSE keys: 17, bypass: 3",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert UNKNOWING.text(text) == text


def test_the_rest_of_a_document_keeps_its_shape() -> None:
    data = {"a": [1, 2.5, None, True, "x"], "automountServiceAccountToken": False}
    assert json.loads(UNKNOWING.document(json.dumps(data))) == data


def test_values_of_variables_are_found_however_deep() -> None:
    variables = {
        "alluxio_credentials": {"imagenet": {"access_key": "AK", "secret_key": "SK"}},
        "alluxio_kubernetes": {"namespace": "data", "registry": {"password": "P"}},
        "ansible_become_pass": 123,
        "alluxio_name": "fuse",
    }
    assert sorted(values(variables)) == ["123", "AK", "P", "SK"]


def test_names() -> None:
    for name in ("s3a.accessKeyId", "ansible_ssh_pass", "X-Amz-Signature", "vault_token2", "client_secret_value"):
        assert looks_secret(name), name
    for name in ("secretName", "TokenException", "compass", "alluxio.key", "author"):
        assert not looks_secret(name), name


@given(KNOWN, WORDS, WORDS)
def test_a_known_value_is_nowhere(value: str, before: str, after: str) -> None:
    redactor = Redactor([value])
    forms = [
        value,
        urllib.parse.quote(value, safe=""),
        base64.b64encode(value.encode()).decode(),
        json.dumps(value)[1:-1],
    ]
    for form in forms:
        assert form not in redactor.text(f"{before}{form}{after}")
    told = redactor.document(json.dumps({before: after, "any": f"{before}{value}{after}", f"k{value}": 1}))
    assert value not in "".join(json.loads(told))
    assert value not in json.loads(told)["any"]


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), min_size=1).filter(str.strip))
def test_a_line_of_a_properties_file_tells_nothing_of_its_value(value: str) -> None:
    told = UNKNOWING.text(f"a=b\ns3a.secretKey=x{value}\nc=d\n")
    assert told == f"a=b\ns3a.secretKey={MARK}\nc=d\n"
