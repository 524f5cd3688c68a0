"""The object stores that a source can be in, each with its own client."""

from __future__ import annotations

from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import oss, s3
from ansible_collections.alluxio.fuse.plugins.module_utils.objects import Bucket

SCHEMES = ("s3://", "oss://")
KEYS = ("access_key", "secret_key", "security_token")

Keys = dict[str, str]
"""access_key and secret_key, and of temporary keys security_token; each is empty where the user gives none."""


def wrong_keys(source: str, settings: dict[str, Any], keys: Keys) -> tuple[str, str] | None:
    """Why a store is not asked, as (state, detail): without keys only where `anonymous` says so, and else with both.

    A token goes to OSS alone: Alluxio's client of S3 knows none.
    """
    if settings.get("anonymous"):
        given = any(keys.values())
        return ("contradictory", "keys are given, and s3.anonymous says to read without any") if given else None
    if keys.get("security_token") and not is_oss(source):
        return "tokened", "a security_token is given, and services read s3:// without one"
    missing = [name for name in KEYS[:2] if not keys.get(name)]
    if not missing:
        return None
    unsigned = "" if is_oss(source) else ", and s3.anonymous is not true"
    return "keyless", f"no {' and no '.join(missing)} given{unsigned}"


def is_oss(source: str) -> bool:
    """Whether a source is read by OSS's own interface."""
    return source.startswith("oss://")


def opened(source: str, settings: dict[str, Any], keys: Keys) -> Bucket:
    """A source, through its store's client; settings are what its dataset says as `s3` or `oss`."""
    if wrong := wrong_keys(source, settings, keys):
        raise ValueError(wrong[1])
    if is_oss(source):
        return oss.bucket(oss.client(settings, **keys), source)
    return s3.bucket(s3.client(settings, keys["access_key"], keys["secret_key"]), source)


def said(source: str, error: Exception) -> tuple[str, str]:
    """(the store's code, its message) of an error; the code is empty where it did not answer."""
    return (oss.error_code(error), oss.error_text(error)) if is_oss(source) else (s3.error_code(error), str(error))
