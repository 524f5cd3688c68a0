"""The Alluxio properties of each service, every one with its reason."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from alluxio_fuse.plan.rules.caches import BLOCK, PAGE
from alluxio_fuse.plan.rules.fuse import Freshness
from alluxio_fuse.plan.values import Value

Properties = dict[str, Value[str]]

OWN = "this deployment's layout"
DRILLED = "seen on 2.9.6: a key replaced under readers"
LOST = "seen on 2.9.6: worker pods that came back with other addresses; Alluxio: 5min and 2min"
MEASURED = "measured: worker path 980 -> 1949 files/s at most, with the client cache 6795"
WAITED = "seen on 2.9.6: 123 s from SIGTERM to the end with the master away, 3 s without"
OVERREAD = "measured: with 64 MiB, the default, the store sent 1.5 times the bytes of objects of 128 MB"
TRIED = "seen on 2.9.6: a local user without rights read an S3 key from the master's RPC port"
AUTHENTICATION: Final = "alluxio.security.authentication.type"
DEFAULTS_SURPRISE = "Alluxio's defaults listen on every address"


@dataclass(frozen=True, slots=True)
class Because:
    """Adds properties (without their common prefix) that share a reason."""

    where: Properties
    rule: str
    why: str
    source: str

    def __call__(self, values: Mapping[str, object]) -> None:
        for key, value in values.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            self.where[f"alluxio.{key}"] = Value(text, self.rule, self.why, self.source)


@dataclass(frozen=True)
class Cluster:
    """What every service must know of the cluster."""

    masters: tuple[str, ...]
    offset_ports: Mapping[str, Mapping[str, int]]
    state_dir: str
    upstream: bool
    clients: int
    object_store: bool
    external: bool = False
    password: bool = False  # whether services answer only those who have the deployment's
    load_batch: Value[int] | None = None

    @cached_property
    def addresses(self) -> Properties:
        """Where the masters are: the same on every service."""
        made: Properties = {}
        ports = self.offset_ports
        where = Because(made, "addresses", "where the masters are", OWN)
        if self.password:
            Because(made, "password", "a master tells the keys of every mount to whoever may ask", TRIED)(
                {
                    AUTHENTICATION.removeprefix("alluxio."): "CUSTOM",
                    "security.authentication.custom.provider.class": "alluxio.image.Password",
                }
            )
        if self.external:
            Because(made, "addresses", "the cluster that runs elsewhere", "alluxio_cluster.masters")(
                {"master.rpc.addresses": ",".join(self.masters)}
            )
            return made
        where({"master.rpc.port": ports["master"]["rpc"], "job.master.rpc.port": ports["job_master"]["rpc"]})
        if len(self.masters) == 1:
            where({"master.hostname": self.masters[0], "job.master.hostname": self.masters[0]})
        else:
            where(
                {
                    name: ",".join(f"{host}:{ports[service][port]}" for host in self.masters)
                    for name, service, port in (
                        ("master.rpc.addresses", "master", "rpc"),
                        ("master.embedded.journal.addresses", "master", "raft"),
                        ("job.master.rpc.addresses", "job_master", "rpc"),
                        ("job.master.embedded.journal.addresses", "job_master", "raft"),
                    )
                }
            )
        return made

    @cached_property
    def quiet(self) -> Properties:
        """What a tuned service does not do."""
        made: Properties = {}
        if not self.upstream:
            Because(made, "quiet", "the web port shows names, contents and logs to whoever asks", DEFAULTS_SURPRISE)(
                {"web.ui.enabled": False, "web.file.info.enabled": False}
            )
            Because(made, "quiet", "no question leaves this network", OWN)({"master.update.check.enabled": False})
            Because(made, "quiet", "channels that idle over a weekend stay authenticated", "Alibaba and Fluid: 365d")(
                {"security.stale.channel.purge.interval": "365d"}
            )
        return made


@dataclass(frozen=True, slots=True)
class TierDir:
    """One folder of a worker tier: alias MEM, SSD or HDD; bytes."""

    alias: str
    path: str
    quota: int


def master(cluster: Cluster, bind: str, address: str) -> Properties:
    """The master's site file."""
    made = cluster.addresses | cluster.quiet
    listen = Because(made, "listen", "listens here only", DEFAULTS_SURPRISE)
    listen(
        {
            "master.bind.host": bind,
            "master.web.bind.host": bind,
            "master.web.hostname": address,
            "master.web.port": cluster.offset_ports["master"]["web"],
        }
    )
    quorum = len(cluster.masters) > 1
    if quorum:
        Because(made, "listen", "this member of the quorum", OWN)(
            {"master.hostname": address, "master.embedded.journal.port": cluster.offset_ports["master"]["raft"]}
        )
    place = Because(made, "journal", "journal, metastore and the empty root folder are ours", OWN)
    place(
        {
            "master.journal.type": "EMBEDDED" if quorum else "UFS",
            "master.journal.folder": f"{cluster.state_dir}/journal",
            "master.metastore.dir": f"{cluster.state_dir}/journal/metastore",
            "master.mount.table.root.ufs": f"{cluster.state_dir}/namespace",
        }
    )
    if not quorum and not cluster.upstream:
        Because(made, "mute_start", "starting, it would say that no file exists, and FUSE remembers that", DRILLED)(
            {"standby.master.grpc.enabled": False}
        )
    if not cluster.upstream:
        Because(made, "lost_workers", "each read waits 3 s for a worker whose address is gone", LOST)(
            {"master.worker.timeout": "30s"}
        )
        threads = min(1024, 64 + 16 * cluster.clients)
        Because(
            made,
            "rpc_threads",
            f"{cluster.clients} clients and workers",
            "Fluid: 128 to 1024; Alluxio: 500 from the start",
        )({"master.rpc.executor.core.pool.size": min(128, threads), "master.rpc.executor.max.pool.size": threads})
        Because(made, "block_size", "the unit that is loaded, placed and evicted", "Fluid: 16MB")(
            {"user.block.size.bytes.default": BLOCK}
        )
        if batch := cluster.load_batch:
            Because(made, batch.rule, batch.why, batch.source)({"job.batch.size": batch.amount})
        if cluster.object_store:
            Because(made, "breadcrumbs", "nothing is written to a source", "Fluid; sources are read-only")(
                {"underfs.object.store.breadcrumbs.enabled": False}
            )
            Because(made, "range", "workers ask the store for a block of an object, and no more", OVERREAD)(
                {"underfs.object.store.multi.range.chunk.size": BLOCK}
            )
    return made


def job_master(cluster: Cluster, bind: str, address: str) -> Properties:
    """The job master's site file."""
    made = cluster.addresses | cluster.quiet
    Because(made, "listen", "listens here only", DEFAULTS_SURPRISE)(
        {
            "job.master.bind.host": bind,
            "job.master.web.bind.host": bind,
            "job.master.web.hostname": address,
            "job.master.web.port": cluster.offset_ports["job_master"]["web"],
        }
    )
    quorum = len(cluster.masters) > 1
    Because(made, "journal", "its journal is beside the master's", OWN)(
        {
            "master.journal.type": "EMBEDDED" if quorum else "UFS",
            "master.journal.folder": f"{cluster.state_dir}/journal",
        }
    )
    if quorum:
        Because(made, "listen", "this member of the quorum", OWN)(
            {
                "job.master.hostname": address,
                "job.master.embedded.journal.port": cluster.offset_ports["job_master"]["raft"],
            }
        )
    return made


def worker(cluster: Cluster, bind: str, address: str, tiers: tuple[TierDir, ...]) -> Properties:
    """A worker's site file."""
    made = cluster.addresses | cluster.quiet
    Because(made, "listen", "listens here only", DEFAULTS_SURPRISE)(
        {
            "worker.hostname": address,
            "worker.bind.host": bind,
            "worker.web.bind.host": bind,
            "worker.web.hostname": address,
            "worker.rpc.port": cluster.offset_ports["worker"]["rpc"],
            "worker.web.port": cluster.offset_ports["worker"]["web"],
        }
    )
    store = Because(made, "tiers", "one level per medium, one folder per disk", OWN)
    aliases = list(dict.fromkeys(tier.alias for tier in tiers))
    store({"worker.tieredstore.levels": len(aliases)})
    for number, alias in enumerate(aliases):
        level = f"worker.tieredstore.level{number}"
        dirs = [tier for tier in tiers if tier.alias == alias]
        store(
            {
                f"{level}.alias": alias,
                f"{level}.dirs.path": ",".join(tier.path for tier in dirs),
                f"{level}.dirs.mediumtype": ",".join(alias for _ in dirs),
                f"{level}.dirs.quota": ",".join(str(tier.quota) for tier in dirs),
            }
        )
        if not cluster.upstream:
            Because(made, "watermarks", "use what was paid for, free in large steps", "Alibaba: 0.99 and 0.8")(
                {f"{level}.watermark.high.ratio": 0.99, f"{level}.watermark.low.ratio": 0.8}
            )
    if not cluster.upstream:
        Because(made, "soon_ended", "its own client ends with a report to the master, and tries for 2 min", WAITED)(
            {"user.metrics.collection.enabled": False}
        )
    return made


def job_worker(cluster: Cluster, bind: str, address: str, cpus: int) -> Properties:
    """A job worker's site file."""
    made = cluster.addresses | cluster.quiet
    ports = cluster.offset_ports["job_worker"]
    Because(made, "listen", "listens here only", DEFAULTS_SURPRISE)(
        {
            "worker.hostname": address,
            "job.worker.hostname": address,
            "job.worker.bind.host": bind,
            "job.worker.web.bind.host": bind,
            "job.worker.rpc.port": ports["rpc"],
            "job.worker.data.port": ports["data"],
            "job.worker.web.port": ports["web"],
            "worker.rpc.port": cluster.offset_ports["worker"]["rpc"],
        }
    )
    if not cluster.upstream:
        Because(made, "job_threads", f"{cpus} CPUs are for all services here", "Fluid: 32, Alluxio: 10")(
            {"job.worker.threadpool.size": min(32, max(4, 4 * cpus))}
        )
    return made


@dataclass(frozen=True, slots=True)
class Client:
    """What the client inside a FUSE process is told."""

    writable: bool
    freshness: Freshness
    cache_path: str | None
    cache_size: int
    entries: int
    libfuse: int
    web_port: int | None
    many_workers: bool
    through_cluster: bool
    handed_keys: bool  # the master is handed the keys of the source while it runs, and may be handed others
    source: Mapping[str, str]


def own_address(address: str) -> Value[str]:
    """alluxio.user.hostname of a FUSE process: by this name the client finds the worker of its own node."""
    return Value(address, "addresses", "by this name the client finds the worker of its own node", OWN)


READ_TYPE: Final = "alluxio.user.file.readtype.default"
UNSAID_READ_TYPE: Final = "CACHE"  # what Alluxio does where nothing is said


def read_past_workers(share: float) -> Value[str]:
    """What FUSE asks of workers that cannot hold the whole set: to pass on what they do not have, and not to keep it.

    Alluxio 2.9.6 forgets to close the under store's connection when a block finds no room in the tier; after
    alluxio.underfs.s3.threads.max of them (40) a worker reads nothing from there until it is started again
    (Alluxio's issue 18750). Seen: one lost in four seconds with four readers, none when read past the workers.
    """
    return Value("NO_CACHE", "read_type", f"workers hold {share:.0%} of the set: what is loaded stays", MEASURED)


def fuse(cluster: Cluster, client: Client) -> Properties:
    """The site file of one dataset's FUSE process, without its node's own address."""
    made = dict(cluster.addresses) if client.through_cluster else _under_store(client)
    Because(
        made,
        "libfuse",
        "unset, the loader takes 3 where it is there and options of 2: the mount fails",
        "seen on 2.9.6",
    )({"fuse.jnifuse.libfuse.version": client.libfuse})
    Because(made, "identity", "FUSE acts as Alluxio's own user, the mount's folder decides who reads", OWN)(
        {"security.login.username": "alluxio"}
    )
    if client.web_port is not None:
        Because(made, "metrics", "counters prove the cache states; loopback only", OWN)(
            {
                "fuse.web.enabled": True,
                "fuse.web.bind.host": "127.0.0.1",
                "fuse.web.hostname": "127.0.0.1",
                "fuse.web.port": client.web_port,
            }
        )
    if cluster.upstream:
        return made
    made |= cluster.quiet
    _client_cache(made, client)
    _metadata(made, client)
    if client.through_cluster:
        Because(made, "lost_workers", "each read waits 3 s for a worker whose address is gone", LOST)(
            {"user.worker.list.refresh.interval": "15s"}
        )
    lean = Because(made, "lean_reads", "a call to the master for each read, or a copy in each worker, saved", MEASURED)
    lean(
        {
            "user.update.file.accesstime.disabled": True,
            "user.file.passive.cache.enabled": False,
            "user.metrics.collection.enabled": False,
        }
    )
    if client.many_workers:
        Because(
            made,
            "one_cold_read",
            "all readers of a block ask the same worker: the under store is read once",
            "Alluxio's tuning guide: limits duplicate cold reads",
        )(
            {
                "user.ufs.block.read.location.policy": "alluxio.client.block.policy.DeterministicHashPolicy",
                "user.ufs.block.read.location.policy.deterministic.hash.shards": 1,
            }
        )
    if client.writable:
        Because(
            made,
            "durable_writes",
            "a write returns when the source has it; the default loses it with its worker",
            "Alluxio's default is ASYNC_THROUGH",
        )({"user.file.writetype.default": "CACHE_THROUGH"})
    Because(made, "paths", "path mappings of every file", "Fluid: 1000000, Alluxio: 500")(
        {"fuse.cached.paths.max": max(500, client.entries)}
    )
    Because(made, "slow_calls", "a slow call is named in the log", "Fluid: 1000ms, Alluxio: 10s")(
        {"fuse.logging.threshold": "1000ms"}
    )
    return made


def _under_store(client: Client) -> Properties:
    """What is said of a source that is read without a cluster; keys are joined in elsewhere."""
    made: Properties = {}
    Because(made, "under_store", "how the source is reached", "alluxio_datasets[].s3")(
        {key.removeprefix("alluxio."): value for key, value in client.source.items()}
    )
    return made


def _client_cache(made: Properties, client: Client) -> None:
    cache = Because(made, "client_cache", "a page store on this node: no round trip to a worker", MEASURED)
    cache({"user.client.cache.enabled": client.cache_path is not None})
    if client.cache_path is None:
        return
    cache(
        {
            "user.client.cache.store.type": "LOCAL",
            "user.client.cache.dirs": client.cache_path,
            "user.client.cache.size": client.cache_size,
            "user.client.cache.page.size": PAGE,
            "user.client.cache.evictor.class": "alluxio.client.file.cache.evictor.LRUCacheEvictor",
        }
    )
    sure = Because(
        made,
        "client_cache_sure",
        "what a read has fetched is in the cache when it returns, and after a restart",
        "states must be certain to be measured",
    )
    sure({"user.client.cache.async.write.enabled": False, "user.client.cache.async.restore.enabled": False})
    if client.freshness.bound is not None:
        Because(
            made, "client_cache_fresh", "pages of an older version of a file are not its pages", "freshness is declared"
        )({"user.client.cache.include.mtime": True})


def _metadata(made: Properties, client: Client) -> None:
    fresh = client.freshness
    why = "immutable: what was seen stays true" if fresh.bound is None else f"a part of the declared {fresh.bound}s"
    layer = Because(made, "freshness_layers", why, "freshness of the dataset")
    layer(
        {
            "user.file.metadata.sync.interval": -1 if fresh.bound is None else f"{fresh.sync}s",
            "user.metadata.cache.enabled": client.entries > 0,
        }
    )
    if client.entries > 0:
        layer(
            {
                "user.metadata.cache.expiration.time": f"{fresh.metadata}s",
                "user.metadata.cache.max.size": client.entries,
            }
        )
    if fresh.bound is not None:
        Because(made, "refresh", "playbooks/refresh.yml tells FUSE to forget names", "off by default")(
            {"fuse.special.command.enabled": True}
        )
    elif client.handed_keys:
        Because(made, "keys", "another key gives the mount another number, and FUSE has to forget the former", DRILLED)(
            {"fuse.special.command.enabled": True}
        )
