"""The stores that a source can be in and the controller asks, each with its own client."""

from __future__ import annotations

from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import credential_chain, hdfs, oss, s3
from ansible_collections.alluxio.fuse.plugins.module_utils.bucket import Bucket

SCHEMES = ("s3://", "oss://", "hdfs://")
KEYS = ("access_key", "secret_key", "security_token")

_WITHOUT_KEYS = {"anonymous": "to read without any", "credential_chain": "to look for them"}

Keys = dict[str, str]
"""access_key and secret_key, and of temporary keys security_token; each is empty where the user gives none."""


def wrong_keys(source: str, settings: dict[str, Any], keys: Keys) -> tuple[str, str] | None:
    """Why a store is not asked, as (state, detail): without keys only where its settings say so, and else with both.

    A token goes to OSS alone: Alluxio's client of S3 is handed none. HDFS has no keys.
    """
    if is_hdfs(source):
        return ("contradictory", "keys are given, and HDFS is read without any") if any(keys.values()) else None
    for switch, meaning in _WITHOUT_KEYS.items():
        if settings.get(switch):
            given = any(keys.values())
            return ("contradictory", f"keys are given, and s3.{switch} says {meaning}") if given else None
    if keys.get("security_token") and not is_oss(source):
        return "tokened", "a security_token is given, and services read s3:// without one"
    missing = [name for name in KEYS[:2] if not keys.get(name)]
    if not missing:
        return None
    unsaid = (
        "" if is_oss(source) else f", and neither {' nor '.join(f's3.{switch}' for switch in _WITHOUT_KEYS)} is true"
    )
    return "keyless", f"no {' and no '.join(missing)} given{unsaid}"


def is_oss(source: str) -> bool:
    """Whether a source is read by OSS's own interface."""
    return source.startswith("oss://")


def is_hdfs(source: str) -> bool:
    """Whether a source is in HDFS."""
    return source.startswith("hdfs://")


def keys_from(settings: dict[str, Any]) -> str:
    """Where the credential chain finds the keys that a store is asked with; empty where they are given, or none are.

    LookupError where it finds none, with what was tried.
    """
    return credential_chain.found() if settings.get("credential_chain") else ""


def opened(source: str, settings: dict[str, Any], keys: Keys) -> Bucket:
    """A source, through its store's client; settings are what its dataset says as `s3`, `oss` or `hdfs`."""
    if wrong := wrong_keys(source, settings, keys):
        raise ValueError(wrong[1])
    if is_hdfs(source):
        return hdfs.bucket(hdfs.client(settings, source), source)
    if is_oss(source):
        return oss.bucket(oss.client(settings, **keys), source)
    return s3.bucket(s3.client(settings, keys["access_key"], keys["secret_key"]), source)


def masked(text: str, keys: Keys) -> str:
    """A text in which no key stands: clients repeat one that they cannot put into a header."""
    for value in filter(None, (value.strip() for value in keys.values())):
        text = text.replace(value, "********")
    return text


def said(source: str, error: Exception) -> tuple[str, str]:
    """(the store's code, its message) of an error; the code is empty where it did not answer."""
    if is_oss(source):
        return oss.error_code(error), oss.error_text(error)
    return hdfs.error_code(error) if is_hdfs(source) else s3.error_code(error), str(error)
