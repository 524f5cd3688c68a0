"""Lists and reads an S3 source with boto3, on the controller."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import (
    RECORD_HEAD,
    Digests,
    Found,
    Heads,
    Listing,
    Unreadable,
    has_control_character,
    hidden_name,
    unreadable_name,
)

THREADS = 16
CHUNK_BYTES = 1 << 20


def client(settings: dict[str, Any], access_key: str, secret_key: str) -> Any:
    """A boto3 client; without keys the bucket is read anonymously."""
    import boto3  # noqa: PLC0415 (only an S3 source needs it, a node's Python lacks it)
    from botocore import UNSIGNED  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        s3={"addressing_style": "path" if settings.get("path_style") else "auto"},
        signature_version=None if access_key else UNSIGNED,
        connect_timeout=10,
        read_timeout=60,
        retries={"max_attempts": 3, "mode": "standard"},
        max_pool_connections=THREADS,
    )
    return boto3.client(
        "s3",
        endpoint_url=settings.get("endpoint"),
        region_name=settings.get("region") or "us-east-1",
        verify=settings.get("ca_file"),
        aws_access_key_id=access_key or None,
        aws_secret_access_key=secret_key or None,
        config=config,
    )


def split(source: str) -> tuple[str, str]:
    """Bucket and prefix (empty, or with a slash at its end) of s3://bucket/prefix."""
    bucket, _, prefix = source[len("s3://") :].partition("/")
    prefix = prefix.strip("/")
    return bucket, f"{prefix}/" if prefix else ""


def list_bucket(s3: Any, source: str) -> Listing:
    """Objects below the prefix that have a path in a file system."""
    bucket, prefix = split(source)
    files: list[Found] = []
    ignored: dict[str, int] = {}
    unreadable: list[Unreadable] = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for item in page.get("Contents", []):
            path = item["Key"][len(prefix) :]
            if reason := _unreadable(path):
                unreadable.append(Unreadable(path, reason))
            elif reason := _unfit(path):
                ignored[reason] = ignored.get(reason, 0) + 1
            else:
                files.append(Found(path, item["Size"], item["ETag"].strip('"')))
    return Listing(sorted(files), ignored, sorted(unreadable))


def _unreadable(path: str) -> str | None:
    parts = path.split("/")
    if any(hidden_name(part) for part in parts):
        return None
    return next((reason for part in parts if (reason := unreadable_name(part))), None)


def _unfit(path: str) -> str | None:
    if not path or path.endswith("/"):
        return "folder marker"
    parts = path.split("/")
    if "" in parts:
        return "key is no path"
    if any(hidden_name(part) for part in parts):
        return "hidden"
    return "name has a control character" if has_control_character(path) else None


def object_heads(s3: Any, source: str) -> Heads:
    """The first bytes of an object."""
    bucket, prefix = split(source)

    def head(found: Found) -> bytes:
        wanted = f"bytes=0-{RECORD_HEAD - 1}"
        content: bytes = s3.get_object(Bucket=bucket, Key=prefix + found.path, Range=wanted)["Body"].read()
        return content

    return head


def object_digests(s3: Any, source: str) -> Digests:
    """sha256 of objects, read by several threads."""
    bucket, prefix = split(source)

    def digest(found: Found) -> tuple[str, str]:
        value = hashlib.sha256()
        for chunk in s3.get_object(Bucket=bucket, Key=prefix + found.path)["Body"].iter_chunks(CHUNK_BYTES):
            value.update(chunk)
        return found.path, value.hexdigest()

    def digests(files: list[Found]) -> dict[str, str]:
        with ThreadPoolExecutor(THREADS) as pool:
            return dict(pool.map(digest, files))

    return digests
