"""The state of a dataset's prefix in an object store, as the planner reads it."""

from __future__ import annotations

from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import hdfs, object_stores, objects
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import FOLDER
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes

_STATES = {
    "NoSuchBucket": "missing",
    "AccessDenied": "denied",
    "InvalidAccessKeyId": "denied",
    "SignatureDoesNotMatch": "denied",
    "403": "denied",
    "404": "missing",
    "RequestTimeTooSkewed": "denied",
    "SecurityTokenExpired": "denied",
    "InvalidSecurityToken": "denied",
    # of temporary keys, by S3 and by STS
    "ExpiredToken": "denied",
    "InvalidToken": "denied",
    "ExpiredTokenException": "denied",
    "InvalidIdentityToken": "denied",
    "IDPRejectedClaim": "denied",
    # of HDFS
    "AccessControlException": "denied",
    "FileNotFoundException": "missing",
    "NotADirectory": "missing",
    hdfs.KERBEROS: "denied",
}


def ask(params: dict[str, Any]) -> dict[str, Any]:
    """The state of the prefix; whatever the client raises is one of the states."""
    source, keys = params["source"], {key: params[key] for key in object_stores.KEYS}
    if wrong := object_stores.wrong_keys(source, params["store"], keys):
        state, detail = wrong
        return _uncounted(state, detail + _misnamed(params.get("unused", [])) if state == "keyless" else detail)
    try:
        keys_from = object_stores.keys_from(params["store"])
    except LookupError as nothing:
        return _uncounted("unfound", str(nothing))
    found = _listed(params, keys)
    if not keys_from:
        return found
    detail = found["detail"] and f"{found['detail']} (keys from {keys_from})"
    return {**found, "detail": detail, "keys_from": keys_from}


def _misnamed(unused: list[str]) -> str:
    """Of keys that are written, maybe for this source, under a name that no dataset has."""
    return f"; alluxio_credentials has {', '.join(unused)}, and no dataset of that name" if unused else ""


def _listed(params: dict[str, Any], keys: object_stores.Keys) -> dict[str, Any]:
    source, sizes, left = params["source"], Sizes(), params["limit"]
    try:
        for entry in objects.entries(object_stores.opened(source, params["store"], keys)):
            if entry.is_read:
                sizes.add(entry.size)
            left -= entry.type != FOLDER
            if left < 0:
                return _uncounted("ok", f"more than {params['limit']} objects")
    except Exception as error:  # botocore's hierarchy of errors is made at run time
        code, text = object_stores.said(source, error)
        return _uncounted(_STATES.get(code, "unreachable"), object_stores.masked(text, keys))
    state = "ok" if sizes.files else "empty"
    return {"state": state, "detail": None, "files": sizes.files, "bytes": sizes.bytes, "sizes": sizes.rows()}


def _uncounted(state: str, detail: str) -> dict[str, Any]:
    return {"state": state, "detail": detail, "files": None, "bytes": None, "sizes": None}
