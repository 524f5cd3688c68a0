"""Loads a path into Alluxio's workers and shows how far it is."""

from __future__ import annotations

import json
import time
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress

POLL_S = 3
NO_ROOM = "Status code: 8"  # gRPC's RESOURCE_EXHAUSTED: the worker could give up no block for one that came


class ActionModule(ActionBase):
    """Submits the load and asks for its progress until it ends."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, load: {files, bytes, seconds}}."""
        super().run(tmp, task_vars)
        args = arguments(self._task)
        if self._task.check_mode:
            return {"changed": True, "load": {}}
        started = time.monotonic()
        heading(self._task)
        # a load walks only what has been listed: without this it ends at once, having loaded nothing
        self._call(args, ["loadMetadata", "-R", args["path"]], task_vars)
        self._call(args, ["load", args["path"], "--submit"], task_vars)
        job = self._wait(args, task_vars)
        loaded = {"files": job["mProcessedFileCount"], "bytes": job.get("mLoadedByteCount", 0)}
        return {"changed": loaded["bytes"] > 0, "load": {**loaded, "seconds": time.monotonic() - started}}

    def _wait(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        host = (task_vars or {}).get("inventory_hostname", "")
        last, moved = None, time.monotonic()
        while True:
            text = self._call(args, ["load", args["path"], "--progress", "--format", "JSON"], task_vars)
            job = _parsed(text)
            now = (job["mProcessedFileCount"], job.get("mLoadedByteCount", 0))
            progress(
                f"{host}: into workers: {now[0]} of {args['files']} files, "
                f"{now[1] / 1e6:.0f} of {args['bytes'] / 1e6:.0f} MB"
            )
            if job["mJobState"] == "SUCCEEDED" and not job["mFailedFileCount"]:
                return job
            if job["mJobState"] == "SUCCEEDED":
                progress(f"{host}: into workers: no room for {self._without_room(args, task_vars)} files")
                return job
            if job["mJobState"] in ("FAILED", "STOPPED"):
                reason = job.get("mFailureReason", {}).get("message", f"{job['mFailedFileCount']} files failed")
                raise AnsibleActionFail(f"load of {args['path']}: {job['mJobState'].lower()}: {reason}")
            if now != last:
                last, moved = now, time.monotonic()
            if time.monotonic() - moved > args["timeout_s"]:
                raise AnsibleActionFail(f"load of {args['path']}: no progress for {args['timeout_s']} s")
            time.sleep(POLL_S)

    def _without_room(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> int:
        """How many files found no room in workers that do not hold everything; the task fails where others failed."""
        text = self._call(args, ["load", args["path"], "--progress", "--format", "JSON", "--verbose"], task_vars)
        reasons: dict[str, str] = _parsed(text)["mFailedFilesWithReasons"]
        others = [(file, why) for file, why in reasons.items() if args["whole"] or NO_ROOM not in why]
        if others:
            file, why = others[0]
            raise AnsibleActionFail(f"load of {args['path']}: {len(others)} files failed, {file} for one: {why}")
        return len(reasons)

    def _call(self, args: dict[str, Any], verb: list[str], task_vars: dict[str, Any] | None) -> str:
        answer = self._execute_module(
            module_name="ansible.builtin.command",
            module_args={"argv": [*args["cli"], "fs", *verb]},
            task_vars=task_vars,
        )
        if answer.get("failed") or answer.get("rc"):
            said = answer.get("stderr") or answer.get("stdout") or answer.get("msg", "")
            raise AnsibleActionFail(f"alluxio fs {' '.join(verb)}: {said}")
        return str(answer["stdout"])


def _parsed(text: str) -> dict[str, Any]:
    """Progress as Alluxio prints it: a sentence, then one line of JSON."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            job: dict[str, Any] = json.loads(line)
            return job
    raise AnsibleActionFail(f"alluxio fs load --progress said: {text}")
