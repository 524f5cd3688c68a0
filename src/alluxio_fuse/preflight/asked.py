"""What to look at on a node, from the variables of an inventory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from ansible_collections.alluxio.fuse.plugins.module_utils.object_stores import is_hdfs

from alluxio_fuse import names
from alluxio_fuse.claims import claims
from alluxio_fuse.plan.intent.datasets import Nfs
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.nfs import export_of, exports, probe_options
from alluxio_fuse.plan.platforms import CAPABILITIES, NOTHING, Capabilities
from alluxio_fuse.plan.pvc import claims as source_claims
from alluxio_fuse.plan.pvc import is_claim
from alluxio_fuse.plan.rules.ports import PORTS, web_ports
from alluxio_fuse.plan.schemes import ASKED, FOLDER, folder_of
from alluxio_fuse.plan.units import parse_switch, parse_whole

_CORE = ("master", "job-master", "worker", "job-worker")


def questions(variables: Mapping[str, Any]) -> dict[str, Any]:
    """What to look at on a node, from variables that may still be wrong: the findings come later, all at once.

    Returns `{name, state_dir, mount_root, mount_points, claims, datasets: {name: source}, containers: names, ports,
    directories, markers: {source: {file, sha256}}, key_files: paths, object_stores: [{name, source, store, keyed:
    whether it has keys}], claimed: [{name, source, folder, listed_by}] of sources that pods mount, exports: [{source,
    server, path, options}] of NFS that nodes are to try, platform, verbs: of its role, lacks: {playbook: why not},
    image, folders: [{path, read_only}]}`, the last being what a pod that stands in for the node sees of it, and
    `kubernetes`, used where services run in pods: `{kubeconfig, context, namespace, node_access, claims: {folder:
    claim} and exports: {folder: {server, path}} of what pods mount, release, image: {by, auth_file, ca_file, insecure},
    pull_secrets, keep_journal, secrets, staged: folders above the paths of datasets that may have copies, fluid: as
    `alluxio_fuse.plan.views.deployment` has it}`.
    """
    name = str(variables.get("alluxio_name", "alluxio-fuse"))
    datasets = _datasets(variables)
    sources = {str(d.get("name")): _source(d) for d in datasets}
    mounted = list(sources) or [str(_mapping(variables.get("alluxio_sample")).get("name", "imagenet-sample"))]
    offset = parse_whole(variables.get("alluxio_port_offset"))
    moved = offset if isinstance(offset, int) else 0
    folders = [source for source in sources.values() if source.startswith(FOLDER)]
    stores = [d for d in datasets if _source(d).startswith(ASKED)]
    platform = str(variables.get("alluxio_platform", "containers"))
    can = CAPABILITIES.get(platform, NOTHING)
    in_pods = {d: source for d, source in sources.items() if can.in_pods and (is_claim(source) or export_of(source))}
    tiers = [tier for tier in _list(variables.get("alluxio_cache_tiers")) if isinstance(tier, dict)]
    version = str(variables.get("alluxio_version", FleetIntent.model_fields["alluxio_version"].default))
    return {
        "platform": platform,
        "verbs": list(can.verbs),
        "lacks": dict(can.lacks),
        "in_pods": can.in_pods,
        "image": str(variables.get("alluxio_image") or f"localhost/alluxio-fuse:{version}"),
        "kubernetes": {**_cluster(variables, name, can), "claims": source_claims(in_pods), "exports": exports(in_pods)},
        "folders": [
            *({"path": str(tier["path"]), "read_only": False} for tier in tiers if tier.get("path")),
            *({"path": folder_of(source), "read_only": True} for source in folders),
        ],
        "name": name,
        "under_readers": parse_switch(variables.get("alluxio_under_readers")) is True,
        "state_dir": names.state_dir(name),
        "mount_root": names.mount_root(name),
        # in Fluid's pods there is the dataset's claim, and nothing of others
        "mount_points": [] if can.by_fluid else [names.mount_point(name, dataset) for dataset in mounted],
        "claims": claims(
            name,
            can,
            mounted,
            [str(tier["path"]).rstrip("/") for tier in tiers if tier.get("path")],
            node_access=not can.in_pods or _cluster(variables, name, can)["node_access"],
            sample=not datasets,
        ),
        "datasets": {dataset: sources.get(dataset, "") for dataset in mounted},
        "containers": [f"{name}-{service}" for service in (*_CORE, *(f"fuse-{dataset}" for dataset in mounted))]
        if can.runs_cluster and not can.in_pods
        else [],
        # pods have a network of their own
        "ports": []
        if can.in_pods
        else sorted(
            {port + moved for service in PORTS.values() for port in service.values()}
            | {*web_ports(mounted, moved).values()}
        ),
        "directories": folders,
        "markers": {
            _source(d): {key: str(d["marker"].get(key)) for key in ("file", "sha256")}
            for d in datasets
            if _source(d).startswith(FOLDER) and isinstance(d.get("marker"), dict)
        },
        "key_files": [
            path
            for name in ("profile_file", "token_file")
            if isinstance(path := _mapping(variables.get("alluxio_aws")).get(name), str) and platform == "containers"
        ],
        "claimed": [
            {"name": dataset, "source": source, "folder": names.claim_folder(dataset), "listed_by": "pod"}
            for dataset, source in in_pods.items()
        ],
        "exports": [
            {**export._asdict(), "source": _source(d), "options": probe_options(_version(d))}
            for d in datasets
            if not can.in_pods and (export := export_of(_source(d)))
        ],
        "object_stores": [
            {"name": str(d.get("name")), "source": _source(d), "store": _store(d), "keyed": not is_hdfs(_source(d))}
            for d in stores
        ],
    }


def _source(dataset: Mapping[str, Any]) -> str:
    """As the plan has it, by which facts find it."""
    return str(dataset.get("source")).rstrip("/")


def _version(dataset: Mapping[str, Any]) -> str:
    """Of NFS; one that is not known is refused later."""
    said = _mapping(dataset.get("nfs")).get("version")
    field = Nfs.model_fields["version"]
    return str(said if said in get_args(field.annotation) else field.default)


def _store(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """How a store is reached; a switch may be text, and one that cannot be read is off until it is refused."""
    said = _mapping(dataset.get(str(dataset["source"]).partition("://")[0]))
    switches = ("path_style", "anonymous", "credential_chain")
    return {**said, **{name: parse_switch(said[name]) is True for name in switches if name in said}}


def _cluster(variables: Mapping[str, Any], name: str, can: Capabilities) -> dict[str, Any]:
    said = _mapping(variables.get("alluxio_kubernetes"))
    return {
        "kubeconfig": str(said.get("kubeconfig") or ""),
        "context": str(said.get("context") or ""),
        "namespace": str(said.get("namespace") or name),
        "node_access": parse_switch(said.get("node_access")) is not False and not can.by_fluid,
        "release": str(said.get("release") or "own"),
        "image": _delivery(said.get("image")),
        "pull_secrets": _list(said.get("pull_secrets")),
        "keep_journal": parse_switch(said.get("keep_journal")) is not False,
        "secrets": _mapping(said.get("secrets")),
        "staged": [names.mount_parent(name, str(one.get("name"))) for one in _datasets(variables) if _is_staged(one)],
        **({"fluid": _fluid(variables)} if can.by_fluid else {}),
    }


def _delivery(value: Any) -> dict[str, Any]:
    said = _mapping(value)
    files = {key: str(said.get(key) or "") for key in ("auth_file", "ca_file")}
    return {"by": str(said.get("by") or "pull"), **files, "insecure": parse_switch(said.get("insecure")) is True}


def _fluid(variables: Mapping[str, Any]) -> dict[str, Any]:
    datasets = _datasets(variables)
    said, first = _mapping(variables.get("alluxio_fluid")), datasets[0] if datasets else {}
    return {"runtime": str(said.get("runtime", "alluxio")), "dataset": str(first.get("name", ""))}


def _datasets(variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in _list(variables.get("alluxio_datasets")) if isinstance(one, dict)]


def _is_staged(dataset: Mapping[str, Any]) -> bool:
    """Whether its path may show a copy; a bare `off` is false in YAML."""
    return dataset.get("stage", "off") not in ("off", False)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
