"""Datasets: where they are, who reads them, and what of them is cached and staged."""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from alluxio_fuse.plan import nfs, schemes
from alluxio_fuse.plan.intent.parts import Name, Path, Share, Strict, wrong
from alluxio_fuse.plan.pvc import is_claim
from alluxio_fuse.plan.schemes import BY_CLUSTER, FOLDER, FORMS, HDFS, OSS, READ_ONLY, forms
from alluxio_fuse.plan.stores import instead
from alluxio_fuse.plan.units import Size, Switch, Whole, parse_duration

StageWish = Literal["off", "auto", "require"]


def _source(value: str) -> str:
    url = urlsplit(value)
    if f"{url.scheme}://" not in FORMS:
        place = url.netloc.rpartition("@")[2] + url.path
        raise wrong("source", *instead(url.scheme, place))
    if not value.startswith(f"{url.scheme}://"):
        raise wrong("source", "not a source as it is written here", f"begin it with {url.scheme}://")
    if url.username or url.password:
        raise wrong("secret", "credentials do not belong in a source", "put them in alluxio_credentials")
    if url.scheme == "file" and (url.netloc or not url.path.startswith("/") or url.path == "/"):
        raise wrong("source", "not an absolute folder", "write file:///absolute/folder")
    if url.scheme == "pvc":
        if not is_claim(value):
            remedy = "write pvc://<name of a PersistentVolumeClaim>, or a folder of it after that"
            raise wrong("source", "not a claim", remedy)
        return value.rstrip("/")
    if url.scheme == "nfs":
        if not nfs.export_of(value):
            reason = "not an export: a host name or IPv4 address without a port, and a path below /"
            remedy = "write nfs://<server>/<export>, or a folder below it; mount anything else yourself, as file://"
            raise wrong("source", reason, remedy)
        return value.rstrip("/")
    if url.scheme == "hdfs":
        _is_one_namenode(url)
    elif url.scheme != "file" and not url.netloc:
        raise wrong("source", "no bucket", f"write {url.scheme}://bucket/prefix")
    return value.rstrip("/")


def _is_one_namenode(url: SplitResult) -> None:
    remedy = "write hdfs://<namenode>:<port>/folder; dfs.namenode.rpc-address has both, the port is mostly 8020 or 9000"
    if not url.hostname or "," in url.netloc:
        raise wrong("source", "one namenode is read here", remedy)
    if "[" in url.netloc:
        raise wrong("source", "services reach HDFS by IPv4", remedy)
    try:
        port = url.port
    except ValueError:
        raise wrong("source", "its port is no number", remedy) from None
    if port is None:
        reason = "it has no port; a name without one stands for several namenodes (HA), which are not read here"
        raise wrong("source", reason, remedy)
    if not url.path.strip("/"):
        raise wrong("source", "Alluxio cannot mount the root of HDFS", "name a folder below it")


def _mode(value: Any) -> Any:
    """YAML reads a bare 0755 as a number to the base 8, which is 493."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    meant = [f"0{value:03o}", f"0{value}"] if isinstance(value, int) else []
    if known := [f'"{one}"' for one in meant if re.fullmatch(r"0[0-7]{3}", one)]:
        reason = "a number: without quotes YAML reads 0750 as 488"
        raise wrong("mode", reason, f"write it in quotes: {' or '.join(known)}")
    if not re.fullmatch(r"0[0-7]{3}", str(value)):
        raise wrong("mode", "not a mode", 'write four octal digits in quotes, like "0755"')
    return value


def read_freshness(value: Any) -> Any:
    """Seconds within which a change is seen, or None for immutable; `within: 10m` as text or as a mapping."""
    if value == "immutable":
        return None
    within = value.get("within") if isinstance(value, dict) and set(value) == {"within"} else None
    if isinstance(value, str) and value.startswith("within:"):
        within = value.removeprefix("within:").strip()
    if within is None:
        raise wrong("freshness", "not a freshness", 'write immutable or "within: 10m"')
    seconds = parse_duration(within)
    if seconds < 4:
        raise wrong("freshness", "caches share it, a second each", 'at least "within: 4s"')
    return seconds


class Readers(Strict):
    """Who may read a dataset: owner and mode of the folder above its mount point."""

    uid: Whole = Field(
        0,
        ge=0,
        description="Owner of the folder above the mount point; other than root with stage off on kubernetes.",
    )
    gid: Whole = Field(0, ge=0, description="Its group.")
    mode: Annotated[str, BeforeValidator(_mode)] = Field("0755", description="Its mode, four octal digits in quotes.")


class CacheWish(Strict):
    """How much of the caches a dataset may take."""

    share: Share | None = Field(
        None, description="At most this part of the caches, above 0 up to 1. Unset: by its size."
    )
    pin: Switch = Field(False, description="Whole in the caches, never evicted; refused where it does not fit.")


def _address(value: str, written: str) -> str:
    if not re.fullmatch(r"https?://[^/@?#\s]+/?", value):
        reason = "not an address of a store: scheme, host, maybe a port, and no path"
        raise wrong("endpoint", reason, f"write {written}, without the bucket")
    return value.rstrip("/")


def _of_s3(value: str) -> str:
    host = re.match(r"(?:https?://)?([A-Za-z0-9.-]+(?::\d+)?)(?:/|$)", value)
    return _address(value, f"https://{host[1] if host else 's3.example.com:9000'} or http://…") if value else value


def _of_oss(value: str) -> str:
    return _address(value, "https://oss-<region>.aliyuncs.com")


class S3(Strict):
    """Where an s3:// source is, and which keys it is read with: those in `alluxio_credentials`, if nothing is said."""

    endpoint: Annotated[str, AfterValidator(_of_s3)] | None = Field(
        None, description="URL of the store, without a path; unset: AWS."
    )
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


def _region(value: str) -> str:
    if not re.fullmatch(r"(?!oss-)[a-z0-9-]+", value):
        raise wrong("region", "not a region as requests are signed for", "write it like cn-hangzhou, without oss-")
    return value


class Oss(Strict):
    """Where an oss:// source is. Its keys are in `alluxio_credentials`."""

    endpoint: Annotated[str, AfterValidator(_of_oss)] = Field(
        description="URL of the store, https://oss-<region>.aliyuncs.com, or inside its network"
        " https://oss-<region>-internal.aliyuncs.com."
    )
    region: Annotated[str, AfterValidator(_region)] = Field(
        description="Region of the bucket, like cn-hangzhou: requests are signed for it (version 4)."
    )


def _web(value: str) -> str:
    if not re.fullmatch(r"https?://[^/@:?#\s]+(:\d{1,5})?/?", value):
        raise wrong("web", "not an address of a namenode", "write http://<namenode>:9870, without a path")
    return value.rstrip("/")


class Hdfs(Strict):
    """How the controller reads an hdfs:// source. Services ask the namenode that the source names."""

    web: Annotated[str, AfterValidator(_web)] | None = Field(
        None,
        description="URL at which the namenode, or an HttpFS before it, answers WebHDFS; unset: port 9870 of the"
        " namenode.",
    )


class Nfs(Strict):
    """How nodes mount an nfs:// source. In pods Kubernetes mounts it, and gives it no options."""

    version: Literal["3", "4.0", "4.1", "4.2"] = Field(
        "4.1", description="The one version that is spoken, in quotes; preflight tries it."
    )
    connections: Whole = Field(
        8,
        ge=1,
        le=16,
        description="TCP connections to the server (`nconnect`; Linux 5.3 or newer). 1 where a server does not bear"
        " several, like Amazon EFS; version 4.0 has one.",
    )


def _below(value: str) -> str:
    if not value or value.startswith("/") or ".." in value.split("/"):
        raise wrong("file", "not a file of the source", "write its path from the source on, without ..")
    return value


def _sha256(value: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        raise wrong("digest", "not a SHA-256", "write the 64 hexadecimal digits that sha256sum prints")
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
    source: Annotated[str, AfterValidator(_source)] = Field(description=f"{forms()} of a cluster.")
    files: Whole | None = Field(None, ge=1, description="Number of files. Unset: counted at the source, by size.")
    bytes: Size | None = Field(None, ge=1, description="Total size. Unset: counted at the source.")
    readers: Readers = Field(Readers(), description="Who may read it.")
    freshness: Annotated[int | None, BeforeValidator(read_freshness)] = Field(
        None, description='`immutable` (the default when read-only) or "within: 10m": when a change must be seen.'
    )
    writable: Switch = Field(False, description="Whether `readers` may write, too; see docs/writable.md.")
    cache: CacheWish = Field(CacheWish(), description="Its share of the caches.")
    s3: S3 | None = Field(None, description="Only for s3:// sources.")
    oss: Oss | None = Field(None, description="Only for oss:// sources, which need it.")
    hdfs: Hdfs | None = Field(None, description="Only for hdfs:// sources.")
    nfs: Nfs | None = Field(None, description="Only for nfs:// sources.")
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
        if self.s3 is not None and not self.source.startswith(schemes.S3):
            raise wrong("s3", f"s3 is given, the source is {self.source}", "remove s3 or use an s3:// source")
        if self.s3 is not None and self.s3.anonymous and self.writable:
            raise wrong("s3", "anonymous and writable contradict each other", "write with keys, or remove writable")
        if self.s3 is not None and self.s3.anonymous and self.s3.credential_chain:
            reason = "anonymous says to read without keys, and credential_chain to look for some"
            raise wrong("s3", reason, "remove one of them")
        self._is_of_oss()
        if self.hdfs is not None and not self.source.startswith(HDFS):
            raise wrong("hdfs", f"hdfs is given, the source is {self.source}", "remove hdfs or use an hdfs:// source")
        self._is_of_nfs()
        self._is_read_only()
        if self.marker is not None and not self.source.startswith(FOLDER):
            reason = f"a marker is given, the source is {self.source}"
            raise wrong("marker", reason, "remove marker: a store or a claim is the same for all nodes")
        if self.writable and self.freshness is None and "freshness" in self.model_fields_set:
            raise wrong(
                "freshness", "writable and immutable contradict each other", 'say "within: 10s", or not writable'
            )
        if self.stage != "off" and (self.writable or self.freshness is not None):
            reason = "a staged dataset is a copy, which does not change with its source"
            others = "writable" if self.writable else "freshness"
            raise wrong("stage", reason, f"remove stage, or remove {others}", at=("stage",))
        if self.cache.pin and self.cache.share is not None:
            raise wrong("cache", "a pinned dataset is whole, a share is a part", "give pin or share")
        return self

    def _is_of_nfs(self) -> None:
        if self.nfs is not None and not nfs.is_export(self.source):
            raise wrong("nfs", f"nfs is given, the source is {self.source}", "remove nfs or use an nfs:// source")
        if nfs.is_export(self.source) and self.freshness is not None and self.freshness < nfs.LEAST_WITHIN_S:
            reason = "the NFS client and the caches above it share it, a second each"
            raise wrong("freshness", reason, f'at least "within: {nfs.LEAST_WITHIN_S}s"')

    def _is_of_oss(self) -> None:
        if self.oss is not None and not self.source.startswith(OSS):
            raise wrong("oss", f"oss is given, the source is {self.source}", "remove oss or use an oss:// source")
        if not self.source.startswith(OSS):
            return
        if self.oss is None:
            remedy = "write oss: {endpoint: https://oss-<region>.aliyuncs.com, region: <region>}"
            raise wrong("oss", "nothing says where the bucket is", remedy)
        bucket = urlsplit(self.source).netloc
        if (urlsplit(self.oss.endpoint).hostname or "").startswith(f"{bucket}."):
            raise wrong("oss", f"its endpoint holds the bucket {bucket}", f"take {bucket}. out of it")

    def _is_read_only(self) -> None:
        scheme = next((scheme for scheme in READ_ONLY if self.source.startswith(scheme)), None)
        if scheme and self.writable:
            raise wrong(
                "source", f"{scheme} is read only here", "remove writable, or write to a file:// or s3:// source"
            )
        if self.source.startswith(BY_CLUSTER) and self.through == "under_store":
            raise wrong("source", f"{scheme} is read through a cluster only", "remove through")


class Sample(Strict):
    """The generated dataset that is used when none is named."""

    name: Name = Field("imagenet-sample", description="Its name.")
    images: Whole = Field(4000, ge=1, description="JPEG files, 114,660 bytes in the mean.")
    shards: Whole = Field(6, ge=0, description="TFRecord files of about 128 MB.")
    seed: Whole = Field(2012, description="Makes the bytes reproducible.")
