"""Has the master told of changed keys of object stores, and FUSE forget what it knows of the mount from before."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress


class ActionModule(ActionBase):
    """Runs on the controller. What was handed over is noted last, so that a run that was interrupted is made up for."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed}; check mode hands nothing over."""
        from alluxio_fuse.kubernetes import client  # noqa: PLC0415 - other platforms do without the package

        super().run(tmp, task_vars)
        args = arguments(self._task)
        release = args["release"]
        cluster = client.Cluster(args["kubeconfig"], args["context"], args["namespace"])
        digests, known = cluster.key_digests(args["secrets"]), cluster.handed_keys(release)
        if digests == known:
            return {"changed": False}
        if not self._task.check_mode:
            try:
                if known is not None:
                    heading(self._task)
                    cluster.hand_keys_over(release, args["timeout_s"], progress)
            except client.RolloutError as error:
                raise AnsibleActionFail(str(error)) from None
            cluster.remember_keys(release, digests)
        return {"changed": True}
