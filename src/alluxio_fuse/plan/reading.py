"""From what playbooks hand over to a Fleet and its nodes: validation, agreement between hosts, dataset shapes."""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from alluxio_fuse.plan.credential_chain import by_chain
from alluxio_fuse.plan.distributions import LIBFUSE, release
from alluxio_fuse.plan.facts import BlockDevice, Facts, Source, Trained
from alluxio_fuse.plan.fleet import Kind
from alluxio_fuse.plan.gpus import WORKLOADS, gpu_model
from alluxio_fuse.plan.intent.datasets import Dataset, Sample
from alluxio_fuse.plan.intent.fleet import FLEET_VARIABLES, KNOWN_VARIABLES, NODE_VARIABLES, SECRET, FleetIntent
from alluxio_fuse.plan.intent.nodes import NodeIntent
from alluxio_fuse.plan.invalid import model_at, path_of, refuse_invalid, shown
from alluxio_fuse.plan.layout import Shape
from alluxio_fuse.plan.media import Disk, coarse, volumes_of
from alluxio_fuse.plan.nfs import is_export, keeps_s
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.refusals import did_you_mean
from alluxio_fuse.plan.rules.gate import GpuNeed, TrainedNeed
from alluxio_fuse.plan.schemes import HDFS, OBJECT_STORES
from alluxio_fuse.plan.sizes import Sizes
from alluxio_fuse.plan.stores import PAGE

SAMPLE_IMAGE = WORKLOADS["resnet50"].sample_bytes
SAMPLE_SHARD = 128_000_000
SAMPLE_MARGIN = 1.03
DEFAULT_WITHIN = 10
SONAMES = {"libfuse.so.2": 2, "libfuse3.so.3": 3}
Host = dict[str, Any]


def read_fleet_intent(hosts: Mapping[str, Host], problems: Problems) -> FleetIntent | None:
    """The fleet-wide variables, which must agree on every host, validated once."""
    names = list(hosts)
    reference = _fleet_part(hosts[names[0]])
    for variable in {name for host in hosts.values() for name in host["variables"]} - KNOWN_VARIABLES:
        if variable.startswith("alluxio_"):
            said = next(host["variables"][variable] for host in hosts.values() if variable in host["variables"])
            problems.refuse(
                variable, shown(variable, said), "unknown variable", did_you_mean(variable, KNOWN_VARIABLES)
            )
    for name in names[1:]:
        other = _fleet_part(hosts[name])
        if other == reference:
            continue
        for variable in sorted(reference.keys() | other.keys()):
            if reference.get(variable) != other.get(variable):
                where, *found = _differing(reference.get(variable), other.get(variable), (variable,))
                first, second = (_told(where, value) for value in found)
                values = f"{first} on {names[0]}, {second} on {name}"
                problems.refuse(
                    path_of(where), values, "it is one for the whole fleet", "say it once, in group_vars/all"
                )
        break
    try:
        return FleetIntent.model_validate(reference)
    except ValidationError as error:
        refuse_invalid(FleetIntent, error, problems)
        return None


def _told(where: tuple[str | int, ...], value: Any) -> str:
    """A value as a finding shows it; one deep in what no model knows may be a secret."""
    unknown = len(where) > 2 and model_at(FleetIntent, where[:-1]) is None
    return "(not shown)" if unknown and value is not None else shown(path_of(where), value)


def _differing(one: Any, other: Any, at: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any, Any]:
    """Where two values differ first, and what they are there."""
    keys: Iterable[Any] = ()
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = dict.fromkeys((*one, *other))
    elif isinstance(one, list) and isinstance(other, list):
        keys = range(min(len(one), len(other)))
    for key in keys:
        pair = (one.get(key), other.get(key)) if isinstance(one, Mapping) else (one[key], other[key])
        if pair[0] != pair[1]:
            return _differing(*pair, (*at, key))
    return at, one, other


def _fleet_part(host: Host) -> dict[str, Any]:
    return {name: value for name, value in host["variables"].items() if name in FLEET_VARIABLES}


def read_node(name: str, host: Host, problems: Problems) -> tuple[NodeIntent, Facts] | None:
    """The variables and facts of one host."""
    said = {variable: value for variable, value in host["variables"].items() if variable in NODE_VARIABLES}
    try:
        intent = NodeIntent.model_validate(said)
    except ValidationError as error:
        refuse_invalid(NodeIntent, error, problems, f"{name}: ")
        return None
    try:
        return intent, Facts.model_validate(host["facts"])
    except ValidationError as error:
        refuse_invalid(Facts, error, problems, f"facts of {name}: ")
        return None


def trained_needs(trained: Mapping[str, Mapping[str, Trained]]) -> tuple[TrainedNeed, ...]:
    """What trainings have measured, the highest of each GPU model and workload: one for all nodes.

    trained: by node and workload.
    """
    highest: dict[tuple[str, str], TrainedNeed] = {}
    for node, found in sorted(trained.items()):
        for workload, one in found.items():
            where = f"{node} at {one.at}"
            need = TrainedNeed(gpu_model(one.gpu), workload, one.images_per_s, one.image_bytes, where)
            key = need.model, workload
            if key not in highest or highest[key].samples_per_s < need.samples_per_s:
                highest[key] = need
    return tuple(highest.values())


def kind_of(
    groups: list[str],
    intent: NodeIntent,
    facts: Facts,
    state_dir: str,
    *,
    runs_cluster: bool,
    below: tuple[str, ...] = (),
) -> Kind:
    """What the values of a node depend on. below: its groups within the GPU nodes, where pods follow from them."""
    gpus: dict[str, int] = {}
    if intent.alluxio_gpus is None:
        for found in facts.gpus:
            gpus[gpu_model(found.model)] = gpus.get(gpu_model(found.model), 0) + 1
    else:
        gpus = {gpu_model(said.model): said.count for said in intent.alluxio_gpus}
    speeds = [interface.speed_mbps for interface in facts.network if interface.speed_mbps]
    tiers = tuple(intent.alluxio_cache_tiers)
    wiped = {device for tier in tiers for device in tier.wipe}
    return Kind(
        master="masters" in groups and runs_cluster,
        gpu_node="gpu_nodes" in groups,
        memory=coarse(facts.memory.total, facts.memory.total),
        memory_limit=facts.memory.limit,
        cpus=float(facts.cpus),
        gpus=tuple(sorted(gpus.items())),
        gpu_needs=tuple(
            GpuNeed(gpu_model(said.model), said.mb_per_s, said.files_per_s)
            for said in intent.alluxio_gpus or ()
            if said.mb_per_s is not None
        ),
        workload_memory=intent.alluxio_workload_memory,
        workload_cpus=intent.alluxio_workload_cpus,
        tiers_said="".join(tier.model_dump_json() for tier in tiers),
        volumes=volumes_of([tier.path for tier in tiers if tier.path] or [state_dir], facts.filesystems, facts.sources),
        disks=tuple(_disk(found, facts, wiped) for found in facts.block_devices)
        if any(tier.devices for tier in tiers)
        else (),
        nofile=facts.nofile.hard,
        network_mbps=max(speeds, default=None),
        libfuse=_libfuse(facts),
        fuse_device=facts.fuse.device,
        layers=facts.layers,
        architecture=facts.architecture,
        groups=below,
        tiers=tiers,
    )


def _libfuse(facts: Facts) -> frozenset[int]:
    """Versions of libfuse that Alluxio can load on a node: those that are there, and those that role libfuse brings."""
    there = {version for soname, version in SONAMES.items() if soname in facts.fuse.sonames}
    return LIBFUSE.get(release(facts.distribution.id, facts.distribution.version), frozenset()) | there


def _disk(found: BlockDevice, facts: Facts, wiped: set[str]) -> Disk:
    items = facts.owned.get("items", [])
    ours = {str(item.get("id")) for item in items if isinstance(item, dict)} if isinstance(items, list) else set()
    names = {found.path, found.by_id}
    if names & ours:
        state = "ours"
    elif found.mounted:
        state = "it is mounted"
    elif found.partitions:
        state = f"it has partitions: {', '.join(found.partitions)}"
    elif found.holders:
        state = f"it is in use by {', '.join(found.holders)}"
    elif found.signature and not names & wiped:
        state = f"it is not empty: it holds {found.signature}, and wipe does not name it"
    else:
        state = "free"
    return Disk((found.by_id, found.path) if found.by_id else (found.path,), found.size, state)


def address_of(
    name: str, said: str | None, facts: Facts, problems: Problems, *, in_pods: bool, alone: bool
) -> tuple[str, str]:
    """(address that others use, address that services bind to) of one node."""
    if in_pods:
        return name, "0.0.0.0"  # noqa: S104 - a pod has a network of its own
    if said is None and alone:
        said = "127.0.0.1"
    own = {each.name: each.addresses for each in facts.network if each.addresses}
    outward = {interface: addresses for interface, addresses in own.items() if interface != "lo"}
    if said is None and len(outward) == 1:
        said = next(iter(outward))
    address = _first_ipv4(own[said]) if said in own else said
    reason = _unfit(address, {one for addresses in own.values() for one in addresses}, alone)
    if address is None or reason:
        names = ", ".join(own)
        problems.refuse(
            f"{name}: alluxio_bind_address",
            "unset" if said is None else said,
            reason or "the node has more than one interface that could be meant",
            f"name an address of the node, or one of its interfaces: {names}",
        )
    return (address or name,) * 2


def _unfit(address: str | None, own: set[str], alone: bool) -> str | None:
    """Why an address is not one that services of a node can listen on; own: those of its interfaces."""
    if address is None:
        return None
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return "neither an address nor an interface of the node"
    if parsed.is_loopback or parsed.is_unspecified:
        return None if alone else f"{address} is not reached from the fleet's other nodes"
    there = {ipaddress.ip_interface(one).ip for one in own}
    return "no interface of the node has this address" if there and parsed not in there else None


def _first_ipv4(addresses: list[str]) -> str:
    plain = [address.partition("/")[0] for address in addresses]
    return next((address for address in plain if ":" not in address), plain[0] if plain else "")


def read_shapes(intent: FleetIntent, facts: Mapping[str, Facts], problems: Problems) -> tuple[Shape, ...]:
    """Files and bytes of every dataset: declared, else counted at the source."""
    if not intent.alluxio_datasets:
        return (_sample_shape(intent.alluxio_sample, through_cluster=intent.capabilities.runs_cluster),)
    counted = {host: known for host, known in facts.items() if known.sources}
    shapes = []
    for index, dataset in enumerate(intent.alluxio_datasets):
        within = dataset.freshness if not dataset.writable else dataset.freshness or DEFAULT_WITHIN
        shapes.append(
            Shape(
                dataset.name,
                index,
                _measured(dataset, index, counted, problems),
                dataset.writable,
                within,
                dataset.cache.pin,
                dataset.cache.share,
                dataset.through == "cluster",
                (dataset.readers.uid, dataset.readers.gid, dataset.readers.mode),
                dataset.source,
                stage=dataset.stage,
                source_keeps=keeps_s(within, in_pods=intent.capabilities.in_pods) if is_export(dataset.source) else 0,
            )
        )
    return tuple(shapes)


def _sample_shape(sample: Sample, *, through_cluster: bool) -> Shape:
    made = [(1 << 17, sample.images, SAMPLE_IMAGE), (1 << 27, sample.shards, SAMPLE_SHARD)]
    rows = [(bound, files, round(files * each * SAMPLE_MARGIN)) for bound, files, each in made if files]
    return Shape(sample.name, 0, Sizes.of_rows(rows), False, None, False, None, through_cluster)


def _refuse_keys(dataset: Dataset, where: str, state: str, detail: str, problems: Problems) -> None:
    """A store that was not asked: without keys nobody said that it may be read, or both were said."""
    remedies = {
        "keyless": "write access_key and secret_key of this dataset into a vault"
        + (
            f"; or, where anybody may read the bucket, anonymous: true into {where}.s3; or credential_chain: true"
            " there, to have keys looked for as AWS's clients do"
            if not dataset.oss
            else ""
        ),
        "contradictory": "remove them"
        if dataset.source.startswith(HDFS)
        else f"remove one of them: these keys, or what {where}.s3 says",
        "tokened": f"write keys that need no token; or credential_chain: true into {where}.s3, and have the token kept"
        " in a profile (docs/datasets.md, Keys that are found)",
    }
    problems.refuse(f"{SECRET}.{dataset.name}", "(not shown)", detail, remedies[state])


def _refuse_chain(where: str, detail: str, problems: Problems) -> None:
    remedy = "give the controller one of them: aws sts get-caller-identity, as the same user, says what it finds"
    problems.refuse(f"{where}.s3.credential_chain", "true", detail, remedy)


def _source_remedy(dataset: Dataset, where: str, state: str, detail: str) -> str:
    """What helps where a source is not as it should be; of a store its own code says more than the state."""
    if state == "foreign":
        return f"mount the dataset's filesystem there, or correct {where}.marker"
    if dataset.source.startswith(HDFS):
        return _hdfs_remedy(where, state, detail)
    if dataset.source.startswith(OBJECT_STORES):
        return _store_remedy(dataset, where, state, detail)
    if is_export(dataset.source):
        return _nfs_remedy(where, state)
    return "name a source that exists, is not empty, and can be read by uid 1000"


def _store_remedy(dataset: Dataset, where: str, state: str, detail: str) -> str:
    if "RequestTimeTooSkewed" in detail:
        return "set the controller's clock; timedatectl says whether it follows a time server"
    if "SecurityToken" in detail:
        return f"have STS make new keys, and write all three into the vault, for {dataset.name}"
    said = f"{where}.{dataset.source.partition('://')[0]}"
    return {
        "denied": "correct the role, profile or token that the keys come from, or let them list and read this prefix"
        if by_chain(dataset)
        else f"correct the keys of {dataset.name} in the vault, or let them list and read this prefix",
        "missing": f"correct the bucket's name, or the endpoint in {said}",
        "unreachable": f"correct endpoint and region in {said}, or the network in between",
    }.get(state, "name a prefix that holds the dataset")


def _hdfs_remedy(where: str, state: str, detail: str) -> str:
    if detail.startswith("Kerberos"):
        return f"copy the files into a store that speaks S3, or mount HDFS on every node and write file:// ({PAGE})"
    return {
        "denied": "let HDFS's user alluxio list and read this folder",
        "unreachable": f"correct {where}.hdfs.web, or the network between controller and namenode",
    }.get(state, "name a folder of HDFS that exists and is not empty")


def _nfs_remedy(where: str, state: str) -> str:
    return {
        "unsupported": "install the kernel's NFS client (nfs-common and the modules package of this kernel; nfs-utils"
        " on RHEL), or use a node that has it",
        "denied": "export it to these nodes, and let everybody read its files, or no_root_squash and uid 1000:"
        " manifest and check read as root, services on containers as uid 1000",
        "missing": "name a path that the server exports, or a folder below it: showmount --exports lists those of"
        " version 3",
        "unreachable": f"correct the server's name, {where}.nfs.version, or the network in between (TCP 2049)",
    }.get(state, "name an export that holds the dataset")


def _measured(dataset: Dataset, index: int, facts: Mapping[str, Facts], problems: Problems) -> Sizes:
    where = f"alluxio_datasets[{index}]"
    files, size = dataset.files, dataset.bytes
    seen = {host: known.sources[dataset.source] for host, known in facts.items() if dataset.source in known.sources}
    wrong: dict[tuple[str, str], list[str]] = {}
    for host, source in seen.items():
        if source.state != "ok":
            wrong.setdefault((source.state, source.detail or "nothing there"), []).append(host)
        files, size = files or source.files, size or source.bytes
    for (state, detail), hosts in wrong.items():
        if state in ("keyless", "contradictory", "tokened"):
            _refuse_keys(dataset, where, state, detail, problems)
            continue
        if state == "unfound":
            _refuse_chain(where, detail, problems)
            continue
        problems.refuse(
            f"{where}.source",
            dataset.source,
            f"{state} on {', '.join(hosts)}: {detail}",
            _source_remedy(dataset, where, state, detail),
        )
    if wrong:
        return Sizes.unlisted(1, 1)
    if files and size:
        return _listed(dataset, files, size, seen.values()) or Sizes.unlisted(files, size)
    missing = " and ".join(key for key, value in (("files", files), ("bytes", size)) if not value)
    problems.refuse(
        f"{where}.{missing.split()[0]}",
        "unset",
        f"{dataset.source} was not counted within the limit",
        f"give {missing} of the dataset",
    )
    return Sizes.unlisted(files or 1, size or 1)


def _listed(dataset: Dataset, files: int, size: int, seen: Iterable[Source]) -> Sizes | None:
    """The histogram of the listing that files and bytes are of.

    Where both are declared none counts: whether a listing ends within its limit differs from run to run, as the plan
    must not.
    """
    if dataset.files and dataset.bytes:
        return None
    rows = (source.sizes for source in seen if (source.files, source.bytes) == (files, size))
    return next((Sizes.of_rows(found) for found in rows if found), None)
