"""The rounds of a bench: the same files through every mount, in turn, by the reader of the check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import mount_table, reader
from ansible_collections.alluxio.fuse.plugins.modules import read_pass
from object_store import ObjectStore
from peers import PEERS, READ_AHEADS

from alluxio_fuse.check import passes
from alluxio_fuse.check.profiles import KINDS
from alluxio_fuse.check.verdict import Check, check

SETTINGS: dict[str, Any] = {"passes": 6, "readers": 4, "bytes": 1 << 32, "disruptive": True}
EXPLAINED = 1000  # small files whose calls are timed one by one
TRIES = 2  # with each read-ahead, in turn: the first one warms


class Measuring:
    """What is read: the deployment `name` as `dataset`, what it is compared with, and the same files on the disk.

    staged: {path of a row: what the check is told of a dataset with the same files that is staged}.
    """

    def __init__(
        self,
        name: str,
        dataset: dict[str, Any],
        staged: Mapping[str, dict[str, Any]],
        disk: Path,
        store: ObjectStore,
    ) -> None:
        """Reads the manifest that the deployment's node keeps."""
        state = Path(f"/var/lib/{name}")
        self.header, self.entries = reader.load(str(state / "manifests/set.jsonl"))
        self.first_reads = json.loads((state / "measurements.json").read_text())["set"]["kept"]["passes"]
        self.dataset = dataset | {"source": f"file://{disk}", "folder": str(disk)}
        self.store = store
        every = [one for path, each in ((None, self.dataset), *staged.items()) for one in self._rounds(path, each)]
        every.sort(key=lambda one: one["round"])
        self.passes = [one for one in every if one["kind"] in KINDS]  # no aim asks for names and sizes

    def prepare(self) -> dict[str, int]:
        """Fills the peers' caches, and gives each the read-ahead (KiB) that suits it; ours has what is planned."""
        chosen = {}
        beside = {other["name"]: other["mount_point"] for other in self.dataset["compare"] if other["name"] in PEERS}
        for name, point in beside.items():
            filled = reader.verify(point, self.entries, SETTINGS["readers"])
            if filled["wrong"]:
                raise SystemExit(f"{name}: {filled['problems'][0]}")
            chosen[name] = self._best_read_ahead(name, point)
        return chosen

    def rounds(self) -> Check:
        """Every pass in order, judged as a check."""
        results = []
        for one in self.passes:
            before = self.store.sent()
            result = self._read(one)
            if one["path"] in PEERS:  # no counters of their own: what the store has sent tells what they fetched
                result["counters"]["under_store"] = self.store.sent() - before
            results.append(result)
            speed = f"{result['files_per_s']:>8.0f} files/s {result['mb_per_s']:>7.0f} MB/s"
            print(f"  {one['name']:<44} {speed}{' WRONG' if result['wrong'] else ''}", flush=True)
        node = {"host": "localhost", "manifest": self.header, "results": results, "kept": self.first_reads}
        made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return check([self.dataset | node], {"min_disk_ratio": 1.0}, SETTINGS, made, {})

    def _rounds(self, path: str | None, dataset: dict[str, Any]) -> list[dict[str, Any]]:
        """The check's rounds; with a path those of the staged copy alone, as rows of that path."""
        of_check = dataset | {"disk_copy": ""}
        every = passes.rounds(self.header, of_check, passes.CheckSettings.model_validate(SETTINGS))
        if path is None:
            return every
        root, asked = dataset["stage"]["path"], {"path": path, "metrics": dataset["metrics"]}
        named = [(one, one["name"].replace("mount", path, 1)) for one in every if one["root"] == root]
        return [one | asked | {"name": name} for one, name in named]

    def small(self) -> list[str]:
        """Paths of small files, in the seeded order."""
        chosen = reader.select(self.header, self.entries, reader.Selection("small", 0, EXPLAINED))
        return [entry.path for entry in chosen]

    def _read(self, one: dict[str, Any]) -> dict[str, Any]:
        metrics = one.get("metrics", self.dataset["metrics"])
        params = {"readers": SETTINGS["readers"], "metrics": metrics}
        result: dict[str, Any] = read_pass.measure(one, self.header, self.entries, params)
        return result

    def _best_read_ahead(self, name: str, point: str) -> int:
        device = mount_table.mount_at(mount_table.read_mounts(), point)["device"]
        setting = Path(f"/sys/class/bdi/{device}/read_ahead_kb")
        wanted = (name, "large", "drop")
        one = next(o for o in self.passes if (o["path"], o["kind"], o["before"]) == wanted) | {"verify": False}
        speeds = dict.fromkeys(READ_AHEADS, 0)
        for candidate in READ_AHEADS * TRIES:
            setting.write_text(str(candidate))
            speeds[candidate] = max(speeds[candidate], round(self._read(one)["mb_per_s"]))
        best = max(speeds, key=lambda candidate: speeds[candidate])
        setting.write_text(str(best))
        print(f"{name}: large files, MB/s by read-ahead in KiB: {speeds}", flush=True)
        return best
