"""Jobs that warm a dataset by themselves, on a schedule, or before a training begins: for users to begin with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ansible_collections.alluxio.fuse.plugins.module_utils import warm_command, warm_tasks

from alluxio_fuse import names, warm
from alluxio_fuse.kubernetes import examples
from alluxio_fuse.kubernetes.objects import Object, on_hosts
from alluxio_fuse.kubernetes.warming import KEPT_S, Resources, about, template
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedDataset

NIGHTLY: Final = "0 4 * * *"
PATIENCE_S: Final = 1800  # after which a training begins, warm or not
_LONGEST_S: Final = 12 * 3600  # of a Job that warms
_TRIES: Final = 2  # for each pod, of a task that cannot finish
_RELEASES: Final = 6  # tries
#: Characters of names: with its index, that of a Job is the hostname of a pod, 63 at most; those of a CronJob have
#: eleven more.
_NAME, _CRON_NAME = 57, 46
_ANYBODY: Final = 1000
_EACH: Final = "alluxio-fuse/warms"  # label of pods of which a node runs one at a time
_UNTOUCHED: Final[Object] = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


class _Share(NamedTuple):
    """What one Job does.

    into: where it brings the files. before: how many pods of other Jobs have shares before its own; of: how many there
    are.
    """

    name: str
    into: str
    hosts: list[str]
    before: int
    of: int


def jobs(plan: Plan, daemonsets: Resources) -> Object:
    """A list, for each dataset, of Jobs that warm it, CronJobs that are suspended, and a training.

    A staged dataset has a Job for each node, others one for each pool of unlike nodes. The training is a suspended Job;
    another one lets it begin as soon as the dataset is warm, so that no GPU waits. A dataset that workers cannot hold
    is left out, unless each node stages all of it.
    """
    made = [one for dataset in plan.datasets for one in _of(plan, dataset, daemonsets)]
    return {"apiVersion": "v1", "kind": "List", "items": [*_account(plan, made), *made]}


def _into(plan: Plan, dataset: PlannedDataset) -> str:
    """Where all of a dataset is warm: on the stage of every node, else in the workers; "" where neither holds it."""
    if all(_is_staged(plan, dataset, host) for host in warm.mounting(plan)):
        return "stage"
    return "workers" if plan.fleet["residency"].amount[dataset.name]["worker"] >= 1 else ""


def _is_staged(plan: Plan, dataset: PlannedDataset, host: str) -> bool:
    """Whether the host has a copy of all of it."""
    return any(one["name"] == dataset.name and not one["budget"] for one in warm.copied(plan, host))


def _of(plan: Plan, dataset: PlannedDataset, daemonsets: Resources) -> Iterator[Object]:
    shares, warms = list(_shares(plan, dataset)), []
    if not shares:
        return
    for share in shares:
        warms.append(names.fitting(share.name, _NAME))
        yield _job(plan, warms[-1], _warming(plan, dataset, share, daemonsets, warms[-1]))
        nightly = names.fitting(f"{share.name}-nightly", _CRON_NAME)
        yield {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": about(plan, nightly),
            "spec": {
                "schedule": NIGHTLY,
                "suspend": True,
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": _warming(plan, dataset, share, daemonsets, nightly)},
            },
        }
    training = examples.job(plan, dataset)
    training["metadata"]["name"] += "-once-warm"
    training["spec"]["suspend"] = True
    yield training
    yield _release(plan, training["metadata"], warms, daemonsets)


def _shares(plan: Plan, dataset: PlannedDataset) -> Iterator[_Share]:
    """What one Job each does: of a staged dataset the copy of one node; of others what the nodes of a pool load.

    Nothing, where neither the stage nor the workers hold all of it.
    """
    hosts, into = warm.mounting(plan), _into(plan, dataset)
    if into == "stage":
        for host in hosts:
            yield _Share(f"warm-{dataset.name}-{host.replace('.', '-')}", into, [host], 0, 1)
    if into != "workers":
        return
    before = 0
    for pool in plan.fleet["pools"].amount:
        if dataset.name in plan.mounts(pool.nodes[0]):
            name = "-".join(filter(None, ("warm", dataset.name, pool.name)))
            yield _Share(name, into, pool.nodes, before, len(hosts))
            before += len(pool.nodes)


def _job(plan: Plan, name: str, spec: Object) -> Object:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about(plan, name), "spec": spec}


def _warming(plan: Plan, dataset: PlannedDataset, share: _Share, daemonsets: Resources, name: str) -> Object:
    """The spec of a Job with a pod for each of the share's nodes, which run apart from each other.

    What a pod loads into workers is told by its index, not by its node: while one is away, others load all.
    """
    command = [
        f"{warm.tasks_folder(plan, share.hosts[0])}/{warm.COMMAND}",
        *("start", "--task=$(JOB)-$(JOB_UID)-$(JOB_COMPLETION_INDEX)", "--carry-out"),
        f"--share=$(JOB_COMPLETION_INDEX)+{share.before}/{share.of}",
        *(f"--into={share.into}", f"--dataset={dataset.name}"),
    ]
    made = template(plan, share.hosts, daemonsets, command, "Never")
    made["metadata"]["labels"][_EACH] = name
    apart = {"labelSelector": {"matchLabels": {_EACH: name}}, "topologyKey": "kubernetes.io/hostname"}
    made["spec"]["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
    (container,) = made["spec"]["containers"]
    for variable, label in (("JOB", "job-name"), ("JOB_UID", "controller-uid")):
        source = {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}
        container["env"].append({"name": variable, "valueFrom": source})
    for_good = [warm_command.REFUSED, warm_command.CODES[warm_tasks.CANCELED]]
    return {
        "ttlSecondsAfterFinished": KEPT_S,
        "activeDeadlineSeconds": _LONGEST_S,
        "backoffLimit": _TRIES * len(share.hosts),
        "podFailurePolicy": {"rules": [_UNTOUCHED, _fails_on(container, *for_good)]},
        "completionMode": "Indexed",
        "completions": len(share.hosts),
        "parallelism": len(share.hosts),
        "template": made,
    }


def _fails_on(container: Object, *codes: int) -> Object:
    """Nobody tries again what ended with one of these."""
    ends = {"containerName": container["name"], "operator": "In", "values": sorted(codes)}
    return {"action": "FailJob", "onExitCodes": ends}


def _release(plan: Plan, training: Object, warms: list[str], daemonsets: Resources) -> Object:
    """A Job that lets the training, of which metadata are told, begin."""
    hosts, into = warm.mounting(plan), plan.fleet["kubernetes"].amount.namespace
    folder = warm.tasks_folder(plan, hosts[0])
    made = template(plan, hosts[:1], daemonsets, [])["spec"]
    arguments = [f"{training['namespace']}/{training['name']}", *(f"--after={into}/{one}" for one in warms)]
    container = {
        "name": "release",
        **{key: made["containers"][0][key] for key in ("image", "imagePullPolicy")},
        "command": ["/usr/bin/python3", f"{folder}/{warm.COMMAND}", "release", f"--wait={PATIENCE_S}", *arguments],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "volumeMounts": [{"name": "programs", "mountPath": folder, "readOnly": True}],
    }
    spec = {
        **{key: made[key] for key in ("imagePullSecrets", "nodeSelector", "tolerations") if key in made},
        "affinity": {"nodeAffinity": on_hosts(hosts)},
        "serviceAccountName": _account_name(plan),
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _ANYBODY,
            "runAsGroup": _ANYBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "programs", "hostPath": {"path": folder, "type": "Directory"}}],
    }
    released = _fails_on(container, warm_command.NOT_WARM)
    return _job(
        plan,
        names.fitting(f"release-{training['name']}", _NAME),
        {
            "ttlSecondsAfterFinished": KEPT_S,
            "backoffLimit": _RELEASES,
            "podFailurePolicy": {"rules": [_UNTOUCHED, released]},
            "template": {"metadata": {"labels": about(plan, "")["labels"]}, "spec": spec},
        },
    )


def _asked(one: Object) -> str:
    """What a Job that releases asks of an object."""
    if one["kind"] != "Job":
        return ""
    if one["spec"].get("suspend"):
        return "patch"
    return "get" if _EACH in one["spec"]["template"]["metadata"]["labels"] else ""


def _account_name(plan: Plan) -> str:
    return f"{plan.name}-warm-release"


def _account(plan: Plan, made: list[Object]) -> list[Object]:
    """The account of Jobs that let others begin: it looks at those that warm, resumes trainings, and nothing else."""
    into, name = plan.fleet["kubernetes"].amount.namespace, _account_name(plan)
    rules: defaultdict[str, list[Object]] = defaultdict(list)
    for one in made:
        if verb := _asked(one):
            resource = {"apiGroups": ["batch"], "resources": ["jobs"], "resourceNames": [one["metadata"]["name"]]}
            rules[one["metadata"]["namespace"]].append({**resource, "verbs": [verb]})
    account: list[Object] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": about(plan, name)}]
    for space, allowed in sorted(rules.items()):
        common: dict[str, Any] = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {**about(plan, name), "namespace": space},
        }
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": into}
        account.append({**common, "kind": "Role", "rules": allowed})
        account.append({**common, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]})
    return account
