"""Everything a user can say: the variables `alluxio_*`, each with its shape, unit, default and meaning.

Nothing derived is typed by a user; whatever is derived can be overridden in `alluxio_overrides`.
"""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from alluxio_fuse.plan.platforms import CAPABILITIES, Capabilities
from alluxio_fuse.plan.pvc import is_claim
from alluxio_fuse.plan.rules.ports import FUSE_PORTS
from alluxio_fuse.plan.stores import instead
from alluxio_fuse.plan.units import GIB, Number, Size, Switch, Whole, parse_duration, parse_switch, parse_whole

Medium = Literal["memory", "ssd", "hdd"]
StageWish = Literal["off", "auto", "require"]
Verdict = Literal["FAIL", "CANNOT TELL"]
Profile = Literal["fio", "tfrecord", "readers", "open-files"]
MountSetting = Literal["read_ahead_kb", "max_background", "congestion_threshold"]
Java = Annotated[Literal[8, 11, 17, 21, 25], BeforeValidator(parse_whole)]
Libfuse = Annotated[Literal[2, 3], BeforeValidator(parse_whole)]
SCHEMES = ("file", "s3", "oss", "pvc")


def _wrong(kind: str, reason: str, remedy: str) -> PydanticCustomError:
    return PydanticCustomError("wrong", "{reason}", {"kind": kind, "reason": reason, "remedy": remedy})


def _name(value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", value):
        raise _wrong("name", "not a name", "use up to 40 small letters, digits and hyphens, a letter first")
    return value


def _source(value: str) -> str:
    url = urlsplit(value)
    if url.scheme not in SCHEMES:
        place = url.netloc.rpartition("@")[2] + url.path
        raise _wrong("source", *instead(url.scheme, place))
    if not value.startswith(f"{url.scheme}://"):
        raise _wrong("source", "not a source as it is written here", f"begin it with {url.scheme}://")
    if url.username or url.password:
        raise _wrong("secret", "credentials do not belong in a source", "put them in alluxio_credentials")
    if url.scheme == "file" and (url.netloc or not url.path.startswith("/") or url.path == "/"):
        raise _wrong("source", "not an absolute folder", "write file:///absolute/folder")
    if url.scheme == "pvc":
        if not is_claim(value):
            remedy = "write pvc://<name of a PersistentVolumeClaim>, or a folder of it after that"
            raise _wrong("source", "not a claim", remedy)
        return value.rstrip("/")
    if url.scheme != "file" and not url.netloc:
        raise _wrong("source", "no bucket", f"write {url.scheme}://bucket/prefix")
    return value.rstrip("/")


def _mode(value: str) -> str:
    if not re.fullmatch(r"0[0-7]{3}", value):
        raise _wrong("mode", "not a mode", 'write four octal digits in quotes, like "0755"')
    return value


def _path(value: str) -> str:
    if not value.startswith("/") or "/../" in f"{value}/" or value == "/":
        raise _wrong("path", "not an absolute folder", "write it from /, without ..")
    return value.rstrip("/")


def _freshness(value: Any) -> Any:
    """Seconds within which a change is seen, or None for immutable; `within: 10m` as text or as a mapping."""
    if value == "immutable":
        return None
    within = value.get("within") if isinstance(value, dict) and set(value) == {"within"} else None
    if isinstance(value, str) and value.startswith("within:"):
        within = value.removeprefix("within:").strip()
    if within is None:
        raise _wrong("freshness", "not a freshness", 'write immutable or "within: 10m"')
    seconds = parse_duration(within)
    if seconds < 4:
        raise _wrong("freshness", "caches share it, a second each", 'at least "within: 4s"')
    return seconds


Name = Annotated[str, AfterValidator(_name)]
Path = Annotated[str, AfterValidator(_path)]
Share = Annotated[Number, Field(gt=0, le=1)]
Port = Annotated[Whole, Field(ge=0, le=15000)]


class Strict(BaseModel):
    """A model that knows no key but its own and converts nothing silently."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Readers(Strict):
    """Who may read a dataset: owner and mode of the folder above its mount point."""

    uid: Whole = Field(
        0, ge=0, description="Owner of the folder above the mount point; other than root on platform kubernetes only."
    )
    gid: Whole = Field(0, ge=0, description="Its group.")
    mode: Annotated[str, AfterValidator(_mode)] = Field("0755", description="Its mode, four octal digits in quotes.")


class CacheWish(Strict):
    """How much of the caches a dataset may take."""

    share: Share | None = Field(
        None, description="At most this part of the caches, above 0 up to 1. Unset: by its size."
    )
    pin: Switch = Field(False, description="Whole in the caches, never evicted; refused where it does not fit.")


class S3(Strict):
    """Where an s3:// source is, and which keys it is read with: those in `alluxio_credentials`, if nothing is said."""

    endpoint: str | None = Field(None, description="URL of the store; unset: AWS.")
    region: str | None = Field(None, description="Region; unset: from the endpoint.")
    path_style: Switch = Field(False, description="Bucket in the path, not in the host name; most own stores want it.")
    ca_file: Path | None = Field(None, description="PEM file of a private CA, on the controller.")
    anonymous: Switch = Field(False, description="Read without keys what anybody may read.")
    credential_chain: Switch = Field(
        False,
        description="Controller and services look for keys where AWS's clients do by themselves: environment, web"
        " identity, profile, container, instance role; see docs/datasets.md. Without it or `anonymous`, a dataset"
        " without keys is refused.",
    )


def _address(value: str) -> str:
    if not re.fullmatch(r"https?://[^/@\s]+", value):
        raise _wrong(
            "endpoint", "not an address of a store", "write https://oss-<region>.aliyuncs.com, without the bucket"
        )
    return value


def _region(value: str) -> str:
    if not re.fullmatch(r"(?!oss-)[a-z0-9-]+", value):
        raise _wrong("region", "not a region as requests are signed for", "write it like cn-hangzhou, without oss-")
    return value


class Oss(Strict):
    """Where an oss:// source is. Its keys are in `alluxio_credentials`."""

    endpoint: Annotated[str, AfterValidator(_address)] = Field(
        description="URL of the store, https://oss-<region>.aliyuncs.com, or inside its network"
        " https://oss-<region>-internal.aliyuncs.com."
    )
    region: Annotated[str, AfterValidator(_region)] = Field(
        description="Region of the bucket, like cn-hangzhou: requests are signed for it (version 4)."
    )


def _below(value: str) -> str:
    if not value or value.startswith("/") or ".." in value.split("/"):
        raise _wrong("file", "not a file of the source", "write its path from the source on, without ..")
    return value


def _sha256(value: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        raise _wrong("digest", "not a SHA-256", "write the 64 hexadecimal digits that sha256sum prints")
    return value


class Marker(Strict):
    """A file of a file:// source by which a node proves that it sees the same filesystem as the others."""

    file: Annotated[str, AfterValidator(_below)] = Field(description="Its path from the source on, like .dataset.")
    sha256: Annotated[str, AfterValidator(_sha256)] = Field(description="SHA-256 of its bytes, in hexadecimal.")


def _stage(value: Any) -> Any:
    """YAML reads a bare `off` as false."""
    return "off" if value is False else value


class Dataset(Strict):
    """One dataset, mounted read-only unless `writable`."""

    name: Name = Field(description="Its name in paths: /mnt/<alluxio_name>/<name>/data.")
    source: Annotated[str, AfterValidator(_source)] = Field(
        description="file:///folder, s3://bucket/prefix, oss://bucket/prefix, or pvc://claim/folder of a cluster."
    )
    files: Whole | None = Field(None, ge=1, description="Number of files. Unset: counted at the source, by size.")
    bytes: Size | None = Field(None, ge=1, description="Total size. Unset: counted at the source.")
    readers: Readers = Field(Readers(), description="Who may read it.")
    freshness: Annotated[int | None, BeforeValidator(_freshness)] = Field(
        None, description='`immutable` (the default when read-only) or "within: 10m": when a change must be seen.'
    )
    writable: Switch = Field(False, description="Whether `readers` may write, too; see docs/writable.md.")
    cache: CacheWish = Field(CacheWish(), description="Its share of the caches.")
    s3: S3 | None = Field(None, description="Only for s3:// sources.")
    oss: Oss | None = Field(None, description="Only for oss:// sources, which need it.")
    marker: Marker | None = Field(
        None,
        description="Only for file:// sources: a node that does not see this file with this digest is refused, and on"
        " Kubernetes masters and workers do not start there.",
    )
    unreadable_names: Literal["refuse", "skip"] = Field(
        "refuse",
        description="Names that Alluxio cannot serve: `refuse` the dataset, or `skip` them in check and warm; see"
        " docs/support.md.",
    )
    stage: Annotated[StageWish, BeforeValidator(_stage)] = Field(
        "off",
        description="`auto`: warm-up copies it to each GPU node's own memory or disk, where the kernel reads it without"
        " FUSE, whole or as much as fits. `require`: whole, and refused where it does not fit. For immutable datasets;"
        " see docs/staging.md.",
    )
    through: Literal["cluster", "under_store"] = Field(
        "cluster",
        description="`under_store`: FUSE reads the source without a cluster and without a data cache (platform host).",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.s3 is not None and not self.source.startswith("s3://"):
            raise _wrong("s3", f"s3 is given, the source is {self.source}", "remove s3 or use an s3:// source")
        if self.s3 is not None and self.s3.anonymous and self.writable:
            raise _wrong("s3", "anonymous and writable contradict each other", "write with keys, or remove writable")
        if self.s3 is not None and self.s3.anonymous and self.s3.credential_chain:
            reason = "anonymous says to read without keys, and credential_chain to look for some"
            raise _wrong("s3", reason, "remove one of them")
        self._is_of_oss()
        if self.marker is not None and not self.source.startswith("file://"):
            reason = f"a marker is given, the source is {self.source}"
            raise _wrong("marker", reason, "remove marker: a store or a claim is the same for all nodes")
        if self.writable and self.freshness is None and "freshness" in self.model_fields_set:
            raise _wrong(
                "freshness", "writable and immutable contradict each other", 'say "within: 10s", or not writable'
            )
        if self.stage != "off" and (self.writable or self.freshness is not None):
            reason = "a staged dataset is a copy, which does not change with its source"
            raise _wrong("stage", reason, "remove it, or declare the dataset immutable")
        if self.cache.pin and self.cache.share is not None:
            raise _wrong("cache", "a pinned dataset is whole, a share is a part", "give pin or share")
        return self

    def _is_of_oss(self) -> None:
        if self.oss is not None and not self.source.startswith("oss://"):
            raise _wrong("oss", f"oss is given, the source is {self.source}", "remove oss or use an oss:// source")
        if not self.source.startswith("oss://"):
            return
        if self.oss is None:
            remedy = "write oss: {endpoint: https://oss-<region>.aliyuncs.com, region: <region>}"
            raise _wrong("oss", "nothing says where the bucket is", remedy)
        bucket = urlsplit(self.source).netloc
        if (urlsplit(self.oss.endpoint).hostname or "").startswith(f"{bucket}."):
            raise _wrong("oss", f"its endpoint holds the bucket {bucket}", f"take {bucket}. out of it")
        if self.writable:
            raise _wrong("source", "oss:// is read only here", "remove writable, or write to a file:// or s3:// source")
        if self.through == "under_store":
            raise _wrong("source", "oss:// is read through a cluster only", "remove through")


def _key_file(value: str) -> str:
    if len(value.split("/")) < 4:
        reason = "services are shown the folder that it is in, as a file that changes is replaced"
        raise _wrong("path", reason, "put it into a folder of its own, like /etc/alluxio-keys/credentials")
    return value


KeyFile = Annotated[Path, AfterValidator(_key_file)]


class Aws(Strict):
    """Only for platform containers: what services find by the credential chain. Unset: the role of the instance."""

    profile_file: KeyFile | None = Field(
        None,
        description="File on the nodes in AWS profile format, readable by uid 1000, with profile `default`: session"
        " tokens that change go here. Services read it again every few minutes.",
    )
    role_arn: Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$")] | None = Field(
        None, description="Role that services take by web identity, with `token_file` and `region`."
    )
    token_file: KeyFile | None = Field(
        None, description="File on the nodes with the token of web identity, readable by uid 1000."
    )
    region: str | None = Field(None, min_length=1, description="Region whose STS services ask.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        of_role = {"role_arn": self.role_arn, "token_file": self.token_file, "region": self.region}
        missing = [name for name, value in of_role.items() if value is None]
        if 0 < len(missing) < len(of_role):
            raise _wrong("aws", f"web identity needs {' and '.join(missing)}, too", "write all three, or none")
        if self.profile_file and not missing:
            reason = "services take the role, which comes first in the chain, and never read profile_file"
            raise _wrong("aws", reason, "remove profile_file, or role_arn, token_file and region")
        return self


class Sample(Strict):
    """The generated dataset that is used when none is named."""

    name: Name = Field("imagenet-sample", description="Its name.")
    images: Whole = Field(4000, ge=1, description="JPEG files, 114,660 bytes in the mean.")
    shards: Whole = Field(6, ge=0, description="TFRecord files of about 128 MB.")
    seed: Whole = Field(2012, description="Makes the bytes reproducible.")


class CacheTier(Strict):
    """A medium that caches may use."""

    medium: Medium = Field(description="memory (tmpfs), ssd or hdd.")
    path: Path | None = Field(None, description="Folder of a mounted filesystem; not for memory.")
    devices: list[Path] = Field(
        [], description="Disks to be formatted; empty ones only, or named in wipe. Not together with path."
    )
    wipe: list[Path] = Field(
        [],
        description="Those of devices on which a filesystem or other signature may be destroyed, once: then it is ours."
        " Take it out after that, for what comes under that name later is destroyed, too.",
    )
    budget: Size | None = Field(None, description="At most this much of it. Unset: what is free, less a reserve.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.medium == "memory" and (self.path or self.devices):
            raise _wrong("tier", "memory has no path", "remove path and devices; the plan mounts a tmpfs")
        if self.medium != "memory" and bool(self.path) == bool(self.devices):
            raise _wrong("tier", "a disk tier needs path or devices, one of the two", "give path or devices")
        if others := sorted(set(self.wipe) - set(self.devices)):
            reason = f"wipe names {', '.join(others)}, which the tier's devices do not"
            raise _wrong("tier", reason, "write in wipe what devices say, letter by letter, or take it out")
        return self


class GpuCount(Strict):
    """GPUs of one model on a node."""

    model: str = Field(min_length=1, description="Model, like H100 or the name that nvidia-smi gives.")
    count: Whole = Field(ge=1, description="How many on each node.")
    mb_per_s: Number | None = Field(
        None, gt=0, description="MB/s (10^6) that one reads in your training, as measured. Unset: the public figure."
    )
    files_per_s: Number | None = Field(None, gt=0, description="Files/s that one reads; only with mb_per_s.")

    @model_validator(mode="after")
    def _files_with_bytes(self) -> Self:
        if self.files_per_s is not None and self.mb_per_s is None:
            raise ValueError("files_per_s without mb_per_s: say both, as measured")
        return self


class Gate(Strict):
    """What a node must read, declared rather than derived from its GPUs."""

    mb_per_s: Number | None = Field(None, gt=0, description="MB/s (10^6) per node.")
    files_per_s: Number | None = Field(None, gt=0, description="Files/s per node.")


class Mirrors(Strict):
    """Package mirrors; the planner does not use them."""

    maven: str | None = None
    debian: str | None = None
    go: str | None = None


def _master(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", host) or not port.isdigit() or not 0 < int(port) < 65536:
        raise _wrong("master", "not an address of a master", "write host:port, like alluxio.example:19998")
    return value


class RunningCluster(Strict):
    """Only for platform `host`: the Alluxio cluster that runs elsewhere, for datasets that are read through one."""

    masters: list[Annotated[str, AfterValidator(_master)]] = Field(
        [], description="RPC addresses of its masters, host:port; each dataset is mounted there at /<name> already."
    )
    password: Switch = Field(
        False,
        description="Whether it answers only clients with a password, as a deployment of this bundle does."
        " The password itself is `alluxio_cluster_password`, in a vault.",
    )


def _fail_on(value: list[str]) -> list[str]:
    if "FAIL" not in value:
        raise _wrong("verdicts", "a run would end well with wrong bytes", 'write [FAIL], or [FAIL, "CANNOT TELL"]')
    return value


def _labels(value: dict[str, str]) -> dict[str, str]:
    for key, label in value.items():
        if not re.fullmatch(r"([a-z0-9.-]+/)?[A-Za-z0-9][\w.-]{0,62}", key) or not re.fullmatch(r"[\w.-]{0,63}", label):
            raise _wrong(
                "label", f"{key}: {label} is no label of a Kubernetes node", 'write {"example.com/pool": "gpu"}'
            )
    return value


Labels = Annotated[dict[str, str], AfterValidator(_labels)]


class Delivery(Strict):
    """How the image gets to where pods find it. See docs/kubernetes.md, "The image"."""

    by: Literal["pull", "push", "import"] = Field(
        "pull",
        description="`pull`: it is where nodes can pull it. `push`: a run builds it and pushes it to alluxio_image."
        " `import`: a run builds it and imports it into containerd on every node, under the name alluxio_image.",
    )
    auth_file: Path | None = Field(
        None, description="File on the controller with the registry's credentials, as `podman login` writes it."
    )
    ca_file: Path | None = Field(None, description="PEM file on the controller with the registry's CA.")
    insecure: Switch = Field(False, description="Whether the registry may speak plain HTTP, or have any certificate.")


class Kubernetes(Strict):
    """Only for platforms `kubernetes` and `fluid`: the cluster, and where in it."""

    kubeconfig: Path | None = Field(None, description="File on the controller. Unset: KUBECONFIG, or ~/.kube/config.")
    context: str | None = Field(None, min_length=1, description="Context in it. Unset: the current one.")
    namespace: Name | None = Field(None, description="Namespace; made where it is missing. Unset: alluxio_name.")
    node_access: Switch = Field(
        True,
        description="Whether the inventory reaches the nodes. If not, node stages are skipped, and what is looked at on"
        " nodes is looked at from pods: see docs/kubernetes.md.",
    )
    node_selector: Labels = Field(
        {},
        description="Labels of the nodes for workers and FUSE, like those of an autoscaled pool. Unset: the hosts of"
        " gpu_nodes get a label of ours.",
    )
    tolerations: list[dict[str, Any]] = Field([], description="Tolerations of every pod, besides nvidia.com/gpu.")
    storage_class: str = Field("", description="Storage class of the master's journal. Unset: the cluster's default.")
    release: Literal["own", "external"] = Field(
        "own",
        description="Who installs the chart: the run, or another tool (Argo CD, Flux, helm in CI) under the name"
        " alluxio_name, with the values.yaml that playbooks/plan.yml writes. Of that one the run says what differs.",
    )
    image: Delivery = Field(Delivery(), description="How the image gets to where pods find it.")
    pull_secrets: list[Name] = Field([], description="Existing image pull secrets in the namespace.")
    secrets: dict[Name, Name] = Field(
        {},
        description="By dataset, an existing Secret in the namespace with access_key, secret_key and, for OSS, maybe"
        " security_token, which pods use in place of one made from alluxio_credentials. The controller reads the"
        " source, too, with alluxio_credentials.",
    )
    values: dict[str, Any] = Field(
        {},
        description="Further values of the chart, as charts/alluxio-fuse/README.md lists them, for example monitoring."
        " Those that the plan writes are refused. Not for secrets: they are in the plan.",
    )
    gpu_labels: Switch = Field(
        False,
        description="Write nvidia.com/gpu.present, .product and .count to nodes that neither GPU Feature Discovery nor"
        " the GPU Operator labels.",
    )
    keep_journal: Switch = Field(True, description="Whether teardown leaves the journal's claim, and its namespace.")


def _load(value: Any) -> Any:
    """YAML reads a bare `off` as false."""
    return "off" if value is False else value


def _schedule(value: str) -> str:
    if value not in ("off", "once") and not re.fullmatch(r"[0-9*/,A-Za-z-]+( [0-9*/,A-Za-z-]+){4}", value):
        raise _wrong(
            "load", "neither a word nor a schedule", 'write off, once, or five fields of cron, like "0 3 * * *"'
        )
    return value


class FluidFurther(Strict):
    """Further fields of the objects, as Fluid documents them; those that the plan writes are refused."""

    dataset: dict[str, Any] = Field({}, description="Of the Dataset's spec.")
    runtime: dict[str, Any] = Field({}, description="Of the runtime's spec.")


class Fluid(Strict):
    """Only for platform `fluid`: what its objects say beside the plan. See docs/fluid.md."""

    runtime: Literal["alluxio", "jindo"] = Field("alluxio", description="AlluxioRuntime, or JindoRuntime.")
    image: str = Field(
        "",
        description="Image of the runtime's pods, with a tag. Unset: alluxio_image; with runtime jindo what Fluid's"
        " controller names.",
    )
    load: Annotated[str, AfterValidator(_schedule), BeforeValidator(_load)] = Field(
        "off",
        description="A DataLoad: `once`, or a schedule in cron's five fields. Warm-up loads the workers anyway, after"
        " it has measured cold reads.",
    )
    affinity: Labels = Field(
        {},
        description="Labels that a node must have to cache or to mount. Unset: those of"
        " alluxio_kubernetes.node_selector, else the GPU models (nvidia.com/gpu.product) of the hosts in gpu_nodes,"
        " else these hosts by name.",
    )
    further: FluidFurther = Field(FluidFurther(), description="Further fields of the objects.")


class Headroom(Strict):
    """What masters and workers are sized for, at least: a dataset within it changes nothing of their sizes."""

    datasets: Whole = Field(1, ge=1, description="Datasets, those of today included.")
    files: Whole = Field(0, ge=0, description="Files of all of them.")
    bytes: Size = Field(0, description="Bytes of all of them, as workers are to hold.")


class CheckBudget(Strict):
    """What the check may cost where `alluxio_check_disruptive` is false: for each dataset on each node."""

    bytes: Size = Field(8 * GIB, ge=1, description="Bytes read from elsewhere than the page cache.")
    under_store: Size = Field(4 * GIB, ge=1, description="Bytes of these from the under store.")
    seconds: Whole = Field(600, ge=1, description="Seconds of reading.")


RESNET50 = "resnet50"


class Train(Strict):
    """What playbooks/train.yml trains, and with what; see docs/train.md."""

    python: Path | None = Field(None, description="Interpreter on the GPU nodes that has the framework.")
    image: str = Field("", description="Image on the GPU nodes with the framework and python3, in place of python.")
    program: Annotated[str, Field(pattern=r"^(pytorch|paddle|/.+\.py)$")] = Field(
        "pytorch",
        description="The bundle's program that trains, pytorch or paddle; or the path of your own on the controller.",
    )
    model: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] = Field(
        "resnet50", description="Model, by torchvision's name; `tiny` is for trying things out on processors."
    )
    dataset: Name | None = Field(None, description="Dataset. Unset: the first.")
    folder: str | None = Field(
        None, description="Folder of the dataset with a folder for each class. Unset: train, or the whole dataset."
    )
    images: Whole | None = Field(None, ge=2, description="Images of an epoch. Unset: all.")
    size: Whole = Field(224, ge=8, description="Pixels of an image's side, after a random crop.")
    batch: Whole = Field(256, ge=1, description="Images of a step.")
    epochs: Whole = Field(2, ge=1, description="Epochs of each run; those after the first are told apart.")
    rounds: Whole = Field(3, ge=1, description="Interleaved runs of each path.")
    loaders: Whole = Field(4, ge=1, description="Processes that read and decode.")
    sweep: list[Annotated[Whole, Field(ge=1)]] = Field(
        [], description="Numbers of loaders to try after the rounds, on the mount and the local copy: what limits?"
    )
    gpus: Whole = Field(0, ge=0, description="GPUs to train on; 0: processors.")
    mark: Whole = Field(100, ge=1, description="Steps after which images/s are told, too.")
    seed: Whole = Field(2012, description="Seed of model, order and crops.")
    local_copy: Switch = Field(True, description="Also train from a copy on the node's disk, and time the copying.")

    @property
    def is_resnet50(self) -> bool:
        """Whether it trains what workload `resnet50` means: that model on images of 224 pixels, by a known program."""
        return (self.model, self.size) == (RESNET50, 224) and not self.program.startswith("/")

    @model_validator(mode="after")
    def _runs_somewhere(self) -> Self:
        if self.python and self.image:
            raise _wrong("program", "python and image are both named", "write one of the two")
        return self


def _verify(value: Any) -> Any:
    """`only`, or a switch."""
    return value if value == "only" else parse_switch(value)


class Warm(Strict):
    """With -e: which files playbooks/warm.yml brings where, as a task of its own; see docs/warm.md."""

    datasets: list[Name] = Field([], description="Datasets. Empty: all.")
    paths: list[Annotated[str, Field(min_length=1)]] = Field(
        [], description="Folders, files and globs, in the dataset or below its mount point. Empty: everything."
    )
    filelist: str = Field("", description="File on the controller with one such path a line, without globs.")
    include: list[str] = Field([], description="Globs of the files that count; one without a slash is for names.")
    exclude: list[str] = Field([], description="Globs of files that do not.")
    into: Literal["workers", "stage"] = Field("workers", description="Where the files are to be.")
    bandwidth: Size | None = Field(None, ge=1, description="Bytes a second on each node, at most.")
    verify: Annotated[bool | Literal["only"], BeforeValidator(_verify)] = Field(
        False, description="Compare what was loaded with the manifest's digests; `only`: load nothing."
    )
    evict: Switch = Field(False, description="Give the files up.")
    background: Switch = Field(False, description="Return with the task's name; it goes on.")
    dry_run: Switch = Field(False, description="Say what would be done: bytes, requests, room, time.")
    replicas: Whole = Field(1, description="Copies of a block in the workers: 1.")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if self.replicas != 1:
            reason = "Alluxio 2.9.6 loads one copy of a block, and a read elsewhere makes no second one"
            raise _wrong("replicas", reason, "take replicas out, or stage the files on every node: into: stage")
        if self.evict and self.verify:
            raise _wrong("verify", "what is given up cannot be compared", "write evict, or verify")
        return self


class NodeIntent(Strict):
    """Variables that may differ from host to host."""

    alluxio_gpus: list[GpuCount] | None = Field(None, description="GPUs per node. Unset: detected.")
    alluxio_workload_memory: Size | None = Field(
        None, description="What training needs per node. Unset: 75 % on GPU nodes."
    )
    alluxio_workload_cpus: Number | None = Field(None, ge=0, description="CPUs of training. Unset: 75 %.")
    alluxio_cache_tiers: list[CacheTier] = Field(
        [], description="Cache media. Unset: memory and the state folder's disk."
    )
    alluxio_bind_address: str | None = Field(
        None,
        min_length=1,
        description="Address or interface that services listen on. Unset: loopback on a single node.",
    )


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
    alluxio_workload: Literal["resnet50", "unet3d", "cosmoflow", "none"] | None = Field(
        None, description="What trains. Unset: resnet50 where there are GPUs, as a named assumption."
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
    alluxio_check_fail_on: Annotated[list[Verdict], AfterValidator(_fail_on)] = Field(
        ["FAIL", "CANNOT TELL"],
        description="Verdicts with which a run ends as failed. `[FAIL]` in inventories/local: CANNOT TELL is told, and"
        " how to measure again.",
    )
    alluxio_check_passes: Whole = Field(5, ge=1, description="Passes per cache state.")
    alluxio_check_readers: Whole = Field(4, ge=1, description="Parallel readers.")
    alluxio_check_profiles: list[Profile] = Field(
        [],
        description="Studies that the check makes besides, where caches may be dropped: `fio` (large files by fio,"
        " whole and in ImageNet's block mix; installs it), `tfrecord` (records against JPEG files), `readers` (1 to 32,"
        " each with files of its own), `open-files` (reading while up to 65536 are held open).",
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
        description="Variables that playbooks/tune.yml tries with FUSE processes of their own beside the mount, for"
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
    alluxio_http_proxy: str | None = Field(None, description="Proxy of downloads.")
    alluxio_https_proxy: str | None = Field(None, description="Proxy of downloads over TLS.")
    alluxio_no_proxy: str | list[str] | None = Field(None, description="Hosts without proxy.")
    alluxio_ca_file: str | None = Field(None, description="PEM file of a private CA for downloads.")
    alluxio_mirrors: Mirrors = Field(Mirrors(), description="Package mirrors.")

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return CAPABILITIES[self.alluxio_platform]

    @model_validator(mode="after")
    def _names_once(self) -> Self:
        names = [dataset.name for dataset in self.alluxio_datasets]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise _wrong("names", f"two datasets are named {', '.join(twice)}", "give each its own name")
        return self


SECRET = "alluxio_credentials"  # noqa: S105 - the variable's name; its value never comes near the planner
SECRETS = frozenset({SECRET, "alluxio_cluster_password"})
NODE_VARIABLES = frozenset(NodeIntent.model_fields)
FLEET_VARIABLES = frozenset(FleetIntent.model_fields)
KNOWN_VARIABLES = NODE_VARIABLES | FLEET_VARIABLES
