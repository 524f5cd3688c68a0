#!/usr/bin/python
"""Trains once on one path, and collects the evidence of what was read and from where."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    around,
    copies,
    counters,
    disk_counters,
    labels,
    mount_table,
    programs,
    reader,
    residency,
)

DOCUMENTATION = r"""
module: train_run
short_description: Trains on the paths of a dataset, with evidence of what was read and from where
description:
  - Each run starts a training program on one path, drops what the page cache has of its files, and lets it train.
  - The program hashes what its loaders read. After each epoch paths and digests are compared with the manifest.
  - Around each epoch it takes Alluxio's counters and looks at the page cache.
  - A run ends its program whatever happens, also when whoever asked for it is gone, and then empties O(scratch).
  - An action plugin of the same name calls the module once per run and shows each result.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Trains nothing and returns no results.
options:
  manifest:
    description: Manifest of the dataset, made by M(alluxio.fuse.dataset_manifest).
    type: path
    required: true
  scratch:
    description: Folder of the run on the node; orders, digests and the local copy are in it.
    type: path
    required: true
  program:
    description: The program, as C(path), C(python) or C(image).
    type: dict
    required: true
  orders:
    description: What the program is told, as filter P(alluxio.fuse.train_steps#filter) gives it.
    type: dict
    required: true
  runs:
    description:
      - What to do, in order. Keys are C(name), C(path), C(kind) (C(synthetic), C(copy), or C(train)), C(root),
        C(source), C(before) (C(drop), C(forget)), C(metrics), C(medium), C(direct), C(round), C(loaders).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Train on the mount
  alluxio.fuse.train_run:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    scratch: /var/lib/alluxio-fuse/train
    program: {path: /var/lib/alluxio-fuse/train/train_pytorch.py, python: /usr/bin/python3}
    orders: "{{ steps.orders }}"
    runs: "{{ steps.runs }}"
"""

RETURN = r"""
results:
  description: Figures and evidence of each run.
  type: list
  elements: dict
  returned: always
"""


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "path", "required": True},
            "scratch": {"type": "path", "required": True},
            "program": {"type": "dict", "required": True},
            "orders": {"type": "dict", "required": True},
            "runs": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, results=[])
    params, results = module.params, []
    programs.leave_on_signals()
    try:
        _, entries = reader.load(params["manifest"])
        _, files = labels.ordered(entries, params["orders"])
        results = [_run(one, files, params) for one in params["runs"]]
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"{params['manifest']}: {error}")
    except programs.Left:
        shutil.rmtree(params["scratch"], ignore_errors=True)
        raise SystemExit(1) from None
    module.exit_json(changed=False, results=results)


def _run(one: dict[str, Any], files: list[reader.Entry], params: dict[str, Any]) -> dict[str, Any]:
    """A run as it went; one whose program failed says why, and has the epochs until then."""
    about = {key: one.get(key) for key in ("name", "path", "kind", "root", "medium", "direct", "round", "loaders")}
    about["at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if one["kind"] == "copy":
        return {**about, **_copied(one, files)}
    epochs: list[dict[str, Any]] = []
    try:
        return {**about, **_trained(one, files, params, epochs), "epochs": epochs}
    except programs.ProgramError as error:
        return {**about, "epochs": epochs, "failed": str(error)}


def _copied(one: dict[str, Any], files: list[reader.Entry]) -> dict[str, Any]:
    begun = time.monotonic()
    copies.make(one["source"], files, Path(one["root"]))
    return {"seconds": time.monotonic() - begun, "bytes": sum(entry.size for entry in files)}


def _trained(
    one: dict[str, Any], files: list[reader.Entry], params: dict[str, Any], epochs: list[dict[str, Any]]
) -> dict[str, Any]:
    scratch, root = Path(params["scratch"]), one["root"] if one["kind"] == "train" else None
    container = f"alluxio-fuse-train-{os.getpid()}"
    written = _orders(one, root, files, params)
    paths = [f"{root}/{entry.path}" for entry in files] if root else []
    program = {**params["program"], "writable": str(scratch), "gpus": params["orders"]["gpus"]}
    command = programs.command(program, str(written), [root] if root else [], container)
    named = container if program.get("image") else None
    with programs.running(command, scratch / "said", named) as training:
        ready = training.event("ready")
        _empty_page_cache(one, paths)
        foreign = around.foreign_share()
        looked = _look(one, paths)
        training.go()
        listed = training.event("listed")
        looked["disk"] = disk_counters.counters(_on_disk(one))  # names were read until now
        for _ in range(params["orders"]["epochs"]):
            told = training.event("epoch")
            epochs.append(_epoch(told, looked, one, files if root else [], scratch))
            looked = _look(one, paths)
            training.go()
        training.end()
    return {
        "framework": ready["framework"],
        "device": ready["device"],
        "listing_s": listed["seconds"],
        "foreign_cpu": foreign,
        "processors": os.cpu_count() or 1,
    }


def _orders(one: dict[str, Any], root: str | None, files: list[reader.Entry], params: dict[str, Any]) -> Path:
    """The file that the program is started with."""
    told = labels.told(files, params["orders"]) | {"root": root, "shown": params["scratch"]}
    chosen = {"loaders": one["loaders"]} if one.get("loaders") is not None else {}
    path = Path(params["scratch"], "orders.json")
    path.write_text(json.dumps({**told, **chosen}), encoding="ascii")
    return path


def _empty_page_cache(one: dict[str, Any], paths: list[str]) -> None:
    if one.get("before") == "drop":
        residency.drop_caches()
    elif one.get("before") == "forget" and _resident(one, paths):
        # what was never read is in no page cache, and opening it to forget it would warm its name
        residency.forget(paths)


def _resident(one: dict[str, Any], paths: list[str]) -> float | None:
    return residency.resident_share(paths, one.get("look", residency.SAMPLE)) if paths else None


def _look(one: dict[str, Any], paths: list[str]) -> dict[str, Any]:
    """What is known before an epoch."""
    metrics = one.get("metrics") or {}
    return {
        "resident": _resident(one, paths),
        "counters": around.settled(metrics),
        "disk": disk_counters.counters(_on_disk(one)),
        "busy": reader.busy_seconds(),
    }


def _on_disk(one: dict[str, Any]) -> str | None:
    """The folder on a disk that a run reads in the end: of a mount, that of its client cache."""
    folder: str | None = one.get("cache") or one["root"]
    return folder


def _epoch(
    told: dict[str, Any], before: dict[str, Any], one: dict[str, Any], files: list[reader.Entry], scratch: Path
) -> dict[str, Any]:
    busy = reader.busy_seconds() - before["busy"]
    evidence = {
        "cpu_s": busy,
        "disk": disk_counters.difference(before["disk"], disk_counters.counters(_on_disk(one))),
        "resident_before": before["resident"],
        "counters": counters.difference(before["counters"], around.settled(one.get("metrics") or {})),
        "expected_files": len(files),
        "expected_bytes": sum(entry.size for entry in files),
    }
    if files:
        mount = mount_table.mount_of(mount_table.read_mounts(), one["root"])
        evidence["mount"] = {key: mount[key] for key in ("point", "type", "source")}
        evidence |= programs.compare(scratch / f"epoch-{told['epoch']}", files)
    return {key: value for key, value in told.items() if key != "event"} | evidence


if __name__ == "__main__":
    main()
