"""What speaks against a cluster with or without Fluid, before anything is made in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from alluxio_fuse.fluid.objects import KINDS, PLURALS
from alluxio_fuse.kubernetes.facts import quantity as units
from alluxio_fuse.kubernetes.objects import Object, is_ours
from alluxio_fuse.plan.refusals import Finding

_INSTALL: Final = (
    "install Fluid 1.0 or newer (its chart is charts/fluid/fluid), or use platform kubernetes, our own chart"
)
_KEYS: Final = ("access_key", "secret_key")
_TEMPORARY: Final = "security_token"
_ENDS: Final = "Fluid mounts the source once, with the keys of that moment, and these end"
_KEEPS: Final = "write keys without a token that can only read, or use platform kubernetes"


def fluid_findings(
    facts: Mapping[str, Any],
    deployment: str,
    *,
    dataset: str,
    runtime: str,
    secrets: Sequence[str],
    temporary: bool,
) -> Iterator[Finding]:
    """Findings on what `FluidClient.facts` returned.

    secrets: that the user names. temporary: whether the keys that the user gives have a token.
    """
    kind = KINDS[runtime]
    missing = [f"{PLURALS[one]}.data.fluid.io" for one in ("Dataset", kind, "DataLoad")]
    missing = [name for name in missing if name not in facts["crds"]]
    if missing:
        yield Finding("alluxio_platform", "fluid", f"the cluster has no {', '.join(missing)}", _INSTALL)
        return
    yield from _controllers(facts, runtime)
    yield from taken_findings(facts, deployment, dataset, kind)
    for secret in secrets:
        yield from _secret(facts["secrets"].get(secret), secret, dataset)
    if temporary:
        yield Finding(f"alluxio_credentials.{dataset}.{_TEMPORARY}", "given", _ENDS, _KEEPS)


def _controllers(facts: Mapping[str, Any], runtime: str) -> Iterator[Finding]:
    for name in ("dataset-controller", f"{runtime}runtime-controller"):
        found = facts["controllers"].get(name)
        chart = f"runtime.{runtime}.enabled" if name.startswith(runtime) else "dataset"
        if found is None:
            yield Finding(
                name, "absent", "nothing would act on the objects", f"upgrade Fluid's release with {chart} on"
            )
        elif not found["replicas"] and not found["wakes"]:
            remedy = f"upgrade Fluid's release with {chart}=true, or kubectl scale deployment/{name} --replicas=1"
            yield Finding(name, "0 replicas", "it is switched off", remedy)
        elif found["replicas"] and not found["ready"]:
            remedy = f"kubectl describe deployment/{name} says why it is not ready"
            yield Finding(name, "not ready", "nothing would act on the objects", remedy)
    if not facts["driver"]:
        yield Finding("CSIDriver fuse.csi.fluid.io", "absent", "no pod could mount a claim of Fluid's", _INSTALL)


def taken_findings(facts: Mapping[str, Any], deployment: str, dataset: str, kind: str) -> Iterator[Finding]:
    """Objects of a Dataset's name that this deployment did not make, or made with another runtime than `kind`."""
    where = "alluxio_datasets[0].name"
    remedy = "name the dataset otherwise, or another namespace in alluxio_kubernetes.namespace"
    for other, one in facts["objects"].items():
        if not is_ours(one["metadata"].get("labels"), deployment):
            yield Finding(
                where, dataset, f"there is a {other} of that name, which this deployment did not make", remedy
            )
        elif other in KINDS.values() and other != kind:
            wanted = "run playbooks/teardown.yml first, then site.yml"
            yield Finding("alluxio_fluid.runtime", kind, f"the Dataset has a {other}", wanted)
    if facts["foreign_claim"]:
        yield Finding(where, dataset, "Fluid makes a claim of that name for readers, and there is another one", remedy)


def _secret(keys: Sequence[str] | None, secret: str, dataset: str) -> Iterator[Finding]:
    where = f"alluxio_kubernetes.secrets.{dataset}"
    if keys is None:
        yield Finding(where, secret, "the namespace has no such Secret", "make it, with access_key and secret_key")
    elif missing := [key for key in _KEYS if key not in keys]:
        reason = f"it has no {' and no '.join(missing)}" + (": half a key pair" if len(missing) == 1 else "")
        yield Finding(where, secret, reason, f"add {' and '.join(missing)} to it")
    elif _TEMPORARY in keys:
        yield Finding(where, secret, f"it has a {_TEMPORARY}: {_ENDS}", _KEEPS)


def quota_findings(facts: Mapping[str, Any], wanted: Sequence[Object], nodes: int) -> Iterator[Finding]:
    """ResourceQuotas of the namespace that the pods of these objects do not fit into, before there are any.

    nodes: on which FUSE runs.
    """
    if facts["objects"]:
        return
    runtime = next(one["spec"] for one in wanted if one["kind"] in KINDS.values())
    counts = {"master": runtime["master"].get("replicas", 1), "worker": runtime["replicas"], "fuse": nodes}
    counts |= {"jobMaster": counts["master"], "jobWorker": counts["worker"]}
    for quota in facts["quotas"]:
        hard, used = quota.get("hard", {}), quota.get("used", {})
        for resource in hard.keys() & {"requests.memory", "requests.cpu"}:
            asked = sum(count * _asked(runtime.get(part, {}), resource) for part, count in counts.items())
            left = _amount(hard[resource]) - _amount(used.get(resource, "0"))
            if asked > left:
                yield Finding(
                    f"ResourceQuota {quota['name']}",
                    f"{resource}: {hard[resource]}, {used.get(resource, '0')} used",
                    f"the pods of this Dataset ask for {asked:g}, and {max(0, left):g} are left",
                    "have the quota raised, or plan less: alluxio_cache_tiers[].budget, alluxio_workload_memory",
                )


def _asked(service: Object, resource: str) -> float:
    asked = service.get("resources", {}).get("requests", {}).get(resource.removeprefix("requests."), "0")
    return _amount(asked)


def _amount(text: str) -> float:
    """A quantity in bytes or processors."""
    if text.endswith("m"):
        return int(text.removesuffix("m")) / 1000
    return float(units(text)) if text.isalnum() else float(text)
