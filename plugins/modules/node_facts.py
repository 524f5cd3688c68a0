#!/usr/bin/python
"""Facts of a node that the plan follows from."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node_facts
short_description: Facts of a node that the plan follows from
description:
  - Gathers processors, memory, filesystems, block devices, FUSE, Java, network, GPUs, listeners, mounts, Alluxio that
    others run and what this deployment already owns, in one call and without running setup.
  - Never touches what a FUSE mount serves from its own process, so a dead mount cannot hang it.
options:
  mount_points:
    description: Places whose state is wanted.
    type: list
    elements: path
    default: []
  claims:
    description: Places that the deployment is to have for itself; those that hold what is not its own are told.
    type: list
    elements: path
    default: []
  sources:
    description: Dataset sources. Files of C(file://) ones are counted for at most 20 s; the controller asks others.
    type: list
    elements: str
    default: []
  markers:
    description: "By source, the C(file) that it must hold and the C(sha256) of that file."
    type: dict
    default: {}
  exports:
    description: >-
      Exports of NFS that are dataset sources, each with C(source), C(server), C(path) and C(options): mounted for a
      moment, where no other process sees it, and listed as root and as the user of the services.
    type: list
    elements: dict
    default: []
  key_files:
    description: Files that the user of the services has to read; those that it cannot are told.
    type: list
    elements: path
    default: []
  ports:
    description: TCP ports whose listening process is wanted by name.
    type: list
    elements: int
    default: []
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.ownership
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Gather what the plan follows from
  alluxio.fuse.node_facts:
    mount_points: [/mnt/alluxio-fuse/imagenet/data]
    sources: [file:///data/imagenet]
    ports: [19998, 29999]
  register: node
"""

RETURN = r"""
facts:
  description: The facts; sizes in bytes, times in epoch seconds.
  returned: success
  type: dict
"""

from pathlib import PurePosixPath
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    blockdev,
    claims,
    compositions,
    exports,
    filesystems,
    gpu,
    leftovers,
    manifest,
    mount_table,
    network,
    ownership,
    sources,
    speed,
    system,
    trained,
    tuned,
    units,
)

SOURCE_BUDGET_S = 20.0
SERVICE_UID = 1000  # as whom services read: that of the image


def gather(parameters: dict[str, Any]) -> dict[str, Any]:
    """The facts of this node in the shape of `alluxio_fuse.plan.facts`."""
    state_dir = parameters["state_dir"] or f"/var/lib/{parameters['name']}"
    seen = mount_table.read_mounts()
    record = ownership.load(state_dir, parameters["name"])
    gpus, driver = gpu.read_gpus()
    root = mount_table.mount_at(seen, "/")
    users = [0, SERVICE_UID]
    local = [url for url in parameters["sources"] if url.startswith("file://")]
    return {
        **system.read_system(),
        "containerd_files": units.open_files("containerd.service"),
        "shared_root": bool(root and root["shared"]),
        "filesystems": filesystems.read_filesystems(seen, record),
        "block_devices": blockdev.read_devices(seen),
        "fuse": system.read_fuse(),
        "layers": compositions.can_layer(),
        "java": system.read_java(),
        "network": network.read_interfaces(),
        "gpus": gpus,
        "gpu_driver": driver,
        "listeners": network.read_listeners(set(parameters["ports"])),
        "mounts": [{key: mount[key] for key in ("point", "type", "source", "options")} for mount in seen],
        "mount_points": {path: mount_table.mount_point_state(seen, path) for path in parameters["mount_points"]},
        "taken": claims.taken(record, parameters["claims"], beside(parameters["mount_points"])),
        "sources": {
            url: sources.read_source(url, SERVICE_UID, SOURCE_BUDGET_S, parameters["markers"].get(url)) for url in local
        }
        | {one["source"]: exports.try_export(one, users, SOURCE_BUDGET_S) for one in parameters["exports"]},
        "key_files": sources.unreadable(parameters["key_files"], SERVICE_UID),
        "media_speed": speed.load(state_dir),
        "tuned": tuned.load(state_dir),
        "trained": trained.load(state_dir),
        "leftovers": leftovers.read_leftovers(seen, parameters["mount_points"]),
        "manifests": manifest.saved_sources(f"{state_dir}/manifests"),
        "owned": record,
    }


def beside(mount_points: list[str]) -> list[str]:
    """What may lie above a mount point: itself, and the chart's mark of whose the folder is."""
    return [place for point in mount_points for place in (point, f"{PurePosixPath(point).parent}/.owner")]


def main() -> None:
    """Run as a module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": "alluxio-fuse"},
            "state_dir": {"type": "path"},
            "mount_points": {"type": "list", "elements": "path", "default": []},
            "claims": {"type": "list", "elements": "path", "default": []},
            "sources": {"type": "list", "elements": "str", "default": []},
            "markers": {"type": "dict", "default": {}},
            "exports": {"type": "list", "elements": "dict", "default": []},
            "key_files": {"type": "list", "elements": "path", "default": []},
            "ports": {"type": "list", "elements": "int", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(changed=False, facts=gather(module.params))
    except ownership.RecordError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
