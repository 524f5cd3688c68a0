"""Says which pods of a release are not of what is planned: left as they were, or made anew by another manifest."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments


class ActionModule(ActionBase):
    """Runs on the controller."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed: false, pods: [{name, pod, node, mount_point}]}."""
        import yaml  # noqa: PLC0415 - other platforms do without these packages

        from alluxio_fuse.kubernetes import client  # noqa: PLC0415 - as above

        super().run(tmp, task_vars)
        args = arguments(self._task)
        cluster = client.Cluster(args["kubeconfig"], args["context"], args["namespace"])
        found = cluster.behind(args["release"])
        if args["rendered"]:
            rendered = [one for one in yaml.safe_load_all(args["rendered"]) if one]
            rolling = cluster.rolling(args["release"], args["installed"], rendered)
            found += [one for one in rolling if one not in found]
        return {"changed": False, "pods": found}
