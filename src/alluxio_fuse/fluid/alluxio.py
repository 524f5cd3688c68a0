"""The spec of an AlluxioRuntime. Nothing is decided here: amounts of the plan are put where Fluid wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from alluxio_fuse import names
from alluxio_fuse.chart.reserved import is_reserved
from alluxio_fuse.fluid.objects import image, quantity
from alluxio_fuse.fluid.tiers import levels
from alluxio_fuse.kubernetes.objects import Object, pulled_with
from alluxio_fuse.kubernetes.pods import WEB
from alluxio_fuse.plan.parts import PlannedCache, PlannedTier
from alluxio_fuse.plan.values import Amounts

#: Pods have ports of their own, as those of our chart; Fluid's default is the node's network.
NETWORK: Final = "ContainerNetwork"
#: Of a claim: Fluid's `readOnly` does not reach what it mounts as a volume of master and workers.
READ_ONLY: Final = {"alluxio.master.mount.table.root.readonly": "true"}
#: What our chart says by other means, and Fluid by properties.
_SAID_BY_PROPERTIES: Final = (
    "alluxio.user.client.cache.",
    "alluxio.user.file.readtype.default",
    "alluxio.fuse.jnifuse.libfuse.version",
    "alluxio.web.ui.enabled",
    "alluxio.web.file.info.enabled",
)
#: Where our image looks for certificates of private CAs.
CA_FILE: Final = f"{names.CONF}/ca.pem"
_TRUST: Final = "trust"
_CLIENT_CACHE: Final = "client-cache"


def alluxio_runtime(
    services: Mapping[str, Amounts],
    labels: Mapping[str, Object],
    *,
    whole_image: str,
    masters: int,
    workers: int,
    pull_secrets: list[str],
    trust: str,
    claimed: bool,
) -> Object:
    """The spec. services: amounts of `master`, `job_master`, `worker`, `job_worker` and `fuse` of the plan.

    labels: of the pods of `master`, `worker` and `fuse`, by which we find them. whole_image: name:tag. masters,
    workers: how many. trust: ConfigMap with the CAs of private stores, "" without any. claimed: whether the source is a
    claim.

    Fluid passes neither properties nor JVM options to job masters and job workers: what they need is given to all
    services, and what the others need of their own comes after it.
    """
    worker, fuse = services["worker"], services["fuse"]
    cache: PlannedCache = fuse["client_cache"]
    volumes: list[Object] = []
    if trust:
        volumes.append({"name": _TRUST, "configMap": {"name": trust}})
    if cache.enabled:
        limit = {"medium": "Memory", "sizeLimit": quantity(_whole_mebibytes(fuse["tmpfs_memory"]))}
        volumes.append({"name": _CLIENT_CACHE, "emptyDir": limit})
    ca = [{"name": _TRUST, "mountPath": CA_FILE, "subPath": "ca.crt", "readOnly": True}] if trust else []
    pages = [{"name": _CLIENT_CACHE, "mountPath": cache.path}] if cache.enabled else []
    tiers: list[PlannedTier] = worker["tiers"]
    return {
        "alluxioVersion": image(whole_image),
        "replicas": workers,
        "data": {"replicas": 1, "pin": False},
        "tieredstore": {"levels": levels(tiers, watermarks=False)},
        "properties": {**(READ_ONLY if claimed else {}), **passed_on(services["job_worker"]["properties"])},
        "jvmOptions": [f"-XX:MaxRAMPercentage={_heap_percentage(services)}"],
        "master": {
            **_service(services["master"], labels["master"], ca),
            "env": {"ALLUXIO_USER_JAVA_OPTS": " ".join(services["master"]["command_flags"])},
            "replicas": masters,
        },
        "worker": _service(worker, labels["worker"], ca, _watermarks(tiers)),
        "jobMaster": {"resources": _resources(services["job_master"])},
        "jobWorker": {"resources": _resources(services["job_worker"])},
        "fuse": {
            **_service(fuse, labels["fuse"], pages, _counters()),
            **image(whole_image),
            "args": ["fuse", f"--fuse-opts={','.join(fuse['mount_options'])}"],
            "cleanPolicy": "OnRuntimeDeleted",
            **({"env": fuse["environment"]} if fuse["environment"] else {}),
        },
        **({"volumes": volumes} if volumes else {}),
        **pulled_with(pull_secrets),
    }


def passed_on(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties of a service without those that Fluid derives itself: where pods, ports and folders are."""
    return {
        key: value for key, value in properties.items() if key.startswith(_SAID_BY_PROPERTIES) or not is_reserved(key)
    }


def _service(
    service: Amounts, labels: Object, mounts: list[Object], properties: Mapping[str, str] | None = None
) -> Object:
    return {
        "jvmOptions": list(service["jvm_flags"]),
        "properties": {**passed_on(service["properties"]), **(properties or {})},
        "resources": _resources(service),
        "networkMode": NETWORK,
        "podMetadata": {"labels": labels},
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _resources(service: Amounts) -> Object:
    memory = quantity(_whole_mebibytes(service["container_memory"]))
    requests = {"cpu": f"{service['cpu_request']}m", "memory": memory}
    return {"requests": requests, "limits": {"memory": memory}}


def _heap_percentage(services: Mapping[str, Amounts]) -> int:
    """The heap of job services as a part of their memory; their own JVM options would not reach them."""
    jobs = [services[name] for name in ("job_master", "job_worker")]
    return min(100 * int(job["heap"]) // int(job["container_memory"]) for job in jobs)


def _watermarks(tiers: list[PlannedTier]) -> dict[str, str]:
    """Fluid's controller leaves `high` and `low` of a level unread."""
    found: dict[str, Any] = {}
    for number, medium in enumerate(dict.fromkeys(level["mediumtype"] for level in levels(tiers, watermarks=False))):
        tier = next(one for one in tiers if levels([one], watermarks=False)[0]["mediumtype"] == medium)
        found |= {f"alluxio.worker.tieredstore.level{number}.watermark.high.ratio": str(tier.high)}
        found |= {f"alluxio.worker.tieredstore.level{number}.watermark.low.ratio": str(tier.low)}
    return found


def _counters() -> dict[str, str]:
    """Where FUSE shows its counters, which prove the cache states; and no look-up of each file's owner by name."""
    return {
        "alluxio.fuse.web.enabled": "true",
        "alluxio.fuse.web.bind.host": "0.0.0.0",  # noqa: S104 - the pod's own network
        "alluxio.fuse.web.port": str(WEB["fuse"]),
        "alluxio.fuse.user.group.translation.enabled": "false",
    }


def _whole_mebibytes(size: int) -> int:
    """Rounded up: a limit is no less than its parts."""
    return -(-size // 2**20) * 2**20
