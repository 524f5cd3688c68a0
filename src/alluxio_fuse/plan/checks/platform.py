"""What only makes sense on one platform, or is refused there."""

from alluxio_fuse.plan.credential_chain import check_credential_chain
from alluxio_fuse.plan.delivery import check_delivery
from alluxio_fuse.plan.fluid import check_fluid
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.nfs import UNSAID_KEEPS_S, is_export
from alluxio_fuse.plan.problems import Problems
from alluxio_fuse.plan.pvc import claim_of
from alluxio_fuse.plan.schemes import HDFS


def check_platform(intent: FleetIntent, problems: Problems) -> None:
    """What only makes sense on one platform."""
    _check_host(intent, problems)
    said, platform = intent.alluxio_kubernetes, intent.alluxio_platform
    _check_claims(intent, problems)
    _check_exports(intent, problems)
    _check_names(intent, problems)
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
                f"alluxio_overrides[{name}]", "given", f"services of platform {platform} request no processors", remedy
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


def _check_names(intent: FleetIntent, problems: Problems) -> None:
    """Kubernetes takes no name that ends with a hyphen."""
    if not intent.capabilities.in_pods:
        return
    said = {
        "alluxio_name": intent.alluxio_name,
        **{f"alluxio_datasets[{index}].name": one.name for index, one in enumerate(intent.alluxio_datasets)},
    }
    for path, name in said.items():
        if name.endswith("-"):
            reason = "Kubernetes takes no name that ends with a hyphen"
            problems.refuse(path, name, reason, "end it with a letter or a digit")


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
    """Masters and workers need the export mounted, and a run does not reach those of a cluster elsewhere."""
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
