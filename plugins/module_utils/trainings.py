"""One run of a training program on one path, with evidence of what was read and from where."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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

#: What becomes of an epoch's digests, a line for each file that was read, and of the files that it was to read.
Proof = Callable[[str, "list[reader.Entry]"], "dict[str, Any]"]


def run(one: dict[str, Any], files: list[reader.Entry], params: dict[str, Any], proof: Proof) -> dict[str, Any]:
    """A run as it went; one whose program failed says why, and has the epochs until then."""
    about = {key: one.get(key) for key in ("name", "path", "kind", "root", "medium", "direct", "round", "loaders")}
    about["at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if one["kind"] == "copy":
        return {**about, **_copied(one, files)}
    epochs: list[dict[str, Any]] = []
    try:
        return {**about, **_trained(one, files, params, proof, epochs), "epochs": epochs}
    except programs.ProgramError as error:
        return {**about, "epochs": epochs, "failed": str(error)}


def _copied(one: dict[str, Any], files: list[reader.Entry]) -> dict[str, Any]:
    begun = time.monotonic()
    copies.make(one["source"], files, Path(one["root"]))
    return {"seconds": time.monotonic() - begun, "bytes": sum(entry.size for entry in files)}


def _trained(
    one: dict[str, Any],
    files: list[reader.Entry],
    params: dict[str, Any],
    proof: Proof,
    epochs: list[dict[str, Any]],
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
        for _ in range(one.get("epochs", params["orders"]["epochs"])):
            told = training.event("epoch")
            epoch = _epoch(told, looked, one, files if root else [])
            epochs.append(epoch | (proof(_read(scratch, told["epoch"]), files) if root else {}))
            looked = _look(one, paths)
            training.go()
        training.finish()  # which may still say why it gave up, or what others wait for
    return {
        "resident_bytes": ready["resident_bytes"],
        "framework": ready["framework"],
        "device": ready["device"],
        "listing_s": listed["seconds"],
        "foreign_cpu": foreign,
        "processors": os.cpu_count() or 1,
    }


def _orders(one: dict[str, Any], root: str | None, files: list[reader.Entry], params: dict[str, Any]) -> Path:
    """The file that the program is started with."""
    told = labels.told(files, params["orders"]) | {"root": root, "shown": params["scratch"]}
    chosen = {key: one[key] for key in ("loaders", "epochs") if one.get(key) is not None}
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


def _read(scratch: Path, number: int) -> str:
    """What all processes of this node have read in an epoch."""
    parts = sorted(path for path in scratch.glob(f"epoch-{number}*") if path.stem == f"epoch-{number}")
    return "".join(path.read_text(encoding="utf-8", errors="surrogateescape") for path in parts)


def _epoch(
    told: dict[str, Any], before: dict[str, Any], one: dict[str, Any], files: list[reader.Entry]
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
    return {key: value for key, value in told.items() if key != "event"} | evidence
