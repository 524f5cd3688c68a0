"""Where a deployment's ownership record lies on a node."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of modules that read or write the record."""

    DOCUMENTATION = r"""
options:
  name:
    description: Name of the deployment.
    type: str
    default: alluxio-fuse
  state_dir:
    description: Folder of its ownership record on the node. V(/var/lib/<name>) when not given.
    type: path
"""
