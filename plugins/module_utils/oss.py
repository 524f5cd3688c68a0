"""An oss:// source as Alibaba Cloud's own client sees it, on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import CHUNK_BYTES, Bucket, Object, Page, split


def client(settings: dict[str, Any], access_key: str, secret_key: str, security_token: str = "") -> Any:
    """A client that signs by version 4, as services do. security_token: of temporary keys, which STS gives."""
    import alibabacloud_oss_v2 as oss  # noqa: PLC0415 (only an OSS source needs it, a node's Python lacks it)
    from alibabacloud_oss_v2.credentials import StaticCredentialsProvider  # noqa: PLC0415

    config = oss.config.load_default()
    config.endpoint, config.region = settings.get("endpoint"), settings.get("region")
    config.credentials_provider = StaticCredentialsProvider(access_key, secret_key, security_token or None)
    config.readwrite_timeout = 60
    return oss.Client(config)


def bucket(oss: Any, source: str) -> Bucket:
    """A source, asked for by a client."""
    from alibabacloud_oss_v2 import GetObjectRequest, ListObjectsV2Request  # noqa: PLC0415

    name, prefix = split(source)

    def pages(below: str, to_slash: bool) -> Iterator[Page]:
        until = {"delimiter": "/"} if to_slash else {}
        wanted = ListObjectsV2Request(bucket=name, prefix=below, encoding_type="url", **until)
        for page in oss.list_objects_v2_paginator(limit=1000).iter_page(wanted):
            folders = [one.prefix for one in page.common_prefixes or []]
            yield Page([_object(one) for one in page.contents or []], folders)

    def read(key: str, limit: int | None) -> Iterable[bytes]:
        part = f"bytes=0-{limit - 1}" if limit else None
        with oss.get_object(GetObjectRequest(bucket=name, key=key, range_header=part)).body as body:
            yield from body.iter_bytes(block_size=CHUNK_BYTES)

    return Bucket(prefix, pages, read)


def error_code(error: Exception) -> str:
    """What the store calls what went wrong; empty where it did not answer."""
    code: str | None = getattr(_cause(error), "code", None)
    return code or ""


def error_text(error: Exception) -> str:
    """What the store said, on one line."""
    cause = _cause(error)
    said = [getattr(cause, name, None) for name in ("code", "message")]
    return ": ".join(filter(None, said)) or str(cause)


def _cause(error: Exception) -> Exception:
    """The error that the client wraps into the name of its operation."""
    unwrap = getattr(error, "unwrap", None)
    cause = unwrap() if unwrap else None
    return cause if isinstance(cause, Exception) else error


def _object(item: Any) -> Object:
    mtime = int(item.last_modified.timestamp()) if item.last_modified else None
    return Object(item.key, item.size, mtime, item.etag.strip('"'))
