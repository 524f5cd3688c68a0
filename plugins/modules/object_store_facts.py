#!/usr/bin/python
"""Asks an object store whether a dataset's prefix can be listed."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import hdfs, object_stores, objects
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import FOLDER
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes

DOCUMENTATION = r"""
module: object_store_facts
short_description: ask an object store whether a dataset's prefix can be listed
description:
  - Lists the prefix up to a limit and returns its state in the shape of the node facts' C(sources). Nothing is written.
  - Counted is what a manifest holds; hidden names, and names that cannot be served, are left out.
  - A store for which there are no keys is asked only where C(anonymous) says that anybody may read it, or
    C(credential_chain) that keys are looked for as AWS's clients do.
  - Needs the store's client, thus the Python that the set-up made.
options:
  source:
    description: C(s3://bucket/prefix), C(oss://bucket/prefix) or C(hdfs://namenode:port/folder).
    type: str
    required: true
  store:
    description: How the store is reached, as the dataset says in C(s3), C(oss) or C(hdfs).
    type: dict
    default: {}
  access_key: {description: Access key., type: str, default: ""}
  secret_key: {description: Secret key., type: str, default: ""}
  security_token: {description: "Of temporary keys of OSS, the token that STS gave with them.", type: str, default: ""}
  limit: {description: Objects after which counting ends without a result., type: int, default: 2000000}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask the store
  alluxio.fuse.object_store_facts:
    source: s3://training/imagenet
    store: {endpoint: "https://s3.example.com", path_style: true}
    access_key: "{{ alluxio_credentials.imagenet.access_key }}"
    secret_key: "{{ alluxio_credentials.imagenet.secret_key }}"
"""

RETURN = r"""
source:
  description: The source that was asked for.
  type: str
  returned: always
facts:
  description: >-
    C(state) (ok, empty, missing, denied, unreachable, keyless, unfound, contradictory or tokened), C(detail),
    C(keys_from) (where the credential chain found the keys, only with it), C(files), C(bytes) and C(sizes), a
    histogram with an upper bound, files and bytes for each power of two; the last three are null where the listing did
    not end.
  type: dict
  returned: always
"""

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
        return _uncounted(*wrong)
    try:
        keys_from = object_stores.keys_from(params["store"])
    except LookupError as nothing:
        return _uncounted("unfound", str(nothing))
    found = _listed(params, keys)
    if not keys_from:
        return found
    detail = found["detail"] and f"{found['detail']} (keys from {keys_from})"
    return {**found, "detail": detail, "keys_from": keys_from}


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


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "str", "required": True},
            "store": {"type": "dict", "default": {}},
            "access_key": {"type": "str", "default": "", "no_log": True},
            "secret_key": {"type": "str", "default": "", "no_log": True},
            "security_token": {"type": "str", "default": "", "no_log": True},
            "limit": {"type": "int", "default": 2_000_000},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, source=module.params["source"], facts=ask(module.params))


if __name__ == "__main__":
    main()
