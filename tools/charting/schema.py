"""values.schema.json of the chart: strict, so that a misspelt value is refused."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

BOOL: Schema = {"type": "boolean"}
FREE: Schema = {"type": "object"}


def string(pattern: str | None = None, **more: object) -> Schema:
    """A string, of a pattern where one is given."""
    return {"type": "string", **({"pattern": pattern} if pattern else {}), **more}


def integer(minimum: int) -> Schema:
    """A whole number from `minimum` on."""
    return {"type": "integer", "minimum": minimum}


def one_of(*values: object) -> Schema:
    """One of these values."""
    return {"enum": list(values)}


def items(schema: Schema, **more: object) -> Schema:
    """A list."""
    return {"type": "array", "items": schema, **more}


def closed(properties: dict[str, Schema], *required: str, **more: object) -> Schema:
    """An object that has these properties and no others."""
    need = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, "properties": properties, **need, **more}


def exactly_one(*names: str) -> list[Schema]:
    """For `oneOf`: one of these properties is there, and only one."""
    return [{"required": [name]} for name in names]


def ref(name: str) -> Schema:
    """A definition."""
    return {"$ref": f"#/definitions/{name}"}


NAME = ref("name")
SUBDOMAIN = ref("subdomain")
PATH = ref("path")
MEMORY = ref("memory")
SPARE = ref("spare")
LABELS = ref("labels")
DIGEST = string("^[0-9a-f]{64}$")
RELATIVE = string("^[^/].*$")
READ_TYPE = one_of("NO_CACHE", "CACHE", "CACHE_PROMOTE")

DEFINITIONS: dict[str, Schema] = {
    "name": string("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", maxLength=63),
    "subdomain": string(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", maxLength=253),
    "path": string("^/([A-Za-z0-9._-]+/)*[A-Za-z0-9._-]+$"),
    "optionalPath": string("^(/([A-Za-z0-9._-]+/)*[A-Za-z0-9._-]+)?$"),
    "quantity": string("^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$"),
    "memory": string("^[1-9][0-9]*(Mi|Gi|Ti)$"),
    "spare": string("^[0-9]+(Mi|Gi|Ti)$"),
    "cpu": {"anyOf": [string(r"^[0-9]+(m|\.[0-9]+)?$"), {"type": "number", "exclusiveMinimum": 0}]},
    "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "labels": {"type": "object", "additionalProperties": string()},
    "properties": {
        "type": "object",
        "propertyNames": {"pattern": "^[A-Za-z0-9]+([._-][A-Za-z0-9{}]+)+$"},
        "additionalProperties": string("^[^\\n]*$"),
    },
    "amounts": closed({"cpu": ref("cpu"), "memory": MEMORY, "ephemeral-storage": ref("quantity")}),
    "resources": closed(
        {"requests": ref("amounts"), "limits": {"allOf": [ref("amounts"), {"required": ["memory"]}]}}, "limits"
    ),
    "jvm": closed(
        {
            "heap": MEMORY,
            "direct": MEMORY,
            "overhead": MEMORY,
            "collector": one_of("G1", "Z", "Parallel", "Serial", "ConcMarkSweep"),
            "extra": items(string(r"^-[^\s]+$"), uniqueItems=True),
        }
    ),
    "tolerations": items(
        closed(
            {
                "key": string(),
                "operator": one_of("Exists", "Equal"),
                "value": string(),
                "effect": one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
                "tolerationSeconds": integer(0),
            }
        )
    ),
    "affinity": closed({"nodeAffinity": FREE, "podAffinity": FREE, "podAntiAffinity": FREE}),
    "topologySpread": items(
        closed(
            {
                "maxSkew": integer(1),
                "topologyKey": string(minLength=1),
                "whenUnsatisfiable": one_of("DoNotSchedule", "ScheduleAnyway"),
                "minDomains": integer(1),
            },
            "maxSkew",
            "topologyKey",
            "whenUnsatisfiable",
        )
    ),
    "peers": items(closed({"podSelector": FREE, "namespaceSelector": FREE, "ipBlock": FREE}, minProperties=1)),
}

PLACE = {"nodeSelector": LABELS, "tolerations": ref("tolerations")}
POD = {
    **PLACE,
    "affinity": ref("affinity"),
    "podAnnotations": LABELS,
    "podLabels": LABELS,
    "terminationGracePeriodSeconds": integer(1),
}
JAVA = {"jvm": ref("jvm"), "resources": ref("resources"), "properties": ref("properties")}

TIER = closed(
    {
        "medium": one_of("memory", "ssd", "hdd"),
        "quota": MEMORY,
        "high": ref("ratio"),
        "low": ref("ratio"),
        "emptyDir": closed({}),
        "hostPath": closed({"path": PATH, "mountPoint": PATH}, "path"),
        "claim": closed({"storageClass": string()}),
    },
    "medium",
    "quota",
    oneOf=exactly_one("emptyDir", "hostPath", "claim"),
)

#: What a dataset may say otherwise than `fuse` does for all.
FUSE_OF_DATASET = {
    **JAVA,
    "mountOptions": {**items(string("^[a-z_]+(=[A-Za-z0-9._/-]+)?$"), uniqueItems=True), "type": ["array", "null"]},
    "libfuse": one_of(2, 3),
    "readType": READ_TYPE,
    "clientCache": closed(
        {
            "enabled": BOOL,
            "medium": one_of("memory", "ssd", "hdd"),
            "size": MEMORY,
            "pageSize": MEMORY,
            "volumeSize": {"anyOf": [MEMORY, {"type": "null"}]},
            "hostPath": closed({"path": PATH, "mountPoint": PATH}),
        }
    ),
    "pageCache": SPARE,
    "env": LABELS,
    **{key: POD[key] for key in ("nodeSelector", "tolerations", "affinity", "podAnnotations", "podLabels")},
}

#: Who enters a folder.
ENTERED = {"uid": integer(0), "gid": integer(0), "mode": string("^0[0-7]{3}$")}

DATASET = closed(
    {
        "name": {**DEFINITIONS["name"], "maxLength": 30},
        "source": string("^(s3|oss|hdfs)://[^/].*$"),
        "volume": closed(
            {
                "hostPath": PATH,
                "claim": NAME,
                "nfs": closed({"server": string(minLength=1), "path": PATH}, "server", "path"),
                "subPath": RELATIVE,
                "marker": closed({"file": RELATIVE, "sha256": DIGEST}, "file", "sha256"),
            },
            oneOf=exactly_one("hostPath", "claim", "nfs"),
        ),
        "writable": BOOL,
        "freshness": string("^(immutable|within: [1-9][0-9]*(s|m|h|d))$"),
        "readers": closed(ENTERED, *ENTERED),
        "mountParent": closed({"path": PATH, **ENTERED}, "path", *ENTERED),
        "stage": closed(
            {
                "medium": one_of("memory", "ssd", "hdd"),
                "size": MEMORY,
                "hostPath": closed({"path": PATH, "mountPoint": PATH}, "path"),
            },
            "medium",
            "size",
        ),
        "s3": closed(
            {"endpoint": string("^https?://"), "region": string(minLength=1), "pathStyle": BOOL, "anonymous": BOOL}
        ),
        "oss": closed({"endpoint": string("^https?://"), "region": string("^[a-z0-9-]+$")}, "endpoint", "region"),
        "options": ref("properties"),
        "credentials": closed(
            {
                "secret": SUBDOMAIN,
                **dict.fromkeys(("accessKey", "secretKey", "securityToken"), string(minLength=1)),
            },
            "secret",
            "accessKey",
            "secretKey",
        ),
        "claims": items(NAME, uniqueItems=True),
        "fuse": closed(FUSE_OF_DATASET),
    },
    "name",
)

FUSE_OF_POOL = {**FUSE_OF_DATASET, "terminationGracePeriodSeconds": integer(1)}

#: The keeper of staged datasets; only folders and resources differ between pools.
STAGE_OF_POOL = {
    "folders": items(
        closed(
            {
                "path": PATH,
                "readOnly": BOOL,
                "mountPropagation": one_of("Bidirectional", "HostToContainer"),
                "mountPoint": PATH,
            },
            "path",
        )
    ),
    "resources": ref("resources"),
}

#: What nodes unlike the release's own have otherwise than `worker`, `jobWorker`, `fuse` and `datasets[].fuse` say.
POOL = closed(
    {
        "name": {**DEFINITIONS["name"], "maxLength": 30},
        "worker": closed({"tiers": items(TIER, minItems=1), **JAVA, "pageCache": SPARE, **POD}),
        "jobWorker": closed(JAVA),
        "fuse": closed(FUSE_OF_POOL),
        "stage": closed(STAGE_OF_POOL),
        "datasets": {"type": "object", "additionalProperties": closed(FUSE_OF_DATASET)},
    },
    "name",
    "worker",
    "fuse",
)

VALUES: dict[str, Schema] = {
    "nameOverride": string(),
    "fullnameOverride": string(),
    "commonLabels": LABELS,
    "chartDigest": string(),
    "image": closed(
        {
            "repository": string(minLength=1),
            "tag": string(),
            "digest": string("^(sha256:[0-9a-f]{64})?$"),
            "pullPolicy": one_of("Always", "IfNotPresent", "Never"),
            "pullSecrets": items(SUBDOMAIN),
            "kind": one_of("project", "official"),
            "java": one_of(8, 11, 17, 21, 25),
        }
    ),
    "profile": one_of("tuned", "plain", "planned"),
    "properties": ref("properties"),
    "datasets": items(DATASET),
    "rpcPassword": closed({"secret": string(), "key": string(minLength=1)}),
    "awsProfile": closed({"secret": string(), "key": string(minLength=1)}),
    "webIdentity": closed(
        {
            "roleArn": string(r"^(arn:aws[a-z-]*:iam::[0-9]{12}:role/.+)?$"),
            "region": string("^[a-z0-9-]*$"),
            "audience": string(minLength=1),
        }
    ),
    "trust": closed({"configMap": string(), "key": string(minLength=1), "digest": string()}),
    "master": closed(
        {
            "replicas": one_of(1, 3),
            **JAVA,
            "journal": closed({"size": ref("quantity"), "storageClass": string()}),
            "metastore": closed({"size": ref("quantity")}),
            "avoidSpot": BOOL,
            **POD,
            "topologySpread": ref("topologySpread"),
        }
    ),
    "jobMaster": closed(JAVA),
    "worker": closed(
        {
            "kind": one_of("DaemonSet", "StatefulSet"),
            "replicas": integer(1),
            "tiers": items(TIER, minItems=1),
            **JAVA,
            "pageCache": SPARE,
            **POD,
            "topologySpread": ref("topologySpread"),
            "maxUnavailable": {"anyOf": [integer(1), string("^[1-9][0-9]*%$")]},
        }
    ),
    "jobWorker": closed(JAVA),
    "pools": items(POOL),
    "fuse": closed(
        {
            "enabled": BOOL,
            "mountRoot": ref("optionalPath"),
            "settingsPath": ref("optionalPath"),
            **FUSE_OF_DATASET,
            **POD,
            "updateStrategy": one_of("OnDelete", "RollingUpdate"),
            "startupTaint": closed({"enabled": BOOL, "key": string(r"^[^=:\s]+$")}),
        }
    ),
    "csi": closed(
        {
            "enabled": BOOL,
            "claims": items(NAME, uniqueItems=True),
            "kubeletFolder": PATH,
            "resources": ref("resources"),
            **PLACE,
            "affinity": ref("affinity"),
        }
    ),
    "stage": closed(
        {
            "path": ref("optionalPath"),
            "overhead": MEMORY,
            "enabled": BOOL,
            "command": items(string(minLength=1)),
            "env": LABELS,
            "digest": string(),
            **STAGE_OF_POOL,
        }
    ),
    "mounts": closed({"interval": integer(10), "resources": ref("resources"), **PLACE}),
    "shortCircuit": closed({"enabled": BOOL, "path": ref("optionalPath")}),
    "serviceAccount": closed({"annotations": LABELS}),
    "priorityClass": closed(
        {"create": BOOL, "name": string(), "value": {"type": "integer", "minimum": -(2**31), "maximum": 10**9}}
    ),
    "podDisruptionBudget": closed({"enabled": BOOL}),
    "networkPolicy": closed(
        {"enabled": BOOL, "clients": ref("peers"), "metrics": ref("peers"), "checks": ref("peers")}
    ),
    "monitoring": closed(
        {
            "podMonitor": closed({"enabled": BOOL, "interval": string("^[1-9][0-9]*(s|m)$"), "labels": LABELS}),
            "rules": closed({"enabled": BOOL, "labels": LABELS}),
            "dashboard": closed({"enabled": BOOL, "labels": LABELS}),
        }
    ),
    "tests": closed(
        {
            "dataset": string(),
            "bytes": MEMORY,
            "minMBps": integer(0),
            "digests": items(closed({"path": RELATIVE, "sha256": DIGEST}, "path", "sha256")),
        }
    ),
    "extraObjects": items(FREE),
    "global": FREE,
}


def schema() -> Schema:
    """The whole schema, as JSON Schema draft 7 (which every Helm from 3 on reads)."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart alluxio-fuse",
        "definitions": DEFINITIONS,
        **closed(VALUES),
    }
