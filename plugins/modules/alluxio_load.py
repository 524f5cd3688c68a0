#!/usr/bin/python
"""Documents the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: alluxio_load
short_description: Loads a path of Alluxio into its workers and shows the progress
description:
  - Loads the metadata of the whole path first, since a load sees only what Alluxio has listed already.
  - Runs on the controller and calls Alluxio's command line on the host; each call starts a JVM, so it asks seldom.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Loads nothing and says that it would.
options:
  cli:
    description: Command line of Alluxio as a list, for example C([podman, exec, alluxio-fuse-master, alluxio]).
    type: list
    elements: str
    required: true
  path:
    description: Path in Alluxio.
    type: str
    required: true
  bytes:
    description: Bytes below the path, to show progress against.
    type: int
    required: true
  files:
    description: Files below the path, to show progress against.
    type: int
    required: true
  whole:
    description:
      - Whether workers hold all that is below the path. Where they do not, a file that finds no room is no error.
    type: bool
    default: true
  timeout_s:
    description: Seconds without progress after which the load has failed.
    type: int
    default: 300
"""

EXAMPLES = r"""
- name: Load the dataset into the workers
  alluxio.fuse.alluxio_load:
    cli: [podman, exec, alluxio-fuse-master, /opt/alluxio/bin/alluxio]
    path: /imagenet
    bytes: 1226978894
    files: 4006
"""

RETURN = r"""
load:
  description: C(files) and C(bytes) that were loaded, and C(seconds).
  type: dict
  returned: success
"""
