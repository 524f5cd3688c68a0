"""What must hold across the fleet: caches against sets, gates against what can deliver them, paths apart."""

from collections.abc import Iterable, Mapping

from alluxio_fuse.plan.credential_chain import by_chain, check_credential_chain
from alluxio_fuse.plan.delivery import check_delivery
from alluxio_fuse.plan.distributions import LISTED, release
from alluxio_fuse.plan.facts import Facts
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.fluid import check_fluid
from alluxio_fuse.plan.intent.fleet import SECRET, FleetIntent
from alluxio_fuse.plan.intent.parts import Medium
from alluxio_fuse.plan.nfs import UNSAID_KEEPS_S, is_export
from alluxio_fuse.plan.node import NodePlan
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.process import nofile
from alluxio_fuse.plan.pvc import claim_of
from alluxio_fuse.plan.rules.caches import HIGH
from alluxio_fuse.plan.rules.gate import HDD_CEILING, MOUNT_CEILING, SSD_ORDINARY
from alluxio_fuse.plan.rules.jvm import COMPRESSED_POINTERS
from alluxio_fuse.plan.stores import HDFS, OBJECT_STORES
from alluxio_fuse.plan.units import MIB, at_least, format_size, round_up

SLOWEST: tuple[Medium, ...] = ("memory", "ssd", "hdd")
QUORUM_NODES = 64
QUORUM_FILES = 50_000_000


def check_fleet(fleet: Fleet, plans: Mapping[str, NodePlan], problems: Problems) -> None:
    """All checks that need more than one node's plan."""
    kinds = list({id(planned): planned for planned in plans.values()}.values())
    capacity = int(sum(planned.layout.tier_capacity for planned in plans.values()) * HIGH)
    total = sum(shape.size for shape in fleet.shapes if shape.through_cluster)
    if fleet.workers:  # what a cluster elsewhere holds, its own plan answers for
        _check_shares(fleet, capacity, total, problems)
        _check_residency(fleet, kinds, capacity, total, problems)
    for planned in kinds:
        if planned.kind.gpu_node:
            _check_gate(fleet, planned, problems)
            _check_inodes(fleet, planned, problems)
    _check_masters(fleet, kinds, problems)
    _check_keys(fleet, problems)
    _check_markers(fleet, plans, problems)


def check_platform(intent: FleetIntent, problems: Problems) -> None:
    """What only makes sense on one platform."""
    _check_host(intent, problems)
    said, platform = intent.alluxio_kubernetes, intent.alluxio_platform
    _check_claims(intent, problems)
    _check_exports(intent, problems)
    check_fluid(intent, problems)
    check_credential_chain(intent, problems)
    _refuse_stages(intent, problems)
    _check_readers(intent, problems)
    if intent.capabilities.in_pods:
        check_delivery(intent, problems)
    if not intent.capabilities.in_pods:
        if said.model_fields_set:
            remedy = "remove it, or write alluxio_platform: kubernetes or fluid"
            problems.refuse("alluxio_kubernetes", "given", f"the platform is {platform}", remedy)
        for name in sorted(key for key in intent.alluxio_overrides if key.endswith(".cpu_request")):
            remedy = "remove it: what runs there shares the node's processors alike"
            problems.refuse(
                f"alluxio_overrides[{name}]", "given", f"platform {platform} asks nobody for processors", remedy
            )
        return
    if not intent.alluxio_datasets:
        problems.refuse(
            "alluxio_datasets",
            "empty",
            "the sample is generated on one machine, and nodes of a cluster would each have another one",
            "name at least one dataset",
        )
    if intent.alluxio_check_disruptive and (not said.node_access or intent.capabilities.by_fluid):
        reason = "it drops the page cache of nodes, which pods may not"
        problems.refuse("alluxio_check_disruptive", "true", reason, "write false where nodes cannot be reached")
    for index, dataset in enumerate(intent.alluxio_datasets):
        keyless = "anonymous" if dataset.s3 and dataset.s3.anonymous else "credential_chain"
        if dataset.s3 and getattr(dataset.s3, keyless) and dataset.name in said.secrets:
            reason = f"alluxio_kubernetes.secrets names a Secret with keys of {dataset.name}"
            problems.refuse(f"alluxio_datasets[{index}].s3.{keyless}", "true", reason, "remove one of the two")
        if dataset.source.startswith(HDFS) and dataset.name in said.secrets:
            problems.refuse(
                f"alluxio_kubernetes.secrets.{dataset.name}", "(not shown)", "HDFS has no keys", "remove it"
            )
    for name in sorted(said.secrets.keys() - {dataset.name for dataset in intent.alluxio_datasets}):
        problems.refuse(f"alluxio_kubernetes.secrets.{name}", "(not shown)", "no such dataset", "name one of yours")


def _check_claims(intent: FleetIntent, problems: Problems) -> None:
    """Claims are of a cluster, and are read."""
    for index, dataset in enumerate(intent.alluxio_datasets):
        if claim_of(dataset.source) is None:
            continue
        if not intent.capabilities.in_pods:
            problems.refuse(
                f"alluxio_datasets[{index}].source",
                dataset.source,
                f"a claim is mounted into pods, and platform {intent.alluxio_platform} runs none",
                "mount its filesystem on every node, and write file:///<mount point>, with a marker",
            )
        elif dataset.writable and not intent.capabilities.by_fluid:  # which refuses it of every source
            reason = "a claim is mounted read-only into everything that reads it here"
            remedy = "remove it, or write to a file:// or s3:// source"
            problems.refuse(f"alluxio_datasets[{index}].writable", "true", reason, remedy)


def _check_exports(intent: FleetIntent, problems: Problems) -> None:
    """Exports are mounted where masters and workers are, which of a cluster elsewhere nobody here reaches."""
    for index, dataset in enumerate(intent.alluxio_datasets):
        if not is_export(dataset.source):
            continue
        where = f"alluxio_datasets[{index}]"
        if not intent.capabilities.runs_cluster and dataset.through == "cluster":
            reason = "the cluster elsewhere reads it, and nothing is mounted on its nodes from here"
            remedy = "mount the export on its nodes, and write file:///<mount point>; or through: under_store"
            problems.refuse(f"{where}.source", dataset.source, reason, remedy)
        if not intent.capabilities.in_pods:
            continue
        if dataset.nfs is not None and not intent.capabilities.by_fluid:  # which refuses the source itself
            reason = "Kubernetes gives an NFS volume of a pod no options"
            remedy = "remove it; or make a PersistentVolume with mountOptions, and write pvc://<its claim>"
            problems.refuse(f"{where}.nfs", "given", reason, remedy)
        least = UNSAID_KEEPS_S + 4
        if dataset.freshness is not None and dataset.freshness < least:
            reason = f"in pods the NFS client may answer with what was before for {UNSAID_KEEPS_S}s"
            remedy = f'"within: {least}s" or more; or a PersistentVolume with mountOptions [actimeo=…], as pvc://'
            problems.refuse(f"{where}.freshness", f"within: {dataset.freshness}s", reason, remedy, "freshness_bounded")


def _check_readers(intent: FleetIntent, problems: Problems) -> None:
    """The folder above a path is root's where the node mounts there: who could write there could put a link in place.

    A pod is mounted into, and sees its own folder alone.
    """
    for index, dataset in enumerate(intent.alluxio_datasets):
        if intent.capabilities.in_pods and dataset.stage == "off":
            continue
        readers, path = dataset.readers, f"alluxio_datasets[{index}].readers"
        if readers.uid:
            problems.refuse(
                f"{path}.uid",
                str(readers.uid),
                "the folder above the mount point would be that user's, who could put a link where root mounts",
                'remove it, and let them in by their group: {gid: …, mode: "0750"}',
            )
        if int(readers.mode, 8) & 0o022:
            problems.refuse(
                f"{path}.mode",
                readers.mode,
                "others than root could write above the mount point, and put a link where root mounts",
                f'write "{int(readers.mode, 8) & ~0o022:04o}": it says who may enter, not who may write to files',
            )


def check_folders(intent: FleetIntent, problems: Problems) -> None:
    """Folders to compare with belong to datasets."""
    known = {dataset.name for dataset in intent.alluxio_datasets} or {intent.alluxio_sample.name}
    for name in sorted(intent.alluxio_check_folders.keys() - known):
        remedy = f"write {' or '.join(sorted(known))}"
        problems.refuse(f"alluxio_check_folders.{name}", "a dataset's name", "there is no such dataset", remedy)


def _refuse_stages(intent: FleetIntent, problems: Problems) -> None:
    """A copy is made and mounted on nodes: those of the inventory, which Ansible reaches."""
    said = intent.alluxio_kubernetes
    if not intent.capabilities.stages:
        reason = "the mounts of this platform are not ours, and no copy can take their place"
        remedy = "remove it, or use platform kubernetes, containers or host"
    elif not said.node_access:
        reason = "copies are made on the nodes, which alluxio_kubernetes.node_access: false does not reach"
        remedy = "remove it, or give the run access to the nodes"
    elif said.node_selector:
        reason = (
            "alluxio_kubernetes.node_selector may select nodes that are not in the inventory, where nothing is staged"
            " and pods would find an empty folder"
        )
        remedy = "remove one of the two: without node_selector, pods run on the nodes of the inventory"
    else:
        return
    for index, dataset in enumerate(intent.alluxio_datasets):
        if dataset.stage != "off":
            problems.refuse(f"alluxio_datasets[{index}].stage", dataset.stage, reason, remedy)


def _check_host(intent: FleetIntent, problems: Problems) -> None:
    """Platform host runs FUSE only: a cluster, where datasets are read through one, runs elsewhere."""
    masters, platform = intent.alluxio_cluster.masters, intent.alluxio_platform
    if not intent.capabilities.runs_cluster and intent.alluxio_room.model_fields_set:
        reason = "platform host runs neither masters nor workers that could be sized for more"
        problems.refuse("alluxio_room", "given", reason, "remove it")
    if intent.capabilities.runs_cluster:
        if intent.alluxio_cluster.model_fields_set:
            remedy = "remove it, or write alluxio_platform: host"
            problems.refuse("alluxio_cluster", "given", f"platform {platform} runs a cluster of its own", remedy)
        return
    through = [each for each in intent.alluxio_datasets if each.through == "cluster"]
    if through and not masters:
        problems.refuse(
            "alluxio_cluster.masters",
            "empty",
            f"{', '.join(each.name for each in through)} is to be read through a cluster, and platform host runs none",
            "name the masters of one that runs, like [alluxio.example:19998], or write through: under_store",
        )
    if masters and not through:
        remedy = "remove it, or write through: cluster for a dataset"
        problems.refuse("alluxio_cluster.masters", ", ".join(masters), "no dataset is read through a cluster", remedy)
    for index, dataset in enumerate(intent.alluxio_datasets):
        if dataset.through == "under_store" and dataset.cache.model_fields_set:
            reason = "without a cluster there are no caches to share"
            problems.refuse(f"alluxio_datasets[{index}].cache", "given", reason, "remove it, or write through: cluster")


def check_distributions(facts: Mapping[str, Facts], problems: Problems) -> None:
    """A distribution whose packages are listed only is no refusal: preflight refuses the unknown ones."""
    listed: dict[str, list[str]] = {}
    for host, known in facts.items():
        distribution = known.distribution
        if release(distribution.id, distribution.version) in LISTED:
            listed.setdefault(f"{distribution.id} {distribution.version}", []).append(host)
    for running, hosts in listed.items():
        problems.warn("distribution", f"the roles were never run on {running}: {', '.join(hosts)}; see docs/support.md")


def warn_of_restarts(intent: FleetIntent, facts: Mapping[str, Facts], problems: Problems) -> None:
    """Where role open_files restarts containerd: its containers inherit its own limit of open files."""
    if not intent.capabilities.in_pods or not intent.alluxio_kubernetes.node_access or intent.capabilities.by_fluid:
        return
    wanted = {host: nofile(known.nofile.hard).amount for host, known in facts.items()}
    short = [host for host, known in facts.items() if (known.containerd_files or wanted[host]) < wanted[host]]
    if short:
        now = min(facts[host].containerd_files or 0 for host in short)
        problems.warn(
            "containerd",
            f"preparing the nodes restarts it on {', '.join(short)}, one node after the other: containers may open"
            f" {now} files there, and {wanted[short[0]]} are wanted. Running containers go on; a node whose containerd"
            " does not come back stops the run",
        )


def check_paths(fleet: Fleet, tiers: Iterable[str], problems: Problems) -> None:
    """Sources, cache media and mounts never lie within each other."""
    places = [
        (f"alluxio_datasets[{d.index}].source", d.source.removeprefix("file://")) for d in fleet.shapes if d.source
    ]
    places += [("alluxio_cache_tiers", path) for path in dict.fromkeys(tiers)]
    places += [("alluxio_name", fleet.mount_root), ("alluxio_name", fleet.state_dir)]
    outer, first = "", ""
    for inner, variable in sorted((f"{path}/", variable) for variable, path in places):
        if not outer or not inner.startswith(outer):
            outer, first = inner, variable
            continue
        how = "is the same as" if inner == outer else "lies within"
        named, other = (variable, first) if variable != "alluxio_name" else (first, variable)
        problems.refuse(
            named,
            inner.rstrip("/"),
            f"it {how} {outer.rstrip('/')} ({other})",
            "name folders that do not contain each other",
        )


def _check_shares(fleet: Fleet, capacity: int, total: int, problems: Problems) -> None:
    shares = [shape for shape in fleet.shapes if shape.share is not None]
    promised = sum(shape.share or 0 for shape in shares)
    if promised > 1:
        terms = " + ".join(f"{shape.share:g} {shape.name}" for shape in shares)
        problems.refuse(
            "alluxio_datasets[].cache.share",
            f"{promised:g}",
            f"{terms} = {promised:g}, more than there is",
            "shares that sum to 1 or less",
            "shares_hold",
        )
    pinned = [shape for shape in fleet.shapes if shape.pin]
    if sum(shape.size for shape in pinned) > capacity:
        terms = " + ".join(f"{format_size(shape.size)} {shape.name}" for shape in pinned)
        short = round_up((sum(shape.size for shape in pinned) - capacity) / fleet.workers, MIB)
        problems.refuse(
            "alluxio_datasets[].cache.pin",
            terms,
            f"all workers together hold {format_size(capacity)}",
            f"{at_least(short)} more of cache on each of {fleet.workers} nodes, or fewer pins",
            "pin_fits",
        )
    if total <= capacity:
        return
    for shape in shares:
        granted = (shape.share or 0) * capacity
        if shape.size <= granted and shape.through_cluster:
            problems.refuse(
                f"alluxio_datasets[{shape.index}].cache.share",
                f"{shape.share:g}",
                f"its {format_size(shape.size)} fit into {shape.share:g} of {format_size(capacity)}, but workers evict"
                f" by age and all datasets are {format_size(total)}: others push it out",
                f"pin it in place of a share, or {at_least(total - capacity)} more of cache in the fleet",
                "shares_hold",
            )


def _check_residency(fleet: Fleet, kinds: list[NodePlan], capacity: int, total: int, problems: Problems) -> None:
    if total <= capacity:
        return
    mounted = [planned for planned in kinds if planned.kind.gpu_node]
    rest = [s for s in fleet.shapes if min((p.layout.client_caches[s.name].share for p in mounted), default=0.0) < 1]
    if not rest:
        return
    names = ", ".join(shape.name for shape in rest)
    short = round_up((total - capacity) / fleet.workers, MIB)
    arithmetic = (
        f"{format_size(total)} of datasets, {fleet.workers} workers hold {format_size(capacity)}"
        f" ({capacity / total:.0%}); {names} would be read from the under store again in each epoch"
    )
    if any(planned.gate.mb_per_s or planned.gate.files_per_s for planned in mounted):
        problems.refuse(
            "alluxio_cache_tiers",
            format_size(capacity),
            arithmetic,
            f"{at_least(short)} more of cache on each of {fleet.workers} nodes, or fewer bytes",
            "set_fits_caches",
        )
    else:
        problems.warn("alluxio_cache_tiers", f"{arithmetic}; {at_least(short)} more on each node would hold it")


def _check_gate(fleet: Fleet, planned: NodePlan, problems: Problems) -> None:
    wanted = planned.gate.mb_per_s
    variable = "alluxio_gate" if planned.gate.status == "declared" else "alluxio_gpus"
    for gap in planned.gate.gaps:
        problems.warn(
            f"{planned.example}: alluxio_gpus",
            f"no public figure for {gap}: declare alluxio_gate, else the verdict will be CANNOT TELL",
        )
    if not wanted:
        return
    have = " + ".join(f"{count} x {model}" for model, count in planned.kind.gpus) or "declared"
    count = sum(number for _, number in planned.kind.gpus)
    if wanted > MOUNT_CEILING:
        per = wanted / count if count else wanted
        fits = (
            f"at most {int(MOUNT_CEILING / per)} such GPUs per node"
            if count and per <= MOUNT_CEILING
            else "a lower gate"
        )
        problems.refuse(
            f"{planned.example}: {variable}",
            f"{wanted:,.0f} MB/s",
            f"{have} on {fleet.workload} need {wanted:,.0f} MB/s; the most that one FUSE mount was ever seen to deliver"
            f" is {MOUNT_CEILING:,.0f} MB/s (32 threads, 100 Gb/s)",
            f"{fits}; the gate is never relaxed to what is possible",
            "gate_reachable",
        )
    _check_media(fleet, planned, wanted, variable, problems)
    speed = planned.kind.network_mbps
    if speed is None:
        return
    for shape in fleet.shapes:
        if not shape.through_cluster and shape.local:
            continue
        far = 1 - planned.layout.client_caches[shape.name].share
        remote = far * (1 - 1 / fleet.workers if planned.hosts_worker else 1)
        if remote * wanted > speed / 8:
            problems.refuse(
                f"{planned.example}: {variable}",
                f"{wanted:,.0f} MB/s",
                f"{remote:.0%} of {shape.name} comes from other nodes: {remote * wanted:,.0f} MB/s over a network of"
                f" {speed / 8:,.0f} MB/s ({speed} Mb/s)",
                f"a client cache that holds {1 - speed / 8 / wanted:.0%} of the set: "
                f"{format_size(shape.cache_need)} per node hold all of it",
                "gate_reachable",
            )


def _check_media(fleet: Fleet, planned: NodePlan, wanted: float, variable: str, problems: Problems) -> None:
    """A disk that rotates has a bound that everybody knows; how fast an SSD is, only a measurement tells."""
    tiers = planned.layout.tiers
    for shape in fleet.shapes:
        space = planned.layout.client_caches[shape.name].space
        medium = (
            space.medium if space else max((tier.space.medium for tier in tiers), key=SLOWEST.index, default="memory")
        )
        ceiling = HDD_CEILING * (1 if space else len(tiers))
        if medium == "hdd" and wanted > ceiling:
            problems.refuse(
                f"{planned.example}: {variable}",
                f"{wanted:,.0f} MB/s",
                f"{shape.name} is read from a disk that rotates: at most about {ceiling:,.0f} MB/s",
                "an ssd or memory in alluxio_cache_tiers, or a lower gate",
                "gate_reachable",
            )
        if medium == "ssd" and wanted > SSD_ORDINARY:
            problems.warn(
                f"{planned.example}: {variable}",
                f"{shape.name} is read from an ssd: {wanted:,.0f} MB/s are more than one PCIe 3 drive gives"
                f" ({SSD_ORDINARY:,.0f} MB/s), and its speed is not known here",
            )


def _check_inodes(fleet: Fleet, planned: NodePlan, problems: Problems) -> None:
    blocks = fleet.load.blocks
    for space in planned.media:
        if space.inodes is None:
            continue
        held = [s for s in fleet.shapes if planned.layout.client_caches[s.name].space == space]
        pages = int(sum(2 * s.pages * planned.layout.client_caches[s.name].share for s in held))
        parts = {"client cache": pages, "worker": blocks if any(t.space == space for t in planned.layout.tiers) else 0}
        needed = sum(parts.values())
        if needed > space.inodes:
            terms = " + ".join(f"{count:,} {name}" for name, count in parts.items() if count)
            problems.refuse(
                f"{planned.example}: {space.base}",
                f"{space.inodes:,} inodes free",
                f"{terms} = {needed:,} files and folders (two for each page)",
                "a filesystem with more inodes (xfs, or mkfs.ext4 -i 16384), or memory",
                "inodes_fit",
            )


def _check_masters(fleet: Fleet, kinds: list[NodePlan], problems: Problems) -> None:
    nodes, files = fleet.load.nodes, fleet.load.files
    if 0 < fleet.masters < 3 and (nodes >= QUORUM_NODES or files >= QUORUM_FILES):
        problems.warn("masters", f"{nodes} nodes and {files:,} files hang on one master: three survive the loss of one")
    for planned in kinds:
        for name, jvm in planned.budget.jvms.items():
            if jvm.heap.amount > COMPRESSED_POINTERS:
                problems.warn(
                    f"{planned.example}: {name}.heap",
                    f"{format_size(jvm.heap.amount)} is above {format_size(COMPRESSED_POINTERS)}: pointers double",
                )
        for shape in fleet.shapes if planned.kind.gpu_node else ():
            entries = planned.budget.grants[shape.name].entries
            if not fleet.upstream and entries < shape.files:
                problems.warn(
                    f"{planned.example}: fuse/{shape.name}",
                    f"memory for {entries:,} of {shape.files:,} paths: the rest asks the master each time",
                )


def _check_keys(fleet: Fleet, problems: Problems) -> None:
    """A master hands the keys of a mount to all that it answers; with SIMPLE authentication, those are all that ask.

    Keys that it finds itself it tells nobody, and lends them to all.
    """
    asks = "each service with the deployment's password" if fleet.cluster.password else "any client in its reach"
    read = [
        dataset
        for dataset in fleet.intent.alluxio_datasets
        if dataset.source.startswith(OBJECT_STORES)
        and not dataset.writable
        and dataset.through == "cluster"
        and not (dataset.s3 and dataset.s3.anonymous)
    ]
    if handed := [dataset.name for dataset in read if not by_chain(dataset)]:
        problems.warn(
            SECRET,
            f"{', '.join(handed)} should be read with keys that can only read and list this prefix: the master tells"
            f" them to {asks}, which may call itself its admin and mount the bucket once more, writable",
        )
    if found := [dataset.name for dataset in read if by_chain(dataset)]:
        problems.warn(
            "credential_chain",
            f"{', '.join(found)} should be read by a role that can only read and list this prefix: {asks} may call"
            " itself the master's admin, and mount with the role whatever it can read",
        )


def _check_markers(fleet: Fleet, plans: Mapping[str, NodePlan], problems: Problems) -> None:
    if len(plans) == 1:
        return
    for index, dataset in enumerate(fleet.intent.alluxio_datasets):
        if dataset.source.startswith("file://") and dataset.through == "cluster" and dataset.marker is None:
            problems.warn(
                f"alluxio_datasets[{index}].marker",
                f"nothing proves that {dataset.source} is the same filesystem on all {len(plans)} nodes: name a file of"
                " it and what sha256sum prints of that file",
            )
