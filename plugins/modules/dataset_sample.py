#!/usr/bin/python
"""Makes the sample dataset."""

from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: dataset_sample
short_description: Makes an ImageNet-shaped sample dataset
description:
  - JPEG files of ImageNet's size distribution in class folders, and TFRecord shards of them.
  - The same seed gives the same bytes.
  - Runs with the Python that the set-up made, since it needs Pillow, google-crc32c and the alluxio_fuse package.
  - An interrupted run is continued. A folder that holds anything else is refused.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Says whether the sample would be made.
options:
  path:
    description: Folder of the sample; nothing else may be in it.
    type: path
    required: true
  images:
    description: Number of JPEG files, 114,660 bytes each in the mean.
    type: int
    default: 4000
  shards:
    description: Number of TFRecord files.
    type: int
    default: 6
  shard_bytes:
    description: Bytes after which a shard is closed.
    type: int
    default: 128000000
  seed:
    description: Seed of everything that is drawn.
    type: int
    default: 2012
"""

EXAMPLES = r"""
- name: Make the sample
  alluxio.fuse.dataset_sample:
    path: /var/lib/alluxio-fuse/sample
"""

RETURN = r"""
path:
  description: The folder.
  type: str
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "images": {"type": "int", "default": 4000},
            "shards": {"type": "int", "default": 6},
            "shard_bytes": {"type": "int", "default": 128_000_000},
            "seed": {"type": "int", "default": 2012},
        },
        supports_check_mode=True,
    )
    try:
        from alluxio_fuse.dataset import sample  # noqa: PLC0415 (a node's Python that lacks it gets a sentence)
    except ImportError as error:
        module.fail_json(msg=f"{error}; set ansible_python_interpreter to the Python of the set-up (.venv/bin/python)")
    folder = Path(module.params["path"])
    shape = sample.Shape(**{key: module.params[key] for key in ("images", "shards", "shard_bytes", "seed")})
    if shape.images < 1:
        module.fail_json(msg=f"images: {shape.images}; at least one image is needed, shards are made of them")
    complete = sample.is_complete(folder, shape)
    if not complete and not module.check_mode:
        try:
            sample.make(folder, shape)
        except (sample.ForeignFolderError, OSError) as error:
            module.fail_json(msg=f"path: {error}")
    module.exit_json(changed=not complete, path=str(folder))


if __name__ == "__main__":
    main()
