#!/usr/bin/python
"""Reads files of a dataset in given states of the caches and collects the evidence."""

from __future__ import annotations

import os
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import counters, fio, mounts, reader, residency, training

DOCUMENTATION = r"""
module: read_pass
short_description: Reads files of a dataset, timed and compared with its manifest, with evidence of where the bytes were
description:
  - Each pass reads a slice of the manifest's files below a folder, from open to end to close, in several processes.
  - Around the timed part it takes Alluxio's counters, and before it the page cache residency of the files.
  - Timed passes count bytes. Digests are compared right after, untimed, from what the page cache kept of them.
  - The module judges nothing; the evidence is judged on the controller.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Reads nothing and returns no results.
options:
  manifest:
    description: Manifest of the dataset, made by M(alluxio.fuse.dataset_manifest).
    type: path
    required: true
  metrics:
    description: Addresses (C(host:port)) of the web ports of C(fuse), C(worker) and C(master), each a list.
    type: dict
    default: {}
  seed:
    description: Seed of the order that slices are cut from, and of the shuffles.
    type: int
    default: 0
  readers:
    description: Processes that read.
    type: int
    default: 4
  passes:
    description:
      - What to do, in order; an action plugin of the same name calls the module once per pass and shows each result.
      - Keys are C(name), C(path) (C(mount) or C(disk)), C(state), C(root), C(kind), C(first), C(last), C(before)
        (C(drop), C(forget) or empty), C(verify), C(way), C(agree), C(keep), C(select)
        and C(metrics), where they are others than O(metrics).
      - C(agree) repeats a pass until two in a row differ by less than that share, eight times at most.
    type: list
    elements: dict
    required: true
  keep:
    description:
      - Where the action plugin keeps each result as soon as it is there, as C(path), C(dataset) and C(identity) of
        M(alluxio.fuse.measurements); a pass with C(keep) false is not kept.
    type: dict
"""

EXAMPLES = r"""
- name: Read small files from the client cache
  alluxio.fuse.read_pass:
    manifest: /var/lib/alluxio-fuse/manifests/imagenet.jsonl
    metrics: {fuse: ["127.0.0.1:49999"], worker: ["127.0.0.1:30000"]}
    passes:
      - {name: one, path: mount, state: client-cache, root: /mnt/alluxio-fuse/set/data, kind: small, before: drop}
"""

RETURN = r"""
results:
  description: Figures and evidence of each pass.
  type: list
  elements: dict
  returned: always
"""

MOST_REPEATS = 8
LISTEN_S = 0.2  # before each pass, for what others do on this node, and after it, for counters to settle
MOST_WAITS = 5
UNKNOWN_NAMES = 8


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "path", "required": True},
            "metrics": {"type": "dict", "default": {}},
            "seed": {"type": "int", "default": 0},
            "readers": {"type": "int", "default": 4},
            "passes": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, results=[])
    params = module.params
    try:
        header, entries = reader.load(params["manifest"])
        results = [
            measure(one, header, entries, {**params, **{key: one[key] for key in ("metrics", "readers") if key in one}})
            for one in params["passes"]
        ]
    except (OSError, ValueError, RuntimeError) as error:
        module.fail_json(msg=f"{params['manifest']}: {error}")
    module.exit_json(changed=False, results=results)


def measure(one: dict[str, Any], header: dict[str, Any], entries: list[reader.Entry], params: dict[str, Any]) -> Any:
    """One pass: figures, evidence and comparison, of the last one where it is repeated until two agree."""
    files = reader.select(
        header,
        entries,
        params["seed"],
        reader.Selection(one.get("select", one["kind"]), one.get("first", 0), one.get("last")),
    )
    speeds: list[float] = []
    while True:
        result = _measure(one, reader.shuffled(files, f"{params['seed']}/{one['name']}/{len(speeds)}"), params)
        speeds.append(result["mb_per_s"])
        agreed = len(speeds) > 1 and abs(speeds[-1] - speeds[-2]) <= one.get("agree", 1) * speeds[-2]
        if "agree" not in one or agreed or len(speeds) == MOST_REPEATS:
            break
    result["repeats_mb_per_s"] = speeds
    if one.get("verify", True):
        result["verified"] = reader.verify(one["root"], files, params["readers"])
    return {**{key: one.get(key) for key in ("name", "path", "state", "kind", "root", "direct")}, **result}


def _measure(one: dict[str, Any], files: list[reader.Entry], params: dict[str, Any]) -> dict[str, Any]:
    paths = [f"{one['root']}/{entry.path}" for entry in files]
    if one.get("before") == "drop":
        residency.drop_caches()
    elif one.get("before") == "forget":
        residency.forget(paths)
    first = one["state"] == "cold" and not one.get("direct")
    # looking opens a file, so of names that nobody has asked for yet only a few are looked at
    resident = residency.resident_share(paths, UNKNOWN_NAMES if first else residency.SAMPLE)
    before = counters.snapshot(params["metrics"], counters.SOURCES)
    foreign = _foreign_share()
    if one.get("way") == "fio":
        result = fio.timed(one["root"], files, params["readers"])
    elif one.get("way") == "train":
        result = training.timed(one["root"], files, params["readers"], one["emulated"])
    else:
        result = reader.timed(one["root"], files, params["readers"], one.get("way", "read"))
    after = _settled(params["metrics"])
    mount = mounts.mount_of(mounts.read_mounts(), one["root"])
    return {
        **result,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "resident_before": resident,
        "foreign_cpu": foreign,
        "counters": counters.difference(before, after),
        "mount": {key: mount[key] for key in ("point", "type", "source")},
    }


def _settled(metrics: dict[str, Any]) -> dict[str, Any]:
    """Counters when they have stopped growing: a worker counts a stream when it is closed, a little after the read."""
    last = counters.snapshot(metrics, counters.SOURCES)
    for _ in range(MOST_WAITS):
        time.sleep(LISTEN_S)
        now = counters.snapshot(metrics, counters.SOURCES)
        if now == last:
            break
        last = now
    return last


def _foreign_share() -> float:
    """Share of the node's processors that are busy while nothing is read here, so with somebody else's work."""
    busy, begin = reader.busy_seconds(), time.monotonic()
    time.sleep(LISTEN_S)
    return (reader.busy_seconds() - busy) / (time.monotonic() - begin) / (os.cpu_count() or 1)


if __name__ == "__main__":
    main()
