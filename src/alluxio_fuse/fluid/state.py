"""What Fluid's controllers say of their objects."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from alluxio_fuse.fluid.objects import KINDS
from alluxio_fuse.kubernetes.objects import Object

#: As `kubectl get dataset` shows them: column, and where it is in the status.
COLUMNS: Final = (
    ("total", "ufsTotal"),
    ("cached", "cacheStates.cached"),
    ("capacity", "cacheStates.cacheCapacity"),
    ("percentage", "cacheStates.cachedPercentage"),
    ("files", "fileNum"),
)
_PHASES: Final = ("master", "worker", "fuse")
#: Where `kubectl apply`, and the module that makes our objects, keep what they were last told.
APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

Objects = Mapping[str, Object]


def reached(found: Objects) -> bool:
    """Whether a Dataset is Bound, its master and workers are Ready, and a DataLoad that runs once is Complete.

    FUSE is started by the first pod that has the claim, so it is not waited for.
    """
    runtime = _status(_runtime(found))
    load = found.get("DataLoad")
    loaded = load is None or load["spec"].get("policy") == "Cron" or _status(load).get("phase") == "Complete"
    ready = runtime.get("masterPhase") == "Ready" and runtime.get("workerPhase") == "Ready"
    return bound(found) and ready and loaded


def bound(found: Objects) -> bool:
    """Whether readers can mount the claim."""
    return _status(found.get("Dataset")).get("phase") == "Bound"


def mounted_by_keys(found: Objects) -> bool:
    """Whether Fluid has mounted a source by keys of a Secret: it does so once."""
    mounts = found["Dataset"]["spec"].get("mounts", []) if "Dataset" in found else []
    return bound(found) and any("encryptOptions" in mount for mount in mounts)


def summary(found: Objects) -> str:
    """One line on how far they are."""
    parts = []
    for kind, one in found.items():
        status = _status(one)
        if kind in KINDS.values():
            phases = " ".join(f"{part} {status.get(f'{part}Phase') or 'unknown'}" for part in _PHASES)
            workers = f"{status.get('workerNumberReady', 0)} of {status.get('desiredWorkerNumberScheduled', 0)} workers"
            parts.append(f"{kind}: {phases}, {workers}")
        else:
            parts.append(f"{kind}: {status.get('phase') or 'not seen by its controller'}")
        if "deletionTimestamp" in one["metadata"]:
            parts[-1] += ", going"
    return "; ".join(parts)


def reasons(found: Objects) -> str:
    """Why they are not there yet, in the words of Fluid's conditions."""
    lines = [summary(found)]
    for kind, one in found.items():
        status = _status(one)
        said = [
            f"{kind} {condition.get('type')}={condition.get('status')}: {condition.get('reason', '')}:"
            f" {condition.get('message', '')}"
            for condition in status.get("conditions") or []
            if condition.get("message")
        ]
        said += [f"{kind} {part}: {status[f'{part}Reason']}" for part in _PHASES if status.get(f"{part}Reason")]
        lines += said or ([] if status else [f"{kind}: no controller has written a status: does its controller run?"])
    return "\n".join(lines)


def blocking(found: Objects, users: Sequence[str], pods: Sequence[str]) -> str:
    """What keeps them from going: pods that have the claim, finalizers, and pods of Fluid's that do not end."""
    if not found:
        return f"pods of Fluid's do not end: {', '.join(pods)}: kubectl describe says why"
    lines = [f"pods with the claim: {', '.join(users)}: end them"] if users else []
    for kind, one in found.items():
        finalizers = one["metadata"].get("finalizers") or []
        what = f"waits for {', '.join(finalizers)}" if finalizers else "was not asked to go"
        lines.append(f"{kind} {one['metadata']['name']} {what}: {reasons({kind: one}).splitlines()[-1]}")
    return "\n".join([*lines, "take no finalizer away by hand while pods of the Dataset run: its caches would stay"])


def columns(found: Objects) -> str:
    """Fluid's own columns and phases, as one line for `status`."""
    status, runtime = _status(found.get("Dataset")), _status(_runtime(found))
    told = [f"{name} {value}" for name, path in COLUMNS if (value := _at(status, path))]
    phases = [f"{part} {runtime.get(f'{part}Phase') or 'unknown'}" for part in _PHASES]
    load = [f"DataLoad {_status(found['DataLoad']).get('phase') or 'Pending'}"] if "DataLoad" in found else []
    return ", ".join([f"Dataset {status.get('phase') or 'absent'}", *told, *phases, *load])


def differing(found: Objects, wanted: Sequence[Object]) -> list[str]:
    """Fields of objects that are there which are to be otherwise, or to go, and which Fluid would not act on.

    It acts on the number of workers alone; what its controllers or the API server added is no difference. A DataLoad
    is made anew.
    """
    acted = {f"{kind}.spec.replicas" for kind in KINDS.values()}
    pairs = [(one, found[one["kind"]]) for one in wanted if one["kind"] in found and one["kind"] != "DataLoad"]
    return [path for one, there in pairs for path in _of_spec(one, there) if path not in acted]


def former_load(found: Objects, wanted: Sequence[Object]) -> bool:
    """Whether a DataLoad is there that is planned otherwise now, or not at all: Fluid runs it as it was made."""
    load = next((one for one in wanted if one["kind"] == "DataLoad"), None)
    return "DataLoad" in found and (load is None or bool(_of_spec(load, found["DataLoad"])))


def _of_spec(wanted: Object, there: Object) -> list[str]:
    """Fields of an object that are to be otherwise, and those that were said once and are not said any more."""
    where = f"{wanted['kind']}.spec"
    told = json.loads((there["metadata"].get("annotations") or {}).get(APPLIED, "{}")).get("spec", {})
    return [*_differences(wanted["spec"], there.get("spec", {}), where), *_gone(told, wanted["spec"], where)]


def _gone(told: Any, wanted: Any, where: str) -> list[str]:
    """Fields that were said, and are not any more; of a list that is of another length, `_differences` tells."""
    if isinstance(told, list) and isinstance(wanted, list):
        pairs = enumerate(zip(told, wanted, strict=False))
        return [path for number, (one, other) in pairs for path in _gone(one, other, f"{where}[{number}]")]
    if not (isinstance(told, dict) and isinstance(wanted, dict)):
        return []
    return [
        path
        for key in told
        for path in (_gone(told[key], wanted[key], f"{where}.{key}") if key in wanted else [f"{where}.{key}"])
    ]


def _differences(wanted: Any, there: Any, where: str) -> list[str]:
    if isinstance(wanted, dict) and isinstance(there, dict):
        return [path for key in wanted for path in _differences(wanted[key], there.get(key), f"{where}.{key}")]
    if isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        pairs = enumerate(zip(wanted, there, strict=True))
        return [path for number, (one, other) in pairs for path in _differences(one, other, f"{where}[{number}]")]
    return [] if wanted == there or (there is None and not wanted) else [where]


def _runtime(found: Objects) -> Object | None:
    return next((found[kind] for kind in KINDS.values() if kind in found), None)


def _status(one: Object | None) -> Mapping[str, Any]:
    return (one or {}).get("status") or {}


def _at(status: Mapping[str, Any], path: str) -> str:
    here: Any = status
    for part in path.split("."):
        here = here.get(part, {}) if isinstance(here, dict) else {}
    return str(here) if here else ""
