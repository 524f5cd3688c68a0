"""Turns a node's amounts into the containers of the `containers` platform, and the folders and files they need."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from alluxio_fuse import names
from alluxio_fuse.plan import Plan, credential_chain
from alluxio_fuse.plan.intent.nodes import Aws
from alluxio_fuse.plan.parts import PlannedCache, PlannedDataset
from alluxio_fuse.plan.rules.properties import AUTHENTICATION
from alluxio_fuse.plan.values import Amounts, amounts

#: Service kind: the image's verb, and the variable that carries its JVM options. Order is the starting order.
#: A worker keeps what it cached (`--no-format`); what belongs to another cluster the image discards by itself.
_SERVICES = {
    "master": (["master-only"], "ALLUXIO_MASTER_JAVA_OPTS"),
    "job_master": (["job-master"], "ALLUXIO_JOB_MASTER_JAVA_OPTS"),
    "worker": (["worker-only", "--no-format"], "ALLUXIO_WORKER_JAVA_OPTS"),
    "job_worker": (["job-worker"], "ALLUXIO_JOB_WORKER_JAVA_OPTS"),
    "fuse": (["fuse"], "ALLUXIO_FUSE_JAVA_OPTS"),
}

#: Services that talk to the under store: they see its folders (read-only). Keys come with each mount, from the master,
#: or are found by the credential chain.
_UNDER_STORE_SERVICES = frozenset({"master", "job_master", "worker", "job_worker"})

#: Names the file with the settings of the kernel's side of the mount, which whoever mounts sets.
SETTINGS_VARIABLE = "ALLUXIO_FUSE_SETTINGS"
#: What to do where a container of others has a name that a service needs.
RENAME = "podman rename it, remove it, or choose another alluxio_name"
_PASSWORD_FILE = "rpc-password"  # noqa: S105 - a name
_LABEL = "alluxio-fuse.digest"
_JAVA_OPTS = "ALLUXIO_JAVA_OPTS"  # added to those of the service
_SERVICE_USER = 1000


@dataclass(frozen=True)
class Container:
    """One container: everything the engine is told, and the site file it is started with.

    `memory` is in bytes, `under_store` whether it reads the under store. Of a FUSE container `mount_parent` (`{path,
    uid, gid, mode}`) is the folder above its mount point, and `client_cache` the folder of its client cache, if it has
    one. `digest`, in the dictionary, changes with anything for which a running container must be replaced.
    """

    name: str
    service: str
    command: list[str]
    user: str
    memory: int
    nofile: int
    env: dict[str, str]
    volumes: list[str]
    conf_dir: str
    properties: dict[str, str]
    under_store: bool
    ready: dict[str, Any]
    mount_point: str = ""
    mount_parent: dict[str, Any] | None = None
    client_cache: str = ""
    devices: list[str] = field(default_factory=list)
    cap_add: list[str] = field(default_factory=list)


def ca_files(plan: Plan) -> list[str]:
    """Files on the controller with the private CAs of object stores, each once."""
    stores = [dataset.s3 for dataset in plan.datasets if dataset.s3]
    return sorted({store["ca_file"] for store in stores if store["ca_file"]})


def containers(plan: Plan, host: str) -> list[dict[str, Any]]:
    """The containers of `host` in starting order: :class:`Container` as a dictionary, with its `digest`."""
    made = [_container(plan, host, service) for service in _in_order(plan.nodes[host])]
    return [{**one, "digest": digest(one, plan.fleet["image"].amount)} for one in map(asdict, made)]


def tier_bytes(plan: Plan) -> int:
    """Bytes that all workers of a plan may hold."""
    return sum(tier.quota for worker in plan.each("worker") for tier in worker["tiers"].amount)


def folders(services: Sequence[Mapping[str, Any]], state_dir: str) -> list[dict[str, Any]]:
    """Folders of a host that containers write to or readers enter, as items of the module `files`.

    The media that caches lie on, and mount points, are made elsewhere.
    """
    return _filled(services, state_dir) + _entered(services)


def owned_items(services: Sequence[Mapping[str, Any]], state_dir: str) -> list[dict[str, Any]]:
    """What the containers platform makes on a host, as items of the ownership record, in the order of making."""
    points = [service["mount_point"] for service in services if service["mount_point"]]
    parents = [service["mount_parent"]["path"] for service in services if service["mount_parent"]]
    items = [("directory", folder["path"], True) for folder in _filled(services, state_dir)]
    items += [("directory", folder["path"], False) for folder in _entered(services)]
    items += [("directory", point, False) for point in points]
    items += [("mount", parent, False) for parent in parents]
    items += [("container", service["name"], False) for service in services]
    return [
        owned_item("platform_containers", kind, key, contents, key in {*parents, *points})
        for kind, key, contents in items
    ]


def owned_item(role: str, kind: str, key: str, contents: bool, new: bool) -> dict[str, Any]:
    """An item of the ownership record; `new`: refused where it is there before us and not empty, as with `contents`."""
    return {"kind": kind, "id": key, "data": {"role": role, "contents": contents, **({"new": True} if new else {})}}


def left(owned: Sequence[Mapping[str, Any]], services: Sequence[Mapping[str, Any]], deployment: str) -> dict[str, Any]:
    """Containers, or units, of the ownership record that are not planned any more, and the folders of their datasets.

    Returns {items: of the record, in its order, mount_points: of the datasets}. The rest of the record stays, above all
    the journal of a host that was a master.
    """
    planned, prefix = {service["name"] for service in services}, f"{deployment}-fuse-"
    gone = [item for item in owned if item["kind"] in ("container", "unit") and item["id"] not in planned]
    fuse = [item["id"].removesuffix(".service") for item in gone if item["id"].startswith(prefix)]
    datasets = [name.removeprefix(prefix) for name in fuse]
    points = [names.mount_point(deployment, dataset) for dataset in datasets]
    theirs = {*points, *(names.mount_parent(deployment, dataset) for dataset in datasets)}

    def is_theirs(path: PurePosixPath) -> bool:
        cache = path.parent.name == "client-cache" and str(path.parent) != names.state_dir(deployment)
        return str(path) in theirs or (cache and path.name in datasets)

    folders = [
        item for item in owned if item["kind"] in ("directory", "mount") and is_theirs(PurePosixPath(item["id"]))
    ]
    return {"items": [*folders, *gone], "mount_points": points}


def site_file(service: Mapping[str, Any], credentials: Mapping[str, Mapping[str, str]]) -> str:
    """The text of alluxio-site.properties; FUSE that reads an object store itself has its dataset's keys there."""
    properties = dict(service["properties"])
    keys = credentials.get(service.get("dataset", ""))
    if keys and service["under_store"]:
        properties |= {"s3a.accessKeyId": keys["access_key"], "s3a.secretKey": keys["secret_key"]}
    return "".join(f"{key}={_escaped(value)}\n" for key, value in sorted(properties.items()))


def site_files(
    services: Sequence[Mapping[str, Any]],
    credentials: Mapping[str, Mapping[str, str]],
    authorities: Sequence[str] = (),
    password: str = "",
) -> list[dict[str, Any]]:
    """What the configuration folders of services hold, as items of the module `files`.

    services: of the platform `containers`, whose master is told keys while it runs, or units of the platform `host`.
    authorities: texts of the private CAs, for those that read the under store. password: that of the deployment, for
    those that answer, or ask, with it alone.
    """
    items = []
    for service in services:
        uid, gid = map(int, service.get("user", "0:0").split(":"))
        text = site_file(service, credentials)
        items.append({"path": service["conf_dir"], "mode": "0755"})
        path = f"{service['conf_dir']}/alluxio-site.properties"
        items.append({"path": path, "content": text, "uid": uid, "gid": gid, "mode": "0600"})
        if _has_password(service["properties"]):
            path = f"{service['conf_dir']}/{_PASSWORD_FILE}"
            items.append({"path": path, "content": password, "uid": uid, "gid": gid, "mode": "0400"})
        if authorities and service["under_store"]:
            text = "\n".join(authorities)
            items.append({"path": f"{service['conf_dir']}/ca.pem", "content": text, "mode": "0644"})
    return items


def redeclared(services: Sequence[Mapping[str, Any]], declared: Mapping[str, str]) -> list[dict[str, str]]:
    """Where FUSE forgets names, as `mounts` of the module `fuse_forget`: of those that can be told to.

    declared: by Alluxio path, the digest of what is mounted there, as the module `namespace_mounts` returns it.
    """
    return [
        {"mount_point": one["mount_point"], "note": f"{one['conf_dir']}/mount", "declared": declared[path]}
        for one in services
        if one["properties"].get("alluxio.fuse.special.command.enabled") == "true"
        and (path := one["command"][-1]) in declared
    ]


def rewritten(services: Sequence[Mapping[str, Any]], paths: Sequence[str]) -> list[str]:
    """Names of the services whose configuration changed, of paths that the module `files` told."""
    return [one["name"] for one in services if any(path.startswith(f"{one['conf_dir']}/") for path in paths)]


def started_again(
    services: Sequence[Mapping[str, Any]],
    found: Sequence[Mapping[str, Any]],
    images: Sequence[Mapping[str, Any]],
    paths: Sequence[str],
) -> list[str]:
    """Names of running containers that a run would end and start: arguments as of `outdated` and `rewritten`."""
    running = {one["Name"].removeprefix("/") for one in found if one["State"]["Status"] == "running"}
    return [*outdated(services, found, images), *(name for name in rewritten(services, paths) if name in running)]


def is_of(found: Mapping[str, Any], service: Mapping[str, Any]) -> bool:
    """Whether a container, as `podman inspect` tells it, was made for a service as it is planned now."""
    return bool((found["Config"].get("Labels") or {}).get(_LABEL) == service["digest"])


def of_others(found: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Of containers, as `podman inspect` tells them, those that no deployment made: {name, state, image}."""
    return [
        {"name": one["Name"].removeprefix("/"), "state": one["State"]["Status"], "image": one["ImageName"]}
        for one in found
        if _LABEL not in (one["Config"].get("Labels") or {})
    ]


def names_taken(found: Sequence[Mapping[str, Any]]) -> str:
    """What is said of containers that others made, where ours are to be; nothing where there are none."""
    return "\n".join(
        f"{one['name']} ({one['state']}, of {one['image']}) is a container that this deployment did not make: {RENAME}"
        for one in of_others(found)
    )


def outdated(
    services: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], images: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Names of containers that run, and run something else than planned.

    found: what `podman inspect` says of them; images: what it says of the planned image, nothing where it is not there.
    """
    there = {one["Name"].removeprefix("/"): one for one in found if one["State"]["Status"] == "running"}
    image = {one["Id"] for one in images}
    return [
        one["name"]
        for one in services
        if (have := there.get(one["name"])) and (not is_of(have, one) or have["Image"] not in image)
    ]


def reimaged(
    services: Sequence[Mapping[str, Any]], found: Sequence[Mapping[str, Any]], images: Sequence[Mapping[str, Any]]
) -> bool:
    """Whether the master of this host was made from another image than planned; arguments as of `outdated`."""
    masters = [one["name"] for one in services if one["service"] == "master"]
    image = {one["Id"] for one in images}
    return any(one["Name"].removeprefix("/") in masters and one["Image"] not in image for one in found)


def restoring(services: Sequence[Mapping[str, Any]], backup: str) -> list[dict[str, Any]]:
    """The master as it begins with an empty journal and a backup, a file of the host; as planned, it is another."""
    return [
        {
            **one,
            "digest": "restoring",
            "volumes": [*one["volumes"], f"{backup}:{backup}:ro"],
            "env": {**one["env"], _JAVA_OPTS: f"-Dalluxio.master.journal.init.from.backup=file://{backup}"},
        }
        for one in services
        if one["service"] == "master"
    ]


def last_words(results: Sequence[Mapping[str, Any]]) -> str:
    """The last log lines of each service, from asking the engine or the journal for them; check mode asks nobody."""
    parts = [
        f"{result['item']['name']}:\n{result.get('stdout', '')}\n{result.get('stderr', '')}".rstrip()
        for result in results
    ]
    return "A service did not come up in time. What was said last:\n\n" + "\n\n".join(parts)


def digest(service: Mapping[str, Any], image: str) -> str:
    """What tells a container or unit, as a dictionary, from one that was planned otherwise."""
    text = json.dumps({**service, "image": image}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _in_order(services: Iterable[str]) -> list[str]:
    order = list(_SERVICES)
    ours = [name for name in services if name.partition("/")[0] in _SERVICES]
    return sorted(ours, key=lambda name: (order.index(name.partition("/")[0]), name))


def _container(plan: Plan, host: str, service: str) -> Container:
    kind, _, dataset = service.partition("/")
    verb, java_opts = _SERVICES[kind]
    mine, state_dir = amounts(plan.nodes[host][service]), plan.nodes[host]["node"]["state_dir"].amount
    container_name = f"{plan.name}-{kind.replace('_', '-')}" + (f"-{dataset}" if dataset else "")
    conf_dir = f"{state_dir}/conf/{container_name}"
    under_store = kind in _UNDER_STORE_SERVICES
    aws: Aws = plan.fleet["aws"].amount if "aws" in plan.fleet else Aws()
    conf = [f"{conf_dir}/alluxio-site.properties:{names.CONF}/alluxio-site.properties:ro"]
    if under_store and ca_files(plan):
        conf.append(f"{conf_dir}/ca.pem:{names.CONF}/ca.pem:ro")
    if _has_password(mine["properties"]):
        conf.append(f"{conf_dir}/{_PASSWORD_FILE}:{names.CONF}/{_PASSWORD_FILE}:ro")
    return Container(
        name=container_name,
        service=service,
        command=[*verb, *_arguments(kind, mine)],
        user=mine["user"],
        memory=mine["container_memory"],
        nofile=mine["nofile"],
        env={
            java_opts: " ".join(mine["jvm_flags"]),
            **mine.get("environment", {}),
            **_settings(kind, mine),
            **(credential_chain.environment(aws) if under_store else {}),
        },
        volumes=[
            *conf,
            *_storage(kind, mine, state_dir),
            *(_source_folders(plan) if under_store else []),
            *(f"{path}:{path}:ro" for path in (credential_chain.folders(aws) if under_store else [])),
        ],
        conf_dir=conf_dir,
        properties=mine["properties"],
        under_store=under_store,
        ready=_ready(kind, mine),
        mount_point=mine["mount_point"] if kind == "fuse" else "",
        mount_parent=mine["mount_parent"] if kind == "fuse" else None,
        client_cache=_client_cache(mine) if kind == "fuse" else "",
        devices=["/dev/fuse"] if kind == "fuse" else [],
        cap_add=["SYS_ADMIN"] if kind == "fuse" else [],
    )


def _has_password(properties: Mapping[str, str]) -> bool:
    return properties.get(AUTHENTICATION) == "CUSTOM"


def _arguments(kind: str, mine: Amounts) -> list[str]:
    if kind != "fuse":
        return []
    return [f"--fuse-opts={','.join(mine['mount_options'])}", mine["mount_point"], mine["alluxio_path"]]


def _storage(kind: str, mine: Amounts, state_dir: str) -> list[str]:
    """What a service writes, at the same path inside as outside, so that one path means one thing everywhere."""
    namespace = f"{state_dir}/namespace"
    if kind == "master":
        return _same(f"{state_dir}/journal", namespace)
    if kind == "worker":
        return _same(*(tier.path for tier in mine["tiers"]), namespace)
    if kind == "fuse":
        cache, parent = _client_cache(mine), mine["mount_parent"]["path"]
        settings = str(PurePosixPath(mine["settings_file"]).parent)
        return [f"{parent}:{parent}:rshared", f"{settings}:{settings}:ro", *(_same(cache) if cache else [])]
    return _same(namespace)


def _settings(kind: str, mine: Amounts) -> dict[str, str]:
    return {SETTINGS_VARIABLE: mine["settings_file"]} if kind == "fuse" else {}


def _client_cache(fuse: Amounts) -> str:
    cache: PlannedCache = fuse["client_cache"]
    return cache.path or ""


def _same(*paths: str) -> list[str]:
    return [f"{path}:{path}" for path in paths]


def _source_folders(plan: Plan) -> list[str]:
    """Sources are read-only for the engine, too: whatever Alluxio is told, no container can change them."""
    mounted_by_us = {export.folder for export in plan.exports}
    local = [dataset for dataset in plan.datasets if dataset.folder]
    volumes = {f"{d.folder}:{d.folder}" + _how(d, d.folder in mounted_by_us) for d in local}
    return sorted(volumes)


def _how(dataset: PlannedDataset, mounted_by_us: bool) -> str:
    """An export may be mounted later than a container is started at boot: `rslave` lets it see that."""
    options = [*([] if dataset.writable else ["ro"]), *(["rslave"] if mounted_by_us else [])]
    return f":{','.join(options)}" if options else ""


def _ready(kind: str, mine: Amounts) -> dict[str, Any]:
    """What tells that a service serves: its port, or for FUSE its mount."""
    if kind == "fuse":
        return {"mount_point": mine["mount_point"]}
    return {"address": mine["bind_address"], "port": mine["ports"]["rpc"]}


def _owned_folder(path: str, uid: int, mode: str, gid: int | None = None) -> dict[str, Any]:
    return {"path": path, "uid": uid, "gid": uid if gid is None else gid, "mode": mode}


def _filled(services: Sequence[Mapping[str, Any]], state_dir: str) -> list[dict[str, Any]]:
    """Folders that only this deployment writes to: removal takes what is in them, too."""
    found = [
        _owned_folder(f"{state_dir}/conf", 0, "0755"),
        _owned_folder(f"{state_dir}/namespace", _SERVICE_USER, "0755"),
    ]
    if any(service["service"] == "master" for service in services):
        found.append(_owned_folder(f"{state_dir}/journal", _SERVICE_USER, "0700"))
    return found + [_owned_folder(one["client_cache"], 0, "0700") for one in services if one["client_cache"]]


def _entered(services: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Folders above mount points."""
    parents = [service["mount_parent"] for service in services if service["mount_parent"]]
    roots = sorted({parent["path"].rpartition("/")[0] for parent in parents})
    return [
        *(_owned_folder(root, 0, "0755") for root in roots),
        *(_owned_folder(parent["path"], parent["uid"], parent["mode"], parent["gid"]) for parent in parents),
    ]


def _escaped(value: str) -> str:
    """A value as java.util.Properties reads it back."""
    return value.replace("\\", "\\\\").replace("\n", "\\n")
