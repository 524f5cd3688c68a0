"""The facts of a node, exactly as the module `alluxio.fuse.node_facts` returns them. Sizes in bytes."""

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Distribution(_Fact):
    """What the node runs."""

    id: str
    version: str


class Memory(_Fact):
    """`limit` is the cgroup's, null when there is none."""

    total: int
    available: int
    limit: int | None


class Cgroup(_Fact):
    """The hierarchy's version."""

    version: Literal[1, 2]


class Nofile(_Fact):
    """Open files per process."""

    soft: int
    hard: int


class Filesystem(_Fact):
    """A mounted filesystem, `number` of its device; `owned` is what this deployment already holds there.

    inodes_free: null where there is no bound.
    """

    mount: str
    type: str
    device: str
    number: str = ""
    size: int
    free: int
    inodes_free: int | None
    owned: int
    rotational: bool | None


class BlockDevice(_Fact):
    """A disk, whether or not anything is on it."""

    name: str
    path: str
    by_id: str | None
    size: int
    rotational: bool | None
    signature: str | None
    partitions: list[str]
    holders: list[str]
    mounted: bool


class Fuse(_Fact):
    """What is there to mount with."""

    device: bool
    mode: str
    sonames: list[str]
    user_allow_other: bool
    fusermount: list[int]


class Java(_Fact):
    """An installed JDK."""

    home: str
    major: int


class Interface(_Fact):
    """A network interface; the speed is null where the kernel does not know it."""

    name: str
    addresses: list[str]
    speed_mbps: int | None


class Gpu(_Fact):
    """One GPU; memory in bytes."""

    model: str
    memory: int
    mig: bool


class Listener(_Fact):
    """A listening TCP socket."""

    address: str
    port: int
    process: str | None


class Mount(_Fact):
    """An entry of the mount table."""

    point: str
    type: str
    source: str
    options: list[str]


class MountPoint(_Fact):
    """The state of a path that was asked for."""

    state: Literal["absent", "empty", "files", "mounted", "stale", "hung"]
    type: str | None
    source: str | None


class Taken(_Fact):
    """A place that the deployment is to have for itself, and that holds what is not its own."""

    path: str
    holds: list[str]


class Leftover(_Fact):
    """Alluxio that no deployment of this bundle answers for."""

    kind: Literal["process", "mount", "unit"]
    name: str
    state: str


class Speed(_Fact):
    """A disk's speed past the page cache, in 10^6 bytes per second."""

    read_mb_s: int
    write_mb_s: int


class FoundName(_Fact):
    """What a node's resolver says of a peer; null where it did not answer."""

    name: str
    address: str
    forward: list[str] | None
    reverse: list[str] | None


class Bucket(NamedTuple):
    """Files of about one size: how many, of at most `bound` bytes each, and their bytes together."""

    bound: int
    files: int
    bytes: int


class Source(_Fact):
    """The state of a dataset's source; files, bytes and their histogram where a listing ended within its limit.

    number: of the device that a folder of the node is on; a subvolume of btrfs has one that no filesystem has.
    """

    state: Literal[
        "ok",
        "missing",
        "empty",
        "unreachable",
        "denied",
        "foreign",
        "unsupported",
        "keyless",
        "unfound",
        "contradictory",
        "tokened",
    ]
    detail: str | None
    files: int | None
    bytes: int | None
    sizes: list[Bucket] | None = None
    keys_from: str = ""
    number: str = ""


class OtherContainer(_Fact):
    """A container that others made, with a name that a service of ours needs."""

    name: str
    state: str
    image: str


class TunedSetting(_Fact):
    """What playbooks/tune.yml has kept of one setting, and why."""

    amount: int
    why: str
    at: str


class TunedMount(_Fact):
    """What was kept for one dataset's mount, by setting; `behind`: what served the mount when it was tried."""

    behind: str
    kept: dict[str, TunedSetting]


class Trained(_Fact):
    """What one GPU reached in playbooks/train.yml without reading: images/s, and bytes of an image of the dataset."""

    gpu: str
    images_per_s: float
    image_bytes: float
    at: str


class Facts(_Fact):
    """Everything the planner knows about one node."""

    hostname: str
    architecture: str
    kernel: str
    distribution: Distribution
    service_manager: Literal["systemd", "none"]
    cpus: float
    numa_nodes: int
    memory: Memory
    swap: int
    cgroup: Cgroup
    nofile: Nofile
    containerd_files: int | None = None  # what the node's containerd, and containers, may open; null: none runs
    shared_root: bool
    filesystems: list[Filesystem]
    block_devices: list[BlockDevice]
    fuse: Fuse
    layers: bool = False
    java: list[Java]
    network: list[Interface]
    gpus: list[Gpu]
    gpu_driver: str | None
    listeners: list[Listener]
    mounts: list[Mount]
    mount_points: dict[str, MountPoint] = Field(default_factory=dict)
    sources: dict[str, Source] = Field(default_factory=dict)
    media_speed: dict[str, Speed] = Field(default_factory=dict)
    leftovers: list[Leftover] = Field(default_factory=list)
    taken: list[Taken] = Field(default_factory=list)
    clock_skew: float = 0.0
    names: list[FoundName] = Field(default_factory=list)
    tuned: dict[str, TunedMount] = Field(default_factory=dict)
    trained: dict[str, Trained] = Field(default_factory=dict)  # by workload
    manifests: dict[str, str] = Field(default_factory=dict)
    readers: dict[str, list[str]] = Field(default_factory=dict)
    containers: list[OtherContainer] = Field(default_factory=list)
    key_files: dict[str, str] = Field(default_factory=dict)  # those that services cannot read, and why
    owned: dict[str, object]
