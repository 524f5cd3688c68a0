"""Trains in pods on several nodes together, and shows every figure as soon as it is there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.alluxio.fuse.plugins.module_utils import labels, programs, reader, train_pod
from ansible_collections.alluxio.fuse.plugins.plugin_utils.tasks import arguments, heading, progress, told_by_api
from ansible_collections.alluxio.fuse.plugins.plugin_utils.trained import line

from alluxio_fuse.adapters import plain
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.intent.work import Train
from alluxio_fuse.train import steps, together

MODULE_UTILS = Path(__file__).resolve().parents[1] / "module_utils"


class ActionModule(ActionBase):
    """Runs on the controller; an interrupt removes what it made."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns {changed, measured: {host, nodes, dataset, facts, results, kept}}; the first refusal ends it."""
        from alluxio_fuse.kubernetes import indexed, objects, training  # noqa: PLC0415 - other platforms lack the package

        super().run(tmp, task_vars)
        args = plain(arguments(self._task))
        if self._task.check_mode:
            return {"changed": False, "measured": {}}
        heading(self._task)
        train, dataset, hosts = Train.model_validate(args["settings"]), args["dataset"], args["nodes"]
        manifest = _manifest(args["manifest"])
        orders = steps.orders(train)
        part = labels.Part(*args["part"])
        facts = labels.about(manifest, orders, part)
        users = [f"{who} on {host}" for host in hosts for who in args["users"].get(host, [])]
        _refuse(steps.early_refusals(train, facts, users, dataset["path"]))
        orders["folder"] = facts["folder"]
        _, files = labels.ordered(manifest, orders, part)
        told = {"files": train_pod.listed(files), "orders": orders, "metrics": args["metrics"]}
        try:
            asked = training.Asked(Plan.load(args["plan"]), hosts, dataset, train)
            made = training.training(asked, told, _sources(args["programs"]))
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        selector = objects.selector_of(made.shared[0]["metadata"]["labels"])
        jobs = indexed.IndexedJobs(args["kubeconfig"], args["context"], args["namespace"], selector)
        where = together.where(hosts)
        programs.leave_on_signals()
        try:
            with told_by_api(), jobs.prepared(made.shared):
                pods, why = jobs.run_job(made.jobs[training.LOOK], args["timeout_s"], progress, together.is_whole)
                facts |= _node_facts(pods, len(hosts), why)
                alone = train.model_copy(update={"local_copy": False})
                _refuse(steps.refusals(alone, facts, users, dataset["path"]))
                results = []
                for one in steps.pod_runs(dataset, train):
                    pods, why = jobs.run_job(made.jobs[one["name"]], args["timeout_s"], progress, together.is_whole)
                    results.append(together.result(one, pods, len(hosts), why, files))
                    progress(f"{where}: {line(results[-1])}")
        except indexed.RolloutError as error:
            raise AnsibleActionFail(str(error)) from None
        about = {"host": where, "nodes": len(hosts), "dataset": dataset["name"], "facts": facts}
        return {"changed": False, "measured": {**about, "results": results, "kept": []}}


def _refuse(refusals: list[str]) -> None:
    if refusals:
        raise AnsibleActionFail("\n".join(refusals))


def _manifest(text: str) -> labels.Manifest:
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        return reader.load(file.name)


def _sources(named: list[str]) -> dict[str, str]:
    """Texts of harness and program, and of what runs around them."""
    from alluxio_fuse.kubernetes import training  # noqa: PLC0415

    ours = {name: MODULE_UTILS / f"{name}.py" for name in training.MODULES}
    theirs = {Path(path).name: Path(path) for path in named}
    return {name: path.read_text(encoding="utf-8") for name, path in {**ours, **theirs}.items()}


def _node_facts(pods: list[dict[str, str]], count: int, why: str) -> dict[str, Any]:
    """What module train_facts says of one node, of all: the least memory, and all processors."""
    if failed := together.failure(pods, count, why):
        return {"cannot_run": failed}
    told = [found for pod in pods if (found := together.told_by(pod["log"]))]
    return {
        "runs": {"resident_bytes": max(one["resident_bytes"] for one in told)},
        "memory": min(one["memory"] for one in told),
        "processors": sum(one["processors"] for one in told),
    }
