"""A stand-in for what AWS lends keys by, of which none can be had here, before a real S3 store.

It answers as four services, on one address. The metadata of an instance, by version 2 alone, with a token: the name of
its role, and keys of that role. The agent of a container, at CONTAINER, to who has its token: such keys. STS:
AssumeRoleWithWebIdentity, with its own codes for a wrong role, or for a token of web identity that is wrong or has
ended. S3: it verifies signatures of version 4, in headers, and with them session tokens, which SeaweedFS does not know;
what is signed rightly it asks of that store with the store's own key. It takes GET and HEAD.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.httpsession import URLLib3Session
from object_store import ObjectStore

ROLE = "reader"
ROLE_ARN = f"arn:aws:iam::111122223333:role/{ROLE}"
CONTAINER = "/credentials"
_METADATA = "/latest/meta-data/iam/security-credentials/"
_CREDENTIAL = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<scope>\d{8}/[^/]+/s3/aws4_request),\s*"
    r"SignedHeaders=(?P<headers>[^,]*),\s*Signature=(?P<signature>[0-9a-f]{64})"
)
_PASSED = ("Content-Type", "Content-Length", "ETag", "Last-Modified", "Content-Range", "Accept-Ranges")


class Refused(Exception):  # noqa: N818 - what AWS answers
    """An answer that is none of success."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code)
        self.status, self.code, self.message = status, code, message


@dataclass
class Key:
    """An access key; `token` of a temporary one, which ends at `expires` (seconds since 1970)."""

    secret: str
    token: str = ""
    expires: float = float("inf")


@dataclass
class Lent:
    """What the stand-in knows and answers.

    keys: by access key. identity: the token that STS takes as web identity, and the agent of a container. lifetime_s:
    of temporary keys. asked: of each request which service it was for, what with, and the code of its refusal. lenders:
    services that have given keys out.
    """

    store: ObjectStore
    keys: dict[str, Key] = field(default_factory=dict)
    identity: str = field(default_factory=lambda: f"canary-{secrets.token_hex(16)}")
    lifetime_s: int = 3600
    sessions: set[str] = field(default_factory=set)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    lenders: set[str] = field(default_factory=set)

    def lend(self, lender: str = "") -> tuple[str, Key]:
        """Temporary keys, from now on; `lender` is the service that gives them out."""
        self.lenders |= {lender} - {""}
        name = f"ASIACANARY{secrets.token_hex(5).upper()}"
        token = f"canary-{secrets.token_hex(24)}"
        self.keys[name] = Key(f"canary-{secrets.token_hex(16)}", token, time.time() + self.lifetime_s)
        return name, self.keys[name]

    def canaries(self) -> list[str]:
        """Everything secret that the stand-in knows."""
        return [self.identity, *(one for key in self.keys.values() for one in (key.secret, key.token) if one)]

    def taken(self, service: str) -> list[str]:
        """What a service answered without refusing it."""
        return [what for name, what, code in self.asked if name == service and not code]


class Handler(BaseHTTPRequestHandler):
    """A request of a client."""

    protocol_version = "HTTP/1.1"
    lent: Lent

    def do_GET(self) -> None:
        if self.path.startswith("/latest/"):
            self._answered("metadata", self.path, self._role)
        elif self.path == CONTAINER:
            self._answered("container", self.path, self._container)
        else:
            self._answered("s3", self.path, self._object)

    def do_HEAD(self) -> None:
        self._answered("s3", self.path, self._object)

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path.startswith("/latest/"):
            self._answered("metadata", self.path, self._session)
        else:
            self._answered("s3", self.path, self._object)

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode())
        said = {name: values[0] for name, values in form.items()}
        self._answered("sts", said.get("Action", ""), lambda: self._assumed(said))

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _answered(self, service: str, what: str, answer: Any) -> None:
        code = ""
        try:
            status, headers, body = answer()
        except Refused as refused:
            status, code = refused.status, refused.code
            said = f"<Code>{code}</Code><Message>{escape(refused.message)}</Message>"
            whole = f"<ErrorResponse><Error><Type>Sender</Type>{said}</Error></ErrorResponse>"
            body = (whole if service == "sts" else f"<Error>{said}</Error>").encode()
            headers = {"Content-Type": "text/xml"}
        self.lent.asked.append((service, what, code))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _session(self) -> tuple[int, dict[str, str], bytes]:
        if self.path != "/latest/api/token" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            raise Refused(400, "BadRequest", self.path)
        token = secrets.token_hex(16)
        self.lent.sessions.add(token)
        return 200, {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}, token.encode()

    def _role(self) -> tuple[int, dict[str, str], bytes]:
        if self.headers.get("X-aws-ec2-metadata-token") not in self.lent.sessions:
            raise Refused(401, "Unauthorized", "version 2 wants a token")
        if self.path in (_METADATA, _METADATA[:-1]):
            return 200, {"Content-Type": "text/plain"}, ROLE.encode()
        if self.path != _METADATA + ROLE:
            raise Refused(404, "NotFound", self.path)
        return self._keys("metadata", {"Code": "Success", "Type": "AWS-HMAC", "LastUpdated": _iso(time.time())})

    def _container(self) -> tuple[int, dict[str, str], bytes]:
        if self.headers.get("Authorization") != self.lent.identity:
            raise Refused(401, "Unauthorized", "the agent wants its token")
        return self._keys("container", {"RoleArn": ROLE_ARN})

    def _keys(self, lender: str, about: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        name, key = self.lent.lend(lender)
        keys = {"AccessKeyId": name, "SecretAccessKey": key.secret, "Token": key.token}
        said = {**about, **keys, "Expiration": _iso(key.expires)}
        return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()

    def _assumed(self, said: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if said.get("Action") != "AssumeRoleWithWebIdentity":
            raise Refused(400, "InvalidAction", f"Could not find operation {said.get('Action')}")
        if said.get("RoleArn") != ROLE_ARN:
            message = "Not authorized to perform sts:AssumeRoleWithWebIdentity"
            raise Refused(403, "AccessDenied", message)
        if said.get("WebIdentityToken") == f"ended-{self.lent.identity}":
            raise Refused(
                400, "ExpiredTokenException", "Token expired: current date/time must be before the expiration"
            )
        if said.get("WebIdentityToken") != self.lent.identity:
            raise Refused(400, "InvalidIdentityToken", "The web identity token could not be verified")
        name, key = self.lent.lend("sts")
        keys = (
            f"<AccessKeyId>{name}</AccessKeyId><SecretAccessKey>{key.secret}</SecretAccessKey>"
            f"<SessionToken>{key.token}</SessionToken><Expiration>{_iso(key.expires)}</Expiration>"
        )
        user = f"<AssumedRoleId>AROACANARY:s</AssumedRoleId><Arn>{ROLE_ARN}/s</Arn>"
        result = f"<Credentials>{keys}</Credentials><AssumedRoleUser>{user}</AssumedRoleUser>"
        text = (
            '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
            f"<AssumeRoleWithWebIdentityResult>{result}</AssumeRoleWithWebIdentityResult>"
            "<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"
        )
        return 200, {"Content-Type": "text/xml"}, text.encode()

    def _object(self) -> tuple[int, dict[str, str], bytes]:
        self._verify()
        if self.command not in ("GET", "HEAD"):
            raise Refused(403, "AccessDenied", "Access Denied")
        store = self.lent.store
        part = {"Range": self.headers["Range"]} if "Range" in self.headers else {}
        asked = AWSRequest(self.command, f"{store.endpoint}{self.path}", headers=part)
        asked.context["payload_signing_enabled"] = False
        S3SigV4Auth(Credentials(*store.owner), "s3", "us-east-1").add_auth(asked)
        answer = URLLib3Session(verify=str(store.ca_file)).send(asked.prepare())
        headers = {name: answer.headers[name] for name in _PASSED if name in answer.headers}
        return answer.status_code, headers, answer.content

    def _verify(self) -> None:
        """Refuse a request that is not signed as S3 wants it, with a key and its token."""
        match = _CREDENTIAL.fullmatch(self.headers.get("Authorization", ""))
        if not match:
            raise Refused(403, "AccessDenied", "Access Denied")
        known, token = self.lent.keys.get(match["key"]), self.headers.get("X-Amz-Security-Token", "")
        if known is None or (known.token and not token):
            raise Refused(
                403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records."
            )
        if known.token != token:
            raise Refused(400, "InvalidToken", "The provided token is malformed or otherwise invalid.")
        if known.expires < time.time():
            raise Refused(400, "ExpiredToken", "The provided token has expired.")
        if token and "x-amz-security-token" not in match["headers"].split(";"):
            raise Refused(403, "AccessDenied", "There were headers present in the request which were not signed")
        if not hmac.compare_digest(self._signature(known.secret, match), match["signature"]):
            message = "The request signature we calculated does not match the signature you provided."
            raise Refused(403, "SignatureDoesNotMatch", message)

    def _signature(self, secret: str, match: re.Match[str]) -> str:
        url = urlsplit(self.path)
        pairs = sorted(tuple(pair.partition("=")[::2]) for pair in url.query.split("&") if pair)
        names = match["headers"].split(";")
        canonical = "\n".join(
            [
                self.command,
                url.path,
                "&".join(f"{name}={value}" for name, value in pairs),
                "".join(f"{name}:{' '.join(self.headers.get(name, '').split())}\n" for name in names),
                match["headers"],
                self.headers.get("X-Amz-Content-SHA256", ""),
            ]
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", self.headers.get("X-Amz-Date", ""), match["scope"], digest])
        key = f"AWS4{secret}".encode()
        for part in match["scope"].split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.new(key, text.encode(), "sha256").hexdigest()


class Server(ThreadingHTTPServer):
    """It says nothing of clients that hang up, as readers do that have what they want."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@contextmanager
def aws_stand_in(lent: Lent, address: str, port: int = 0, certificate: Path | None = None) -> Iterator[str]:
    """Its URL, while it serves. certificate: a PEM file with the key, for TLS."""
    server = Server((address, port), type("Bound", (Handler,), {"lent": lent}))
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if certificate else 'http'}://{address}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
