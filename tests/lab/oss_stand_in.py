"""A stand-in for Alibaba Cloud OSS, of which none can be had here: what reading a bucket needs.

It answers listings (`list-type=2`, and the older one with markers), GET and HEAD of objects, with ranges, as OSS
documents them, to keys that may do no more. With OSS's codes it answers a wrong key, signature, token, region, bucket
or object, and a clock that is 15 minutes off. It verifies signatures: of version 4, in headers. The bucket is the first
part of the path, or of the host.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

SKEW_S = 900
MAX_KEYS = 1000
_OWNER = "<Owner><ID>1000000000000000</ID><DisplayName>1000000000000000</DisplayName></Owner>"
_CREDENTIAL = re.compile(
    r"OSS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<date>\d{8})/(?P<region>[^/]+)/oss/aliyun_v4_request,"
    r"(?:AdditionalHeaders=(?P<headers>[^,]*),)?Signature=(?P<signature>[0-9a-f]{64})"
)


class Refused(Exception):  # noqa: N818 - what OSS answers
    """An answer that is none of success."""

    def __init__(self, status: int, code: str, message: str, **more: str) -> None:
        super().__init__(code)
        self.status, self.code, self.message, self.more = status, code, message, more


@dataclass
class Key:
    """An AccessKey; `token` of a temporary one, which ends at `expires` (seconds since 1970)."""

    secret: str
    token: str = ""
    expires: float = float("inf")


@dataclass
class Request:
    """What a client asks for."""

    method: str
    bucket: str
    key: str
    query: str
    headers: Any


@dataclass
class Asked:
    """A request that the store has answered."""

    method: str
    bucket: str
    key: str
    status: int
    code: str


@dataclass
class Store:
    """What the stand-in holds and answers. etags: of objects that were not uploaded at once, whose ETag is no MD5.
    clock: seconds that its clock is ahead. away: it drops connections.
    """

    region: str = "cn-hangzhou"
    keys: dict[str, Key] = field(default_factory=dict)
    buckets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    modified: dict[tuple[str, str], float] = field(default_factory=dict)
    etags: dict[tuple[str, str], str] = field(default_factory=dict)
    clock: float = 0
    away: bool = False
    asked: list[Asked] = field(default_factory=list)

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Have an object, from now on."""
        self.buckets.setdefault(bucket, {})[key] = content
        self.modified[bucket, key] = time.time()
        self.etags.pop((bucket, key), None)

    def etag(self, bucket: str, key: str) -> str:
        """Of an object that was uploaded at once, as all are that `etags` does not name."""
        md5 = hashlib.md5(self.buckets[bucket][key], usedforsecurity=False)
        return f'"{self.etags.get((bucket, key)) or md5.hexdigest().upper()}"'

    def verify(self, asked: Request) -> None:
        """Refuse a request that is not signed as OSS wants it."""
        headers = asked.headers
        said = headers.get("Authorization")
        if said is None:
            raise Refused(403, "AccessDenied", "AccessDenied")
        match = _CREDENTIAL.fullmatch(said.replace(", ", ","))
        if not match:
            raise Refused(400, "InvalidArgument", "Authorization header is invalid.")
        known = self.keys.get(match["key"])
        if known is None:
            message = "The OSS Access Key Id you provided does not exist in our records."
            raise Refused(403, "InvalidAccessKeyId", message, OSSAccessKeyId=match["key"])
        stamp = headers.get("x-oss-date", "")
        self._in_time(stamp)
        self._token(known, headers.get("x-oss-security-token", ""))
        wanted = _signature(known.secret, match, stamp, _canonical(asked, match["headers"]))
        if match["region"] != self.region or not stamp.startswith(match["date"]):
            raise Refused(400, "InvalidArgument", "Invalid signing region in Authorization header.")
        if not hmac.compare_digest(wanted, match["signature"]):
            message = (
                "The request signature we calculated does not match the signature you provided."
                " Check your key and signing method."
            )
            raise Refused(403, "SignatureDoesNotMatch", message, OSSAccessKeyId=match["key"])

    def _in_time(self, stamp: str) -> None:
        now = time.time() + self.clock
        try:
            when = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
        except ValueError:
            raise Refused(403, "AccessDenied", "Invalid signing date in Authorization header.") from None
        if abs(when - now) > SKEW_S:
            times = {"RequestTime": _iso(when), "ServerTime": _iso(now)}
            message = "The difference between the request time and the current time is too large."
            raise Refused(403, "RequestTimeTooSkewed", message, MaxAllowedSkewMilliseconds=str(SKEW_S * 1000), **times)

    def _token(self, known: Key, token: str) -> None:
        if known.token and not token:
            raise Refused(
                403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records."
            )
        if known.token != token:
            raise Refused(403, "InvalidSecurityToken", "The security token you provided is invalid.")
        if known.expires < time.time() + self.clock:
            raise Refused(403, "SecurityTokenExpired", "The security token you provided has expired.")


def _iso(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _canonical(asked: Request, additional: str | None) -> str:
    resource = "/" + (f"{asked.bucket}/" if asked.bucket else "") + asked.key
    pairs = sorted(tuple(pair.partition("=")[::2]) for pair in asked.query.split("&") if pair)
    more = [name for name in (additional or "").split(";") if name]
    signed = {
        name.lower(): value.strip()
        for name, value in asked.headers.items()
        if name.lower().startswith("x-oss-") or name.lower() in {"content-type", "content-md5", *more}
    }
    return "\n".join(
        [
            asked.method,
            quote(resource, safe="/-_.~"),
            "&".join(f"{name}={value}" if value else name for name, value in pairs),
            "".join(f"{name}:{signed[name]}\n" for name in sorted(signed)),
            ";".join(more),
            asked.headers.get("x-oss-content-sha256", ""),
        ]
    )


def _signature(secret: str, match: re.Match[str], stamp: str, canonical: str) -> str:
    scope = f"{match['date']}/{match['region']}/oss/aliyun_v4_request"
    text = "\n".join(["OSS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"aliyun_v4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


class Handler(BaseHTTPRequestHandler):
    """A request of a client."""

    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self) -> None:
        self._answered()

    def do_HEAD(self) -> None:
        self._answered()

    def do_PUT(self) -> None:
        self._unread()

    def do_POST(self) -> None:
        self._unread()

    def do_DELETE(self) -> None:
        self._unread()

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def _unread(self) -> None:
        """What would write: refused, and known to have been asked for."""
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self._answered()

    def _answered(self) -> None:
        if self.store.away:
            self.close_connection = True
            self.connection.close()
            return
        url = urlsplit(self.path)
        bucket, key = self._place(unquote(url.path)[1:])
        code = ""
        try:
            self.store.verify(Request(self.command, bucket, key, url.query, self.headers))
            status, headers, body = self._found(bucket, key, dict(parse_qsl(url.query, keep_blank_values=True)))
        except Refused as refused:
            status, headers, body, code = (
                refused.status,
                {"x-oss-ec": "0000-00000000"},
                self._error(refused),
                refused.code,
            )
            headers["Content-Type"] = "application/xml"
        self.store.asked.append(Asked(self.command, bucket, key, status, code))
        self.send_response(status)
        for name, value in {
            "x-oss-request-id": self._request_id(),
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The store's clock, in the header Date."""
        return formatdate(time.time() + self.store.clock if timestamp is None else timestamp, usegmt=True)

    def _request_id(self) -> str:
        return secrets.token_hex(12).upper()

    def _place(self, path: str) -> tuple[str, str]:
        """Bucket and key: an address has no subdomains, so that the bucket is in the path."""
        host = self.headers.get("Host", "").partition(":")[0]
        if re.fullmatch(r"[\d.]+", host):
            bucket, _, key = path.partition("/")
            return bucket, key
        return host.partition(".")[0], path

    def _found(self, bucket: str, key: str, query: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        objects = self.store.buckets.get(bucket)
        if objects is None:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.", BucketName=bucket)
        if self.command not in ("GET", "HEAD") or "bucketInfo" in query:
            raise Refused(403, "AccessDenied", "You have no right to access this object because of bucket acl.")
        if not key:
            return 200, {"Content-Type": "application/xml"}, self._listing(bucket, objects, query).encode()
        if key not in objects:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.", Key=key)
        return self._object(objects[key], self.store.modified[bucket, key], self.store.etag(bucket, key))

    def _object(self, content: bytes, modified: float, etag: str) -> tuple[int, dict[str, str], bytes]:
        headers = {
            "Content-Type": "application/octet-stream",
            "ETag": etag,
            "Last-Modified": formatdate(modified, usegmt=True),
            "Accept-Ranges": "bytes",
            "x-oss-object-type": "Normal",
            "x-oss-storage-class": "Standard",
        }
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if self.command == "HEAD":
            return 200, {**headers, "Content-Length": str(len(content))}, b""
        # of a range beyond the end OSS sends the whole object
        if not wanted or int(wanted[1]) >= len(content):
            return 200, headers, content
        first, last = int(wanted[1]), min(int(wanted[2] or len(content) - 1), len(content) - 1)
        return 206, {**headers, "Content-Range": f"bytes {first}-{last}/{len(content)}"}, content[first : last + 1]

    def _listing(self, bucket: str, objects: dict[str, bytes], query: dict[str, str]) -> str:
        second = query.get("list-type") == "2"
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token" if second else "marker", "") or query.get("start-after", "")
        most = min(int(query.get("max-keys") or 100), MAX_KEYS)
        rows: dict[str, str] = {}
        for name in sorted(name for name in objects if name.startswith(prefix)):
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            row = name if cut < 0 else name[: cut + len(delimiter)]
            if row > after:
                rows.setdefault(row, "object" if cut < 0 else "prefix")
        chosen = list(rows)[:most]
        more = len(rows) > most
        shown = (lambda text: quote(text, safe="")) if query.get("encoding-type") == "url" else escape
        said = [f"<Name>{bucket}</Name><Prefix>{shown(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"]
        said.append(f"<Delimiter>{shown(delimiter)}</Delimiter><IsTruncated>{str(more).lower()}</IsTruncated>")
        if "encoding-type" in query:
            said.append("<EncodingType>url</EncodingType>")
        if second:
            said.append(f"<KeyCount>{len(chosen)}</KeyCount>")
        if more:
            said.append("<{0}>{1}</{0}>".format("NextContinuationToken" if second else "NextMarker", shown(chosen[-1])))
        for row in chosen:
            if rows[row] == "prefix":
                said.append(f"<CommonPrefixes><Prefix>{shown(row)}</Prefix></CommonPrefixes>")
                continue
            when, size = _iso(self.store.modified[bucket, row]), len(objects[row])
            said.append(
                f"<Contents><Key>{shown(row)}</Key><LastModified>{when}</LastModified>"
                f"<ETag>{escape(self.store.etag(bucket, row))}</ETag><Type>Normal</Type><Size>{size}</Size>"
                f"<StorageClass>Standard</StorageClass>{'' if second else _OWNER}</Contents>"
            )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult>{"".join(said)}</ListBucketResult>'

    def _error(self, refused: Refused) -> bytes:
        more = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in refused.more.items())
        host = escape(self.headers.get("Host", ""))
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{refused.code}</Code><Message>{refused.message}'
            f"</Message><RequestId>{self._request_id()}</RequestId><HostId>{host}</HostId>{more}</Error>"
        ).encode()


@dataclass
class Serving:
    """A stand-in that serves. endpoint: its URL; access_key and secret_key: of a key that it knows."""

    store: Store
    endpoint: str
    access_key: str
    secret_key: str

    @property
    def oss(self) -> dict[str, str]:
        """What a dataset says of the store."""
        return {"endpoint": self.endpoint, "region": self.store.region}

    @property
    def keys(self) -> dict[str, str]:
        """What `alluxio_credentials` says of the dataset."""
        known = self.store.keys[self.access_key]
        return {"access_key": self.access_key, "secret_key": known.secret} | (
            {"security_token": known.token} if known.token else {}
        )


@contextmanager
def oss_stand_in(address: str = "127.0.0.1", *, token: str = "") -> Iterator[Serving]:
    """A stand-in on an address of this machine, with a key of its own."""
    access_key, secret_key = "canary-" + secrets.token_hex(8), "canary-" + secrets.token_hex(16)
    store = Store(keys={access_key: Key(secret_key, token)})
    server = ThreadingHTTPServer((address, 0), type("Bound", (Handler,), {"store": store}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Serving(store, f"http://{address}:{server.server_port}", access_key, secret_key)
    finally:
        server.shutdown()
        server.server_close()
