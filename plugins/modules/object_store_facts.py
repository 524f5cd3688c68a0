#!/usr/bin/python
"""Documents the action plugin of the same name, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: object_store_facts
short_description: ask an object store whether a dataset's prefix can be listed
description:
  - Lists the prefix up to a limit and returns its state in the shape of the node facts' C(sources). Nothing is written.
  - Counted is what a manifest holds; hidden names, and names that cannot be served, are left out.
  - A store for which there are no keys is asked only where C(anonymous) says that anybody may read it, or
    C(credential_chain) that keys are looked for as AWS's clients do.
  - Runs on the controller, in the Python that the set-up made, which has the store's client.
  - It is no module because Ansible masks keys in a module's answer, also where one is a part of a state or a number.
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
  unused:
    description: Names that have keys and that no dataset has. They are told where this source has none.
    type: list
    elements: str
    default: []
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
facts:
  description: >-
    C(state) (ok, empty, missing, denied, unreachable, keyless, unfound, contradictory or tokened), C(detail),
    C(keys_from) (where the credential chain found the keys, only with it), C(files), C(bytes) and C(sizes), a
    histogram with an upper bound, files and bytes for each power of two; the last three are null where the listing did
    not end.
  type: dict
  returned: always
"""
