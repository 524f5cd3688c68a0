"""The few calls to a Kubernetes API that waiting and telling need, with plain dictionaries in and out."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ansible_collections.alluxio.fuse.plugins.module_utils import forgetting
from kubernetes import client as api
from kubernetes import config
from kubernetes.stream import stream
from urllib3.exceptions import HTTPError

from alluxio_fuse.kubernetes import objects
from alluxio_fuse.kubernetes import pods as told
from alluxio_fuse.status.services import Service, of_pods

Object = dict[str, Any]
Said = Callable[[str], None]
T = TypeVar("T")
POLL_S = 2.0
SPEC = "alluxio-fuse/spec"  # digest of what a pod of ours was made from
LAST_LINES = 15
FORGET_S = "30"
ASK_FUSE = ("stat", "--cached=never")  # the kernel remembers the path for hours, and FUSE would not be asked
# An answer of the master that was under way may bring the former number back: names are forgotten twice.
UNDER_WAY_S = 5.0
PATIENCE_S = 60.0  # with an API server that is being upgraded, or has too much to do


class RolloutError(RuntimeError):
    """What was waited for will not come, or did not in time; the message is the reason."""


class Progress:
    """Says what changes, and knows when nothing new has for too long. What was there before is nothing new: a pod that
    is ready and not, again and again, does not keep us waiting.
    """

    def __init__(self, timeout: float, say: Said) -> None:
        self._timeout, self._say = timeout, say
        self._last, self._known = "", set[str]()
        self._deadline = time.monotonic() + timeout

    def tell(self, line: str) -> None:
        """Say it if it is not what was said last."""
        if line != self._last:
            self._say(line)
        if line not in self._known:
            self._deadline = time.monotonic() + self._timeout
        self._last = line
        self._known.add(line)

    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self._deadline


def patiently(ask: Callable[[], T]) -> T:
    """The answer, also of an API server that does not give one for a while."""
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except (api.ApiException, HTTPError) as error:
            if isinstance(error, api.ApiException) and not (error.status == 429 or (error.status or 0) >= 500):
                raise
            if time.monotonic() > end:
                raise RolloutError(f"the API server has given no answer for {PATIENCE_S:.0f} s: {error}") from None
        time.sleep(POLL_S)


class Cluster:
    """One namespace of a cluster."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str) -> None:
        self._client = config.new_client_from_config(config_file=kubeconfig, context=context)
        self._core = api.CoreV1Api(self._client)
        self._apps = api.AppsV1Api(self._client)
        self._namespace = namespace

    def pods(self, selector: str) -> list[Object]:
        """Pods of a label selector."""
        return self._plain(self._core.list_namespaced_pod(self._namespace, label_selector=selector))

    def logs(self, pod: str, container: str, previous: bool = False, lines: int | None = LAST_LINES) -> str:
        """Last lines of a container; empty when there are none any more."""
        try:
            # without this the client hands back bytes as their Python notation
            answer = self._core.read_namespaced_pod_log(
                pod, self._namespace, container=container, previous=previous, tail_lines=lines, _preload_content=False
            )
        except (api.ApiException, HTTPError):
            return ""
        text: str = answer.data.decode(errors="replace")
        return text

    def run(
        self, wanted: Sequence[Object], until: frozenset[str], timeout: float, say: Said
    ) -> tuple[bool, list[Object]]:
        """Make pods that are missing and wait until each is in one of the phases; (whether any was made, pods)."""
        made: list[str] = []
        try:
            for pod in wanted:
                if not self._is_there(pod):
                    made.append(pod["metadata"]["name"])
                    self._create(pod)
            return bool(made), self._wait({pod["metadata"]["name"] for pod in wanted}, until, timeout, say)
        except BaseException as failure:  # an interrupt, too, leaves nothing behind
            try:
                self.remove(made)
            except (api.ApiException, HTTPError) as error:
                raise RolloutError(f"{failure}\nleft behind: {', '.join(made)}: {error}") from failure
            raise

    def _is_there(self, pod: Object) -> bool:
        """Whether this very pod runs or will; another one of its name, or one that its node has lost, is removed."""
        name = pod["metadata"]["name"]
        try:
            found = self._core.read_namespaced_pod(name, self._namespace)
        except api.ApiException as error:
            if error.status != 404:
                raise
            return False
        same = (found.metadata.annotations or {}).get(SPEC) == _digest(pod["spec"])
        lost = any(one.type == "Ready" and one.status == "False" for one in found.status.conditions or ())
        if same and (found.status.phase == "Pending" or (found.status.phase == "Running" and not lost)):
            return True
        self.remove([name])
        return False

    def _create(self, pod: Object) -> None:
        about = {
            **pod["metadata"],
            "annotations": {**pod["metadata"].get("annotations", {}), SPEC: _digest(pod["spec"])},
        }
        try:
            self._core.create_namespaced_pod(self._namespace, {**pod, "metadata": about})
        except api.ApiException as error:
            raise RolloutError(f"pod {about['name']}: {error.body or error.reason}") from None

    def remove(self, names: Iterable[str]) -> bool:
        """Remove pods and wait until they are gone; whether there were any."""
        there = False
        for name in names:
            try:
                self._core.delete_namespaced_pod(name, self._namespace, grace_period_seconds=0)
                there = True
                while True:
                    self._core.read_namespaced_pod(name, self._namespace)
                    time.sleep(POLL_S / 4)
            except api.ApiException as error:
                if error.status != 404:
                    raise
        return there

    def _wait(self, names: set[str], until: frozenset[str], timeout: float, say: Said) -> list[Object]:
        progress = Progress(timeout, say)
        while True:
            found = [pod for pod in patiently(lambda: self.pods("")) if pod["metadata"]["name"] in names]
            there = [pod for pod in found if pod["status"].get("phase") in until]
            if len(there) == len(names):
                return found
            progress.tell(f"{len(there)} of {len(names)} pods")
            self._give_up(found, progress.late())
            time.sleep(POLL_S / 2)

    def rollout(
        self,
        instance: str,
        timeout: float,
        say: Said,
        replace: Collection[str] = (),
        least: Mapping[str, int] | None = None,
    ) -> dict[str, list[int]]:
        """Wait until every pod of a release is there and ready; {component: [ready, wanted]}. Pods of a former template
        that never came up are replaced first, and those named in `replace`.

        timeout: seconds without progress, since an update goes from node to node. least: as `pods.planned` gives it.
        """
        selector = f"app.kubernetes.io/instance={instance}"
        progress = Progress(timeout, say)
        replaced: set[str] | None = None
        while True:
            controllers = patiently(lambda: self._controllers(f"{selector},app.kubernetes.io/managed-by=Helm"))
            wanted = told.wanted(controllers, least)
            pods = told.of_components(patiently(lambda: self.pods(selector)), wanted)
            if replaced is None:
                named = [pod for pod in pods if pod["metadata"]["name"] in replace]
                replaced = self._replace([*told.outdated(pods, controllers), *named])
            pods = [pod for pod in pods if pod["metadata"]["uid"] not in replaced]
            ready = told.ready(pods)
            state = {name: [ready.get(name, 0), one.count] for name, one in wanted.items()}
            progress.tell(", ".join(told.progress(name, ready.get(name, 0), one) for name, one in wanted.items()))
            rolled_out = wanted and all(one.done for one in wanted.values())
            if rolled_out and all(have >= count for have, count in state.values()):
                return state
            if not wanted and progress.late():
                raise RolloutError(f"no workload is labelled app.kubernetes.io/instance={instance}: is it applied?")
            self._give_up(pods, progress.late())
            time.sleep(POLL_S)

    def _replace(self, pods: Iterable[Mapping[str, Any]]) -> set[str]:
        """Have pods made again by their controller; their uids. Nothing is waited for: one may get the same name."""
        uids = set()
        for pod in pods:
            name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
            uids.add(uid)
            try:
                only = api.V1DeleteOptions(preconditions=api.V1Preconditions(uid=uid))
                self._core.delete_namespaced_pod(name, self._namespace, body=only)
            except api.ApiException as error:
                if error.status not in (404, 409):
                    raise
        return uids

    def behind(self, instance: str) -> list[dict[str, str]]:
        """Pods that are left as they were planned before, until somebody deletes them, as `pods.told_of` gives them."""
        _, _, before = self._release(instance)
        return [told.told_of(pod, instance) for pod in before]

    def rolling(self, instance: str, installed: Sequence[Object], rendered: Sequence[Object]) -> list[dict[str, str]]:
        """Pods that another manifest would have made anew, alike."""
        pods = self.pods(f"app.kubernetes.io/instance={instance}")
        return [told.told_of(pod, instance) for pod in told.of_components(pods, told.rolling(installed, rendered))]

    def key_digests(self, secrets: Collection[str]) -> dict[str, str]:
        """What tells keys in Secrets of these names from others; of those that are there."""
        found = self._plain(self._core.list_namespaced_secret(self._namespace))
        return {
            one["metadata"]["name"]: _digest(one.get("data") or {})
            for one in found
            if one["metadata"]["name"] in secrets
        }

    def handed_keys(self, instance: str) -> dict[str, str] | None:
        """The digests of the keys that master and FUSE were told of last; None before the first time."""
        try:
            found = self._core.read_namespaced_config_map(objects.keys_name(instance), self._namespace)
        except api.ApiException as error:
            if error.status != 404:
                raise
            return None
        return dict(found.data or {})

    def remember_keys(self, instance: str, digests: Mapping[str, str]) -> None:
        """Note the digests of the keys that master and FUSE know now."""
        wanted = objects.handed_keys(instance, self._namespace, digests)
        if self.handed_keys(instance) is None:
            self._core.create_namespaced_config_map(self._namespace, wanted)
        else:
            self._core.replace_namespaced_config_map(wanted["metadata"]["name"], self._namespace, wanted)

    def hand_keys_over(self, instance: str, timeout: float, say: Said) -> None:
        """Have the master told of changed keys at once, then each FUSE forget the number that its mount had before."""
        selector = f"app.kubernetes.io/instance={instance}"
        mounts = [pod["metadata"]["name"] for pod in told.of_components(self.pods(selector), ["mounts"])]
        self.rollout(instance, timeout, say, mounts)
        self._forget(instance, selector, say)
        time.sleep(UNDER_WAY_S)
        self._forget(instance, selector, say)

    def _forget(self, instance: str, selector: str, say: Said) -> None:
        for pod in self.pods(selector):
            about = told.told_of(pod, instance)
            if about["mount_point"] and told.is_ready(pod):
                say(f"{about['node']}: {about['name']} forgets names")
                self._execute(
                    about["pod"],
                    "fuse",
                    ["timeout", FORGET_S, *ASK_FUSE, f"{about['mount_point']}/{forgetting.COMMAND}"],
                )

    def _execute(self, pod: str, container: str, command: Sequence[str]) -> None:
        """Run a command in a container; a RolloutError has what it said if it fails."""
        channel = stream(
            self._core.connect_get_namespaced_pod_exec,
            pod,
            self._namespace,
            container=container,
            command=[*command],
            stdout=True,
            stderr=True,
            _preload_content=False,
        )
        channel.run_forever(timeout=60)
        if channel.returncode != 0:
            raise RolloutError(f"{pod}: {' '.join(command)}: {channel.read_all().strip()}")

    def services(self, instance: str) -> list[Service]:
        """What runs of a release, against what its controllers want."""
        return of_pods(*self._release(instance))

    def _release(self, instance: str) -> tuple[list[Object], list[Object], list[Object]]:
        """Controllers, pods, and those of the pods that are of before."""
        selector = f"app.kubernetes.io/instance={instance}"
        controllers = self._controllers(f"{selector},app.kubernetes.io/managed-by=Helm")
        revisions = self._plain(
            self._apps.list_namespaced_controller_revision(self._namespace, label_selector=selector)
        )
        pods = self.pods(selector)
        return controllers, pods, told.of_before(pods, controllers, revisions)

    def _controllers(self, selector: str) -> list[Object]:
        listings = (
            self._apps.list_namespaced_stateful_set,
            self._apps.list_namespaced_deployment,
            self._apps.list_namespaced_daemon_set,
        )
        return [one for listing in listings for one in self._plain(listing(self._namespace, label_selector=selector))]

    def _give_up(self, pods: list[Object], late: bool) -> None:
        hopeless = told.hopeless(pods)
        if not hopeless and not late:
            return
        logs = {
            f"{pod}, container {container}": self.logs(pod, container, previous)
            for pod, container, previous in told.failing(pods)
        }
        names = {pod["metadata"]["name"] for pod in pods}
        events = patiently(lambda: self._events(names))
        raise RolloutError(told.why(hopeless, events, logs))

    def _events(self, names: set[str]) -> list[Object]:
        """Of these pods, and of everything that makes pods."""
        return [
            {"type": one.type, "reason": one.reason, "message": one.message, "object": one.involved_object.name}
            for one in self._core.list_namespaced_event(self._namespace).items
            if one.involved_object.name in names or one.involved_object.kind != "Pod"
        ]

    def _plain(self, listing: Any) -> list[Object]:
        found: list[Object] = self._client.sanitize_for_serialization(listing)["items"]
        return found


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
