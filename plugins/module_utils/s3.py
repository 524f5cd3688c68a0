"""Lists and reads an S3 source with boto3, on the controller."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import (
    FILE,
    FOLDER,
    KEY,
    RECORD_HEAD,
    Digests,
    Entry,
    Heads,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.source_names import hidden_name, left_out, unreadable_name

THREADS = 16
CHUNK_BYTES = 1 << 20


def wrong_keys(settings: dict[str, Any], access_key: str, secret_key: str) -> tuple[str, str] | None:
    """Why a store is not asked, as (state, detail): without keys only where `anonymous` says so, and else with both."""
    if settings.get("anonymous"):
        given = access_key or secret_key
        return ("contradictory", "keys are given, and s3.anonymous says to read without any") if given else None
    if access_key and secret_key:
        return None
    missing = [name for name, key in (("access_key", access_key), ("secret_key", secret_key)) if not key]
    return "keyless", f"no {' and no '.join(missing)} given, and s3.anonymous is not true"


def client(settings: dict[str, Any], access_key: str, secret_key: str) -> Any:
    """A boto3 client that signs with the keys, or not at all where `anonymous` says so."""
    if wrong := wrong_keys(settings, access_key, secret_key):
        raise ValueError(wrong[1])
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
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
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


def list_bucket(s3: Any, source: str) -> Iterator[Entry]:
    """Everything below the prefix, a folder before what it holds; folders are what keys have before their slashes.

    Of a folder that Alluxio cannot serve the entry alone is given.
    """
    bucket, prefix = split(source)
    within: list[str] = []
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for item in page.get("Contents", []):
            path = item["Key"][len(prefix) :]
            *folders, name = path.split("/")
            if "" in folders:
                yield _entry(path, KEY, item)
                continue
            yield from _entered(within, folders)
            within = folders
            if name and not _unreadable(path.rpartition("/")[0]):
                yield _entry(path, FILE, item)


def _entered(before: list[str], folders: list[str]) -> list[Entry]:
    """The folders that were not entered yet: a bucket lists the keys of each one together."""
    known = [depth for depth in range(len(folders)) if before[: depth + 1] == folders[: depth + 1]]
    entered = []
    for depth in range(len(known), len(folders)):
        path = "/".join(folders[: depth + 1])
        entered.append(Entry(path, FOLDER, left_out=left_out(path), unreadable=_unreadable(path)))
        if entered[-1].unreadable:
            break
    return entered


def _entry(path: str, kind: str, item: dict[str, Any]) -> Entry:
    """A file, or a key that is no path."""
    size, stamp = item["Size"] if kind == FILE else 0, item["ETag"].strip('"')
    time = int(item["LastModified"].timestamp()) if "LastModified" in item else None
    return Entry(path, kind, size, None, time, stamp, left_out=left_out(path), unreadable=_unreadable(path))


def _unreadable(path: str) -> str | None:
    parts = path.split("/")
    if any(hidden_name(part) for part in parts):
        return None
    return next((reason for part in parts if (reason := unreadable_name(part))), None)


def object_heads(s3: Any, source: str) -> Heads:
    """The first bytes of an object."""
    bucket, prefix = split(source)

    def head(path: str) -> bytes:
        wanted = f"bytes=0-{RECORD_HEAD - 1}"
        content: bytes = s3.get_object(Bucket=bucket, Key=prefix + path, Range=wanted)["Body"].read()
        return content

    return head


def object_digests(s3: Any, source: str) -> Digests:
    """sha256 of objects, read by several threads."""
    bucket, prefix = split(source)

    def digest(entry: Entry) -> tuple[str, str]:
        value = hashlib.sha256()
        for chunk in s3.get_object(Bucket=bucket, Key=prefix + entry.path)["Body"].iter_chunks(CHUNK_BYTES):
            value.update(chunk)
        return entry.path, value.hexdigest()

    def digests(files: list[Entry]) -> dict[str, str]:
        with ThreadPoolExecutor(THREADS) as pool:
            return dict(pool.map(digest, files))

    return digests
