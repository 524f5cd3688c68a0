#!/usr/bin/python
"""Reads files of a dataset in given states of the caches and collects the evidence."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import (
    around,
    counters,
    fio,
    fuse_connection,
    mount_table,
    reader,
    residency,
    training,
)

DOCUMENTATION = r"""
module: read_pass
short_description: Reads files of a dataset, timed and compared with its manifest, with evidence of where the bytes were
description:
  - Each pass reads a slice of the manifest's files below a folder, from open to end to close, in several processes.
  - Around the timed part it takes Alluxio's counters, and before it the page cache residency of the files.
  - What is missing of the page cache by accident is read again before a pass that is to find all of it there.
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
  readers:
    description: Processes that read.
    type: int
    default: 4
  passes:
    description:
      - What to do, in order; an action plugin of the same name calls the module once per pass and shows each result.
      - Keys are C(name), C(path) (C(mount) or C(disk)), C(state), C(root), C(kind), C(first), C(last), C(before)
        (C(drop), C(forget) or empty), C(verify), C(way), C(held), C(agree), C(repeats), C(keep), C(select),
        C(begin_at) (seconds since 1970)
        and C(metrics), where they are others than O(metrics).
      - C(settings) are of the mount's kernel side, as of M(alluxio.fuse.mount_settings), and hold for this pass only.
      - C(agree) repeats a pass until two in a row differ by less than that share, C(repeats) times at most.
    type: list
    elements: dict
    required: true
  seconds:
    description: After so many a pass is given up, whatever it waits for, and those after it are not begun.
    type: float
  budget:
    description:
      - What the passes may cost together, as C(bytes), C(under_store) and C(seconds).
      - The action plugin leaves out those that would go over it.
    type: dict
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
given_up:
  description: Whether the last pass took longer than O(seconds).
  type: bool
  returned: always
budget_left:
  description: What is left of O(budget).
  type: dict
  returned: always
left_out:
  description: Why O(budget) has left the last passes out; empty where they were all made.
  type: str
  returned: always
"""

UNKNOWN_NAMES = 8
IN_PAGE_CACHE = 0.99  # of pages, from where on a pass is one of the page cache
ACCIDENT = 0.9
TOP_UPS = 3


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "manifest": {"type": "path", "required": True},
            "metrics": {"type": "dict", "default": {}},
            "readers": {"type": "int", "default": 4},
            "passes": {"type": "list", "elements": "dict", "required": True},
            "seconds": {"type": "float"},
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, results=[], given_up=False)
    params, results = module.params, []
    if params["seconds"]:
        signal.signal(signal.SIGALRM, _give_up)
        signal.setitimer(signal.ITIMER_REAL, params["seconds"])
    try:
        header, entries = reader.load(params["manifest"])
        for one in params["passes"]:
            own = {key: one[key] for key in ("metrics", "readers") if key in one}
            results.append(measure(one, header, entries, {**params, **own}))
    except GivenUpError:
        module.exit_json(changed=False, results=results, given_up=True)
    except (OSError, ValueError, RuntimeError) as error:
        module.fail_json(msg=f"{params['manifest']}: {error}")
    module.exit_json(changed=False, results=results, given_up=False)


class GivenUpError(Exception):
    """The time for all passes is over."""


def _give_up(*_: Any) -> None:
    raise GivenUpError


def measure(one: dict[str, Any], header: dict[str, Any], entries: list[reader.Entry], params: dict[str, Any]) -> Any:
    """One pass: figures, evidence and comparison, of the last one where it is repeated until two agree."""
    with _settings_of(one):
        result = _repeated(one, header, entries, params)
    named = {key: one[key] for key in ("round", "settings", "process") if key in one}
    return {
        **{key: one.get(key) for key in ("name", "path", "state", "kind", "root", "direct", "medium")},
        **named,
        **result,
    }


@contextmanager
def _settings_of(one: dict[str, Any]) -> Iterator[None]:
    """The kernel's side of the mount as this pass wants it."""
    if "settings" not in one:
        yield
        return
    device = fuse_connection.device_of(one["root"])
    with fuse_connection.control() as control, fuse_connection.for_now(device, one["settings"], control):
        yield


def _repeated(one: dict[str, Any], header: dict[str, Any], entries: list[reader.Entry], params: dict[str, Any]) -> Any:
    files = reader.select(
        header,
        entries,
        reader.Selection(one.get("select", one["kind"]), one.get("first", 0), one.get("last")),
    )
    speeds: list[float] = []
    counted: list[dict[str, Any]] = []
    while True:
        result = _measure(one, reader.shuffled(files, f"{reader.seed_of(header)}/{one['name']}/{len(speeds)}"), params)
        speeds.append(result["mb_per_s"])
        counted.append(result["counters"])
        agreed = len(speeds) > 1 and abs(speeds[-1] - speeds[-2]) <= one.get("agree", 1) * speeds[-2]
        if "agree" not in one or agreed or len(speeds) == one["repeats"]:
            break
    result |= {"repeats_mb_per_s": speeds, "repeats_counters": counted}
    if one.get("verify", True):
        result["verified"] = reader.verify(one["root"], files, params["readers"])
    return result


def _measure(one: dict[str, Any], files: list[reader.Entry], params: dict[str, Any]) -> dict[str, Any]:
    paths = [f"{one['root']}/{entry.path}" for entry in files]
    if one.get("before") == "drop":
        residency.drop_caches()
    elif one.get("before") == "forget":
        residency.forget(paths)
    first = one["state"] == "cold" and not one.get("direct")
    # looking opens a file, so of names that nobody has asked for yet only a few are looked at
    resident = residency.resident_share(paths, UNKNOWN_NAMES if first else residency.SAMPLE)
    if one["state"] == "page-cache":
        resident = _topped_up(one["root"], files, params["readers"], resident)
    before = counters.snapshot(params["metrics"], counters.SOURCES)
    foreign = around.foreign_share()
    ready = time.time()
    time.sleep(max(0.0, one.get("begin_at", 0.0) - ready))
    began = time.time()
    if one.get("way") in fio.PATTERNS:
        result = fio.timed(one["root"], files, params["readers"], one["way"])
    elif one.get("way") == "train":
        result = training.timed(one["root"], files, params["readers"], one["emulated"])
    else:
        result = reader.timed(one["root"], files, params["readers"], one.get("way", "read"), one.get("held", 0))
    ended = time.time()
    after = around.settled(params["metrics"])
    mount = mount_table.mount_of(mount_table.read_mounts(), one["root"])
    return {
        **result,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "ready": ready,
        "began": began,
        "ended": ended,
        "resident_before": resident,
        "foreign_cpu": foreign,
        "counters": counters.difference(before, after),
        "mount": {key: mount[key] for key in ("point", "type", "source")},
    }


def _topped_up(root: str, files: list[reader.Entry], readers: int, resident: float | None) -> float | None:
    """Residency after reading the files again where a few of their pages are gone.

    Linux 6.18 has let go of 1 to 6 % of pages within a second of reading them, with no memory reclaimed and on a quiet
    machine, after one pass of ten; more than that is no accident, and is left as it is found.
    """
    for _ in range(TOP_UPS):
        if resident is None or not ACCIDENT <= resident < IN_PAGE_CACHE:
            break
        reader.timed(root, files, readers, "read", 0)
        resident = residency.resident_share([f"{root}/{entry.path}" for entry in files])
    return resident


if __name__ == "__main__":
    main()
