#!/usr/bin/python
"""Makes the manifest of a dataset."""

import os
from collections.abc import Iterable

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    manifest,
    object_stores,
    objects,
    reader,
    source_folder,
)

DOCUMENTATION = r"""
module: dataset_manifest
short_description: Says what a dataset's source holds, with digests
description:
  - Lists a folder or a bucket's prefix and computes sha256 of its files, from the source and never through a mount.
  - Digests of all files up to O(digest_bytes), else of a seeded sample over the whole set; the manifest says which.
  - Kept while the source is unchanged, which sizes and modification times (or ETags) tell.
  - "It has one entry for everything that a reader can name: files, folders, links, hidden and empty ones, each with
    C(type), C(size), C(mode), C(mtime), C(stamp) and, of a file, C(digest)."
  - Check and warm read neither links, special files, hidden names, nor names with control characters; they are counted.
  - "Alluxio 2.9.6 cannot serve names with C(?) or C(\\), with characters beyond U+FFFF or not in UTF-8, nor links
    to nothing, out of the source, or to a folder that holds them. O(unreadable_names) says what becomes of them."
  - An object store needs its client, thus the Python that the set-up made.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says whether the manifest would be made again.
options:
  source:
    description: >-
      The source, C(file:///folder), C(s3://bucket/prefix), C(oss://bucket/prefix) or C(pvc://claim/folder); without it
      O(path) is looked at.
    type: str
  folder:
    description: Of a claim, where its files are seen.
    type: path
  path:
    description: File of the manifest (JSON lines).
    type: path
    required: true
  digest_bytes:
    description: Bytes to compute digests of.
    type: int
    default: 17179869184
  unreadable_names:
    description: V(refuse) a source that has names which Alluxio cannot serve, or V(skip) these, with a warning.
    type: str
    choices: [refuse, skip]
    default: refuse
  seed:
    description: Seed of the sample.
    type: int
    default: 0
  processes:
    description: Processes that compute digests of a folder; every processor when 0.
    type: int
    default: 0
  store:
    description: How the store is reached, as the dataset says in C(s3) or C(oss).
    type: dict
    default: {}
  access_key:
    description: Access key, needed unless C(anonymous) or C(credential_chain) in O(store) is true.
    type: str
    default: ''
  secret_key:
    description: Secret key.
    type: str
    default: ''
  security_token:
    description: Of temporary keys of OSS, the token that STS gave with them.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Make the manifest
  alluxio.fuse.dataset_manifest:
    source: file:///data/imagenet
    path: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
"""

RETURN = r"""
manifest:
  description:
    - Header of the manifest, with counts, bytes, coverage and id.
    - C(sizes) is the histogram of the files that are read, as [upper bound in bytes, files, bytes].
  type: dict
  returned: always
keys_from:
  description: Where the credential chain found the keys that the store was asked with; empty without it.
  type: str
  returned: always
path:
  description: The file.
  type: str
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "source": {"type": "str"},
            "folder": {"type": "path"},
            "path": {"type": "path", "required": True},
            "digest_bytes": {"type": "int", "default": 16 << 30},
            "unreadable_names": {"type": "str", "choices": ["refuse", "skip"], "default": "refuse"},
            "seed": {"type": "int", "default": 0},
            "processes": {"type": "int", "default": 0},
            "store": {"type": "dict", "default": {}},
            "access_key": {"type": "str", "default": "", "no_log": True},
            "secret_key": {"type": "str", "default": "", "no_log": True},
            "security_token": {"type": "str", "default": "", "no_log": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    source, path = params["source"], params["path"]
    old = manifest.saved_header(path)
    if source is None:
        if old is None or old.get("version") != reader.MANIFEST_VERSION:
            wrong = "is no manifest" if old is None else "was made by another version of this bundle"
            module.fail_json(msg=f"path: {path} {wrong}; make it first (playbooks/nodes.yml does)")
        module.exit_json(changed=False, manifest=old, path=path, keys_from="")
    if module.check_mode and source.startswith("file://") and not os.path.isdir(source[len("file://") :]):  # noqa: PTH112
        module.exit_json(changed=True, manifest={}, path=path, keys_from="")  # what this very run would make before
    keys_from = ""
    try:
        keys_from = object_stores.keys_from(params["store"])
        entries, digests, heads = _open(module, source)
        draft = manifest.Draft(source, entries, params["digest_bytes"], params["seed"])
        if draft.unreadable:
            _say(module, manifest.unreadable_text(source, draft))
        if not draft.files:
            module.fail_json(msg=f"source: {source} holds no file; name the folder or prefix that holds the dataset")
        head = draft.header
        head["records"] = manifest.holds_records(draft, heads)
        changed = old is None or old.get("id") != head["id"]
        if changed and not module.check_mode:
            draft.save(path, digests)
    except Exception as error:  # botocore's hierarchy of errors is made at run time
        of_keys = f" (keys from {keys_from})" if keys_from else ""
        module.fail_json(msg=f"source: {source} cannot be read: {object_stores.said(source, error)[1]}{of_keys}")
    module.exit_json(changed=changed, manifest=head, path=path, keys_from=keys_from)


def _say(module: AnsibleModule, unreadable: str) -> None:
    """Refuse names that cannot be served, or warn of them where they are skipped."""
    if module.params["unreadable_names"] == "skip":
        module.warn(f"{unreadable}\n    They are skipped: check and warm leave them out.")
        return
    remedy = (
        "rename or remove them, or write unreadable_names: skip in this dataset's entry of alluxio_datasets:"
        " check and warm then leave them out (docs/support.md, Names and links)"
    )
    module.fail_json(msg=f"{unreadable}\n    do:  {remedy}")


def _open(module: AnsibleModule, source: str) -> tuple[Iterable[manifest.Entry], manifest.Digests, manifest.Heads]:
    params = module.params
    if source.startswith(object_stores.SCHEMES):
        keys = {key: params[key] for key in object_stores.KEYS}
        bucket = object_stores.opened(source, params["store"], keys)
        return objects.entries(bucket), objects.digests(bucket), objects.heads(bucket)
    root = params["folder"] if source.startswith("pvc://") else _path(source)
    if root:
        processes = params["processes"] or len(os.sched_getaffinity(0))
        digests = source_folder.folder_digests(root, processes)
        return source_folder.list_folder(root), digests, source_folder.folder_heads(root)
    raise ValueError("only file:///, s3://, oss://, and pvc:// with a folder are supported")


def _path(source: str) -> str:
    return source[len("file://") :] if source.startswith("file:///") else ""


if __name__ == "__main__":
    main()
