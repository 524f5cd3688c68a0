"""Compares the objects of a release with what was installed, or is to be, and makes them so again."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, drift: [line], differences: [{what, now, planned}]}; check mode leaves it as it is."""
        from alluxio_fuse.kubernetes import drift  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        heading(self._task)
        release = drift.Release(args["kubeconfig"], args["context"], args["namespace"])
        wanted = [*args["manifest"], *drift.of_template(args["rendered"])]
        found = release.drift(wanted, repair=not self._task.check_mode)
        if args["release"]:
            found += release.unplanned(args["release"], wanted)
        for one in found:
            progress(str(one))
        told = {"drift": [str(one) for one in found], "differences": [one._asdict() for one in found]}
        return {"changed": bool(found), **told}
