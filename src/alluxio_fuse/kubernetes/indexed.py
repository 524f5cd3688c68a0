"""Indexed Jobs one after the other, with what they share: made, waited for, and removed whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kubernetes import client as api

from alluxio_fuse.kubernetes.client import POLL_S, Cluster, Object, Progress, RolloutError, Said, patiently

ENDED = ("Succeeded", "Failed")
LOG_S = {"Succeeded": 60.0, "Failed": 3.0}  # seen on a busy node: a pod that had succeeded, and half of its log
SETTLED_S = 10.0  # after which what the scheduler says of a pod is not about pods that just went


def unschedulable(pods: Sequence[Object]) -> list[str]:
    """Why the scheduler finds no node for some pods: GPUs that are not there, or that others have."""
    return [
        f"{pod['metadata']['name']}: {said.get('message', '')}"
        for pod in pods
        for said in pod["status"].get("conditions") or ()
        if said["type"] == "PodScheduled" and said.get("reason") == "Unschedulable"
    ]


def why(pod: Object) -> str:
    """Why a pod ended, where its program did not choose to."""
    said = [pod["status"].get(key, "") for key in ("reason", "message")]
    ends = [(one.get("state") or {}).get("terminated") or {} for one in pod["status"].get("containerStatuses") or ()]
    said += [end["reason"] for end in ends if end.get("reason") not in (None, "Error", "Completed")]
    return " ".join(filter(None, said))


class IndexedJobs(Cluster):
    """Jobs of one selector in a namespace."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str, selector: str) -> None:
        super().__init__(kubeconfig, context, namespace)
        self._batch, self._selector = api.BatchV1Api(self._client), selector

    @contextmanager
    def prepared(self, shared: Sequence[Object]) -> Iterator[None]:
        """With these ConfigMaps and Services, of which nothing stays; what an interrupted run left goes first.

        A RolloutError names a Job that runs: it may be of somebody else's run.
        """
        for job in self._listed(self._batch.list_namespaced_job):
            if job["status"].get("active"):
                name = job["metadata"]["name"]
                raise RolloutError(
                    f"Job {name} runs since {job['status'].get('startTime')}: wait for the run that it is of; or if"
                    f" that was killed, kubectl delete job {name} --namespace {self._namespace}"
                )
        self.clean()
        make: dict[str, Callable[..., Any]] = {
            "ConfigMap": self._core.create_namespaced_config_map,
            "Service": self._core.create_namespaced_service,
        }
        try:
            for one in shared:
                make[one["kind"]](self._namespace, one)
            yield
        finally:
            try:
                self.clean()
            except BaseException:  # an interrupt comes once
                self.clean()
                raise

    def clean(self) -> None:
        """Remove all of them, and wait until their pods are gone."""
        for job in self._listed(self._batch.list_namespaced_job):
            self._drop(self._batch.delete_namespaced_job, job["metadata"]["name"], propagation_policy="Background")
        self.remove(one["metadata"]["name"] for one in self.pods(self._selector))
        for listing, delete in (
            (self._core.list_namespaced_service, self._core.delete_namespaced_service),
            (self._core.list_namespaced_config_map, self._core.delete_namespaced_config_map),
        ):
            for one in self._listed(listing):
                self._drop(delete, one["metadata"]["name"])

    def run_job(
        self, job: Object, timeout: float, say: Said, whole: Callable[[str], bool] = bool
    ) -> tuple[list[dict[str, str]], str]:
        """Run a Job to its end: {node, why, log} of each pod, and why the Job failed, if it did.

        timeout: seconds without progress until all its pods run; how long they do is theirs. whole: whether a log is,
        whose end may come a little later than that of its pod.
        """
        name, count = job["metadata"]["name"], job["spec"]["completions"]
        container = job["spec"]["template"]["spec"]["containers"][0]["name"]
        self._batch.create_namespaced_job(self._namespace, job)
        progress, begun = Progress(timeout, say), time.monotonic()
        while True:
            time.sleep(POLL_S / 2)
            pods = patiently(lambda: self.pods(f"job-name={name}"))
            status = patiently(lambda: self._batch.read_namespaced_job(name, self._namespace)).status
            failed = next((one.message for one in status.conditions or () if one.type == "Failed"), "")
            phases = [pod["status"].get("phase") for pod in pods]
            if failed or (len(pods) == count and all(phase in ENDED for phase in phases)):
                break
            if sum(phase != "Pending" for phase in phases) < count:
                progress.tell(f"{sum(phase != 'Pending' for phase in phases)} of {count} pods")
                if time.monotonic() - begun > SETTLED_S and (reasons := unschedulable(pods)):
                    raise RolloutError("\n".join(reasons))
                self._give_up(pods, progress.late())
        ended = [pod for pod in pods if pod["status"].get("phase") in ENDED]
        found = [
            {
                "node": pod["spec"].get("nodeName", ""),
                "why": why(pod),
                "log": self._log(pod, container, whole),
            }
            for pod in ended
        ]
        self._drop(self._batch.delete_namespaced_job, name, propagation_policy="Background")
        self.remove(pod["metadata"]["name"] for pod in pods)
        return found, failed

    def _log(self, pod: Object, container: str, whole: Callable[[str], bool]) -> str:
        end = time.monotonic() + LOG_S[pod["status"]["phase"]]
        while True:
            text = self.logs(pod["metadata"]["name"], container, lines=None)
            if whole(text) or time.monotonic() > end:
                return text
            time.sleep(POLL_S / 2)

    def _listed(self, listing: Callable[..., Any]) -> list[Object]:
        return self._plain(listing(self._namespace, label_selector=self._selector))

    def _drop(self, delete: Callable[..., Any], name: str, **how: Any) -> None:
        try:
            delete(name, self._namespace, **how)
        except api.ApiException as error:
            if error.status != 404:
                raise


__all__ = ["IndexedJobs", "RolloutError"]
