"""An S3 source as boto3 sees it, on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import (
    CHUNK_BYTES,
    THREADS,
    Bucket,
    Object,
    Page,
    split,
)


def client(settings: dict[str, Any], access_key: str, secret_key: str) -> Any:
    """A boto3 client that signs with the keys; without any, with those of the credential chain.

    It does not sign at all where `anonymous` says so.
    """
    import boto3  # noqa: PLC0415 (only an S3 source needs it, a node's Python lacks it)
    from botocore import UNSIGNED  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    endpoint = settings.get("endpoint")
    config = Config(
        # As services do, and boto3 by itself does not: with an endpoint, `auto` puts the bucket into the path; and some
        # stores take over TLS only signatures that leave the content out.
        s3={
            "addressing_style": "path" if settings.get("path_style") else "virtual",
            "payload_signing_enabled": str(endpoint).startswith("http://"),
        },
        signature_version=UNSIGNED if settings.get("anonymous") else None,
        connect_timeout=10,
        read_timeout=60,
        retries={"max_attempts": 3, "mode": "standard"},
        max_pool_connections=THREADS,
    )
    return boto3.Session().client(
        "s3",
        endpoint_url=endpoint,
        region_name=settings.get("region") or "us-east-1",
        verify=settings.get("ca_file"),
        aws_access_key_id=access_key or None,
        aws_secret_access_key=secret_key or None,
        config=config,
    )


def bucket(s3: Any, source: str) -> Bucket:
    """A source, asked for by a client."""
    name, prefix = split(source)

    def pages(below: str, to_slash: bool) -> Iterator[Page]:
        until = {"Delimiter": "/"} if to_slash else {}
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=name, Prefix=below, **until):
            folders = [one["Prefix"] for one in page.get("CommonPrefixes", [])]
            yield Page([_object(one) for one in page.get("Contents", [])], folders)

    def read(key: str, limit: int | None) -> Iterable[bytes]:
        part = {"Range": f"bytes=0-{limit - 1}"} if limit else {}
        chunks: Iterable[bytes] = s3.get_object(Bucket=name, Key=key, **part)["Body"].iter_chunks(CHUNK_BYTES)
        return chunks

    return Bucket(prefix, pages, read)


def error_code(error: Exception) -> str:
    """What the store calls what went wrong; empty where it did not answer."""
    code: str = getattr(error, "response", {}).get("Error", {}).get("Code", "")
    return code


def _object(item: dict[str, Any]) -> Object:
    mtime = int(item["LastModified"].timestamp()) if "LastModified" in item else None
    return Object(item["Key"], item["Size"], mtime, item["ETag"].strip('"'))
