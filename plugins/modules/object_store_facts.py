#!/usr/bin/python
"""Asks an object store whether a dataset's prefix can be listed."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import s3
from ansible_collections.alluxio.fuse.plugins.module_utils.manifest import FOLDER
from ansible_collections.alluxio.fuse.plugins.module_utils.sizes import Sizes

DOCUMENTATION = r"""
module: object_store_facts
short_description: ask an object store whether a dataset's prefix can be listed
description:
  - Lists the prefix up to a limit and returns its state in the shape of the node facts' C(sources). Nothing is written.
  - Counted is what a manifest holds; hidden names, and names that cannot be served, are left out.
  - A store for which there are no keys is asked only where C(anonymous) says that anybody may read it.
  - Needs boto3, thus the Python that the set-up made.
options:
  source: {description: C(s3://bucket/prefix)., type: str, required: true}
  s3:
    description: "How the store is reached: C(endpoint), C(region), C(path_style), C(ca_file), C(anonymous)."
    type: dict
    default: {}
  access_key: {description: Access key., type: str, default: ""}
  secret_key: {description: Secret key., type: str, default: ""}
  limit: {description: Objects after which counting ends without a result., type: int, default: 2000000}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask the store
  alluxio.fuse.object_store_facts:
    source: s3://training/imagenet
    s3: {endpoint: "https://s3.example.com", path_style: true}
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
    C(state) (ok, empty, missing, denied, unreachable, keyless or contradictory), C(detail), C(files), C(bytes) and
    C(sizes), a histogram with an upper bound, files and bytes for each power of two; the last three are null where the
    listing did not end.
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
}


def ask(params: dict[str, Any]) -> dict[str, Any]:
    """The state of the prefix; whatever the client raises is one of the states."""
    keys = params["access_key"], params["secret_key"]
    if wrong := s3.wrong_keys(params["s3"], *keys):
        return _uncounted(*wrong)
    store = s3.client(params["s3"], *keys)
    sizes, left = Sizes(), params["limit"]
    try:
        for entry in s3.list_bucket(store, params["source"]):
            if entry.is_read:
                sizes.add(entry.size)
            left -= entry.type != FOLDER
            if left < 0:
                return _uncounted("ok", f"more than {params['limit']} objects")
    except Exception as error:  # botocore's hierarchy of errors is made at run time
        code = getattr(error, "response", {}).get("Error", {}).get("Code", "")
        return _uncounted(_STATES.get(code, "unreachable"), str(error))
    state = "ok" if sizes.files else "empty"
    return {"state": state, "detail": None, "files": sizes.files, "bytes": sizes.bytes, "sizes": sizes.rows()}


def _uncounted(state: str, detail: str) -> dict[str, Any]:
    return {"state": state, "detail": detail, "files": None, "bytes": None, "sizes": None}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "str", "required": True},
            "s3": {"type": "dict", "default": {}},
            "access_key": {"type": "str", "default": "", "no_log": True},
            "secret_key": {"type": "str", "default": "", "no_log": True},
            "limit": {"type": "int", "default": 2_000_000},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, source=module.params["source"], facts=ask(module.params))


if __name__ == "__main__":
    main()
