#!/usr/bin/python
"""Makes the manifest of a dataset."""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest, s3

DOCUMENTATION = r"""
module: dataset_manifest
short_description: Says what a dataset's source holds, with digests
description:
  - Lists a folder or an S3 prefix and computes sha256 of its files, from the source itself and never through a mount.
  - Digests of all files up to O(digest_bytes), else of a seeded sample over the whole set; the manifest says which.
  - Kept while the source is unchanged, which sizes and modification times (or ETags) tell.
  - Left out and counted are links, special files, hidden names, and names with control characters.
  - "Alluxio 2.9.6 cannot serve names with C(?) or C(\\), with characters beyond U+FFFF or not in UTF-8, nor links
    to nothing, out of the source, or to a folder that holds them. O(unreadable_names) says what becomes of them."
  - An S3 source needs boto3, thus the Python that the set-up made.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says whether the manifest would be made again.
options:
  source:
    description: The source, C(file:///folder) or C(s3://bucket/prefix); without it O(path) is looked at.
    type: str
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
  s3:
    description: How the store is reached (C(endpoint), C(region), C(path_style), C(ca_file)).
    type: dict
    default: {}
  access_key:
    description: S3 access key; the bucket is read anonymously without.
    type: str
    default: ''
  secret_key:
    description: S3 secret key.
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
  description: Header of the manifest, with counts, bytes, coverage and id.
  type: dict
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
            "path": {"type": "path", "required": True},
            "digest_bytes": {"type": "int", "default": 16 << 30},
            "unreadable_names": {"type": "str", "choices": ["refuse", "skip"], "default": "refuse"},
            "seed": {"type": "int", "default": 0},
            "processes": {"type": "int", "default": 0},
            "s3": {"type": "dict", "default": {}},
            "access_key": {"type": "str", "default": "", "no_log": True},
            "secret_key": {"type": "str", "default": "", "no_log": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    source, path = params["source"], params["path"]
    old = manifest.saved_header(path)
    if source is None:
        if old is None:
            module.fail_json(msg=f"path: {path} is no manifest; make it first (playbooks/warm.yml does)")
        module.exit_json(changed=False, manifest=old, path=path)
    if module.check_mode and source.startswith("file://") and not os.path.isdir(source[len("file://") :]):  # noqa: PTH112
        module.exit_json(changed=True, manifest={}, path=path)  # what this very run would make before
    try:
        listing, digests, heads = _open(module, source)
        if listing.unreadable:
            _say(module, manifest.unreadable_text(source, listing.unreadable))
        if not listing.files:
            module.fail_json(msg=f"source: {source} holds no file; name the folder or prefix that holds the dataset")
        head = manifest.header(source, listing, params["digest_bytes"], params["seed"])
        head["records"] = manifest.holds_records(listing, heads)
        changed = old is None or old.get("id") != head["id"]
        if changed and not module.check_mode:
            chosen = manifest.sample(listing.files, params["digest_bytes"], params["seed"])
            manifest.save(path, head, listing.files, digests(chosen))
    except Exception as error:  # botocore's hierarchy of errors is made at run time
        module.fail_json(msg=f"source: {source} cannot be read: {error}")
    module.exit_json(changed=changed, manifest=head, path=path)


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


def _open(module: AnsibleModule, source: str) -> tuple[manifest.Listing, manifest.Digests, manifest.Heads]:
    params = module.params
    if source.startswith("s3://"):
        store = s3.client(params["s3"], params["access_key"], params["secret_key"])
        return s3.list_bucket(store, source), s3.object_digests(store, source), s3.object_heads(store, source)
    if source.startswith("file:///"):
        root = source[len("file://") :]
        processes = params["processes"] or len(os.sched_getaffinity(0))
        return manifest.list_folder(root), manifest.folder_digests(root, processes), manifest.folder_heads(root)
    raise ValueError("only file:/// and s3:// are supported")


if __name__ == "__main__":
    main()
