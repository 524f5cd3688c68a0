"""The variables of a fleet, and the names of all variables."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from alluxio_fuse.plan.intent.clusters import Fluid, Headroom, Kubernetes, Mirrors, RunningCluster
from alluxio_fuse.plan.intent.datasets import Dataset, Sample
from alluxio_fuse.plan.intent.nodes import Aws, NodeIntent
from alluxio_fuse.plan.intent.parts import Java, Libfuse, Name, Port, Strict, wrong
from alluxio_fuse.plan.intent.work import CheckBudget, Gate, MountSetting, Profile, Train, Verdict, Warm, fail_on
from alluxio_fuse.plan.platforms import CAPABILITIES, Capabilities
from alluxio_fuse.plan.rules.ports import FUSE_PORTS
from alluxio_fuse.plan.units import Number, Switch, Whole


def _apart(value: Any) -> Any:
    """Text with commas as the list that it stands for; anything else as it is."""
    return [one.strip() for one in value.split(",") if one.strip()] if isinstance(value, str) else value


Listed = Annotated[list[str], BeforeValidator(_apart)]


class FleetIntent(Strict):
    """Variables that are one for the whole fleet."""

    alluxio_name: Name = Field("alluxio-fuse", description="Name of the deployment: in paths, containers, units.")
    alluxio_environment: str = Field("", description="Name of the inventory.")
    alluxio_platform: Literal["containers", "fluid", "host", "kubernetes"] = Field(
        "containers", description="Where services run."
    )
    alluxio_kubernetes: Kubernetes = Field(Kubernetes(), description="Only for platforms kubernetes and fluid.")
    alluxio_fluid: Fluid = Field(Fluid(), description="Only for platform fluid.")
    alluxio_aws: Aws = Field(
        Aws(), description="What services find on nodes by the credential chain (platform containers)."
    )
    alluxio_cluster: RunningCluster = Field(RunningCluster(), description="Only for platform host.")
    alluxio_profile: Literal["tuned", "upstream"] = Field("tuned", description="`upstream`: Alluxio's own defaults.")
    alluxio_version: str = Field("2.9.6", pattern=r"^\d+\.\d+\.\d+$", description="Alluxio's version.")
    alluxio_java: Java = Field(17, description="Major version of the JDK in the image.")
    alluxio_image: str = Field("", description="Image of the services. Unset: localhost/alluxio-fuse:<version>.")
    alluxio_image_archive: str = Field("", description="Folder for playbooks/image.yml to write the image to.")
    alluxio_image_push: str = Field("", description="Repository and tag for playbooks/image.yml to push the image to.")
    alluxio_port_offset: Port = Field(
        0,
        description="Added to every port: a second deployment on one node. Up to 2700 all stay below 32768, "
        "from where on Linux takes the ports of outgoing connections.",
    )
    alluxio_datasets: list[Dataset] = Field(
        [], max_length=FUSE_PORTS, description="Datasets. Empty: one generated sample."
    )
    alluxio_room: Headroom = Field(
        Headroom(), description="What masters and workers are sized for. Unset: the datasets of today."
    )
    alluxio_sample: Sample = Field(Sample(), description="The generated sample.")
    alluxio_workload: Literal["resnet50", "unet3d", "retinanet", "cosmoflow", "tokens", "none"] | None = Field(
        None,
        description="What trains. Unset: resnet50 where there are GPUs, as a named assumption. `tokens`: language"
        " models, whose need no public figure says; see docs/recipes.md.",
    )
    alluxio_gate: Gate | None = Field(None, description="A declared gate per node, in place of the derived one.")
    alluxio_gate_min_disk_ratio: Number | None = Field(
        None,
        gt=0,
        description="Without GPUs and alluxio_gate: small files of the client cache over those of the local disk, at"
        " least. Unset: their speed is reported and not judged.",
    )
    alluxio_libfuse: Libfuse | None = Field(None, description="libfuse's version. Unset: chosen.")
    alluxio_overrides: dict[str, Any] = Field({}, description='Derived values said otherwise: {"worker.heap": 2Gi}.')
    alluxio_force: list[str] = Field([], description="Names of invariants that may be broken.")
    alluxio_confirm: str = Field(
        "", description="With -e, the environment's name, where something is taken away from others than `local`."
    )
    alluxio_allow_plaintext_credentials: Switch = Field(
        False,
        description="Keys and passwords may stand in unencrypted files of the inventory. Those of inventories/local may"
        " anyway; elsewhere preflight refuses them. What -e gives is no file of the inventory.",
    )
    alluxio_under_readers: Switch = Field(
        False, description="With -e: restart or remove mounts in use; readers lose open files."
    )
    alluxio_check_disruptive: Switch = Field(False, description="The check may drop the node's page cache.")
    alluxio_check_budget: CheckBudget = Field(
        CheckBudget(),
        description="What the check may cost where it may not disrupt; what goes over it reads `not tested`.",
    )
    alluxio_check_fail_on: Annotated[list[Verdict], AfterValidator(fail_on)] = Field(
        ["FAIL", "CANNOT TELL"],
        description="Verdicts with which a run ends as failed. `[FAIL]` in inventories/local: CANNOT TELL is told, and"
        " how to measure again.",
    )
    alluxio_check_passes: Whole = Field(5, ge=1, description="Passes per cache state.")
    alluxio_check_readers: Whole = Field(4, ge=1, description="Parallel readers.")
    alluxio_check_profiles: list[Profile] = Field(
        [],
        description="Studies that the check makes besides, where caches may be dropped: `fio` (large files by fio,"
        " whole and in ImageNet's block mix; installs it), `tfrecord` (records against JPEG files), `tokens` (by fio:"
        " blocks of 4 to 64 KiB at random places of large files, and large files mapped into memory), `readers` (1 to"
        " 32, each with files of its own), `open-files` (reading while up to 65536 are held open).",
    )
    alluxio_check_at_once: Switch = Field(
        True,
        description="All nodes read at the same time, and are judged together, too; false: one after the other, each as"
        " if it were alone.",
    )
    alluxio_check_compare: list[str] = Field(
        [], description="Environments on the same nodes whose mounts of the same datasets are read in the same rounds."
    )
    alluxio_check_folders: dict[str, list[Annotated[str, Field(pattern="^/.*[^/]$")]]] = Field(
        {},
        description="Folders with the same files as a dataset, for example on a shared filesystem or another product's"
        " mount, read in the same rounds: {imagenet: [/mnt/nfs/imagenet]}.",
    )
    alluxio_tune: dict[MountSetting, list[Annotated[Whole, Field(ge=0)]]] = Field(
        {}, description="Amounts that playbooks/tune.yml tries, by setting; one that is not named is tried as usual."
    )
    alluxio_tune_processes: list[dict[str, Any]] | None = Field(
        None,
        description="Variables that playbooks/tune.yml tries with twins beside the FUSE process of the mount, for"
        " example `[{alluxio_libfuse: 2}]`; `[]` tries none. Unset: the other libfuse, another collector, twice the"
        " heap, larger pages, fewer threads.",
    )
    alluxio_tune_passes: Whole = Field(5, ge=3, description="Rounds of playbooks/tune.yml.")
    alluxio_tune_among_readers: Switch = Field(
        False, description="playbooks/tune.yml also tries on mounts that others read from."
    )
    alluxio_train: Train = Field(Train(), description="What playbooks/train.yml trains, and with what.")
    alluxio_warm: Warm | None = Field(None, description="With -e: what playbooks/warm.yml warms. Unset: as planned.")
    alluxio_warm_action: Literal["list", "watch", "cancel", "resume"] | None = Field(
        None, description="With -e: what playbooks/warm.yml does with the tasks that there are."
    )
    alluxio_warm_task: str = Field("", description="With -e: the task that is meant.")
    alluxio_refresh: Listed = Field(
        [],
        description="With -e: datasets of playbooks/refresh.yml, as a list or as text with commas. Unset: all with a"
        " declared freshness.",
    )
    alluxio_restore: str = Field("", description="With -e: the backup from which playbooks/restore.yml starts.")
    alluxio_unstick: str = Field("", description="With -e: the dataset whose mount playbooks/unstick.yml lets go of.")
    alluxio_http_proxy: str | None = Field(None, description="Proxy of downloads.")
    alluxio_https_proxy: str | None = Field(None, description="Proxy of downloads over TLS.")
    alluxio_no_proxy: Listed = Field([], description="Hosts without proxy, as a list or as text with commas.")
    alluxio_ca_file: str | None = Field(None, description="PEM file of a private CA for downloads.")
    alluxio_mirrors: Mirrors = Field(Mirrors(), description="Package mirrors.")

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return CAPABILITIES[self.alluxio_platform]

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [dataset.name for dataset in self.alluxio_datasets]
        for index, name in enumerate(names):
            if name in names[:index]:
                reason = f"alluxio_datasets[{names.index(name)}] has this name, too: it is in paths and of services"
                raise wrong("names", reason, "give each its own name", at=("alluxio_datasets", index, "name"))
        return self


SECRET = "alluxio_credentials"  # noqa: S105 - the variable's name; its value never comes near the planner
SECRETS = frozenset({SECRET, "alluxio_cluster_password"})
NODE_VARIABLES = frozenset(NodeIntent.model_fields)
FLEET_VARIABLES = frozenset(FleetIntent.model_fields)
KNOWN_VARIABLES = NODE_VARIABLES | FLEET_VARIABLES
