"""What an inventory says of nodes: their GPUs, media and memory, and what services find there."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from alluxio_fuse.plan.intent.parts import Medium, Path, Strict, wrong
from alluxio_fuse.plan.units import Amount, Number, Whole


def _key_file(value: str) -> str:
    if len(value.split("/")) < 4:
        reason = "services are shown the folder that it is in, as a file that changes is replaced"
        raise wrong("path", reason, "put it into a folder of its own, like /etc/alluxio-keys/credentials")
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
            raise wrong("aws", f"web identity needs {' and '.join(missing)}, too", "write all three, or none")
        if self.profile_file and not missing:
            reason = "services take the role, which comes first in the chain, and never read profile_file"
            raise wrong("aws", reason, "remove profile_file, or role_arn, token_file and region")
        return self


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
    budget: Amount | None = Field(None, description="At most this much of it. Unset: what is free, less a reserve.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.medium == "memory" and (self.path or self.devices):
            raise wrong("tier", "memory has no path", "remove path and devices; the plan mounts a tmpfs")
        if self.medium != "memory" and bool(self.path) == bool(self.devices):
            raise wrong("tier", "a disk tier needs path or devices, one of the two", "give path or devices")
        if others := sorted(set(self.wipe) - set(self.devices)):
            reason = f"wipe names {', '.join(others)}, which the tier's devices do not"
            raise wrong("tier", reason, "write in wipe what devices say, letter by letter, or take it out")
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
            raise wrong("gpu", "files_per_s without mb_per_s", "say both, as measured", at=("files_per_s",))
        return self


class NodeIntent(Strict):
    """Variables that may differ from host to host."""

    alluxio_gpus: list[GpuCount] | None = Field(None, description="GPUs per node. Unset: detected.")
    alluxio_workload_memory: Amount | None = Field(
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
