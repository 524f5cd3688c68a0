#!/usr/bin/python
"""Makes the manifest of a dataset."""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import manifest_making

DOCUMENTATION = r"""
module: dataset_manifest
short_description: Says what a dataset's source holds, with digests
description:
  - Lists a folder or a bucket's prefix and computes sha256 of its files, from the source and never through a mount.
  - Digests of all files up to O(digest_bytes), else of a seeded sample over the whole set; the manifest says which.
  - Other objects of a bucket have their ETag as digest (algorithm C(md5)), if it was the MD5 of each object of the
    sample, and at least 300 were compared. Uploads in parts have none.
  - Kept while the source is unchanged, which sizes, modification times and ETags tell. Where it has changed, or a
    run was interrupted, only files are read whose size and time (or ETag) no earlier manifest has. So an object that
    was written again with the same ETag has a new time in the manifest, and is not read. Remove O(path), and what
    begins with a dot and its name beside it, to have all of them read again.
  - On the controller it shows how far it is with an object store.
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
      The source, C(file:///folder), C(s3://bucket/prefix), C(oss://bucket/prefix), C(hdfs://namenode:port/folder),
      C(nfs://server/export) or C(pvc://claim/folder); without it O(path) is looked at.
    type: str
  folder:
    description: Where the files of a claim, or of an export of NFS, are seen.
    type: path
  path:
    description: File of the manifest (JSON lines).
    type: path
    required: true
  digest_bytes:
    description: Bytes to compute sha256 of.
    type: int
    default: 17179869184
  unreadable_names:
    description: V(refuse) a source that has names which Alluxio cannot serve, or V(skip) these, with a warning.
    type: str
    choices: [refuse, skip]
    default: refuse
  seed:
    description: Seed of the sample, and of the order in which files are measured, cached and staged.
    type: int
    default: 0
  processes:
    description: Processes that compute digests of a folder; every processor when 0.
    type: int
    default: 0
  store:
    description: How the store is reached, as the dataset says in C(s3), C(oss) or C(hdfs).
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
    - Header of the manifest, with counts, bytes, coverage, id and times.
    - "C(etags) counts objects whose ETag was C(compared) with their MD5, those of them with an C(other) one, and the
      C(files) and C(bytes) that have theirs as digest."
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
    try:
        answer = manifest_making.made(module.params, check=module.check_mode, warn=module.warn, say=_quiet)
    except manifest_making.Refused as refused:
        module.fail_json(msg=str(refused))
    module.exit_json(**answer)


def _quiet(_: str) -> None:
    """A module cannot speak while it runs."""


if __name__ == "__main__":
    main()
