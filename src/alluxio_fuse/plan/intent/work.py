"""What the mounts are for: the gate, and what checks, tuning, training and warm-up do."""

import re
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from alluxio_fuse.plan.gpus import NEEDS, Need, gpu_model, measured_as
from alluxio_fuse.plan.intent.parts import Name, Path, Strict, wrong
from alluxio_fuse.plan.units import GIB, Amount, Number, Size, Switch, Whole, parse_switch, parse_whole

Verdict = Literal["FAIL", "CANNOT TELL"]
Profile = Literal["fio", "tfrecord", "tokens", "readers", "open-files"]
MountSetting = Literal["read_ahead_kb", "max_background", "congestion_threshold"]


class Gate(Strict):
    """What a node must read, declared rather than derived from its GPUs."""

    mb_per_s: Number | None = Field(None, gt=0, description="MB/s (10^6) per node.")
    files_per_s: Number | None = Field(None, gt=0, description="Files/s per node.")


def fail_on(value: list[str]) -> list[str]:
    if "FAIL" not in value:
        raise wrong("verdicts", "a run would end well with wrong bytes", 'write [FAIL], or [FAIL, "CANNOT TELL"]')
    return value


class CheckBudget(Strict):
    """What the check may cost where `alluxio_check_disruptive` is false: for each dataset on each node."""

    bytes: Size = Field(8 * GIB, ge=1, description="Bytes read from elsewhere than the page cache.")
    under_store: Size = Field(4 * GIB, ge=1, description="Bytes of these from the under store.")
    seconds: Whole = Field(600, ge=1, description="Seconds of reading.")


RESNET50 = "resnet50"


class Program(NamedTuple):
    """A program of the bundle that trains.

    needs: what python3 must have. shards: which kind of shards it reads; empty: an image is a file. threads: whether
    its loaders are threads, not processes. emulates: whether it trains nothing, and any file is a sample.
    """

    needs: str
    shards: Literal["", "tfrecord", "tar"] = ""
    threads: bool = False
    emulates: bool = False


PROGRAMS = {
    "pytorch": Program("torch and torchvision"),
    "paddle": Program("paddlepaddle"),
    "webdataset": Program("torch, torchvision and webdataset", shards="tar"),
    "tensorflow": Program("tensorflow (2.16 or newer) and google-crc32c", shards="tfrecord", threads=True),
    "emulated": Program("version 3.9 or newer", emulates=True),
}
EMULATED = "emulated"
OWN_PYTHON = "/usr/bin/python3"  # of nodes, which Ansible needs, too
OWN = Program("all that it imports")


def _known(value: str) -> str:
    if value not in PROGRAMS and not re.fullmatch(r"/.+\.py", value):
        reason = "no program of that name"
        raise wrong("program", reason, f"write {', '.join(PROGRAMS)}, or the path of your own, /….py")
    return value


def _accelerators(value: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,4} x [A-Za-z0-9]+", value):
        raise wrong("accelerators", "no number of GPUs and no model", "write both, like 8 x H100")
    return value


class Emulated(NamedTuple):
    """So many accelerators, and what one of them needs.

    named: as the user names them. counted_as: the model whose figure counts, where theirs has none.
    """

    named: str
    counted_as: str
    accelerators: int
    need: Need


def _nodes(value: Any) -> Any:
    """`all`, or how many."""
    if value == "all":
        return value
    number = parse_whole(value)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise wrong("nodes", "this is no number of nodes", "write all, or a number from 1 on")
    return number


class Train(Strict):
    """What playbooks/train.yml trains, and with what; see docs/train.md."""

    python: Path | None = Field(None, description="Interpreter on the GPU nodes that has the framework.")
    image: str = Field("", description="Image on the GPU nodes with the framework and python3, in place of python.")
    program: Annotated[str, AfterValidator(_known)] = Field(
        "pytorch",
        description=f"Program that trains: {', '.join(PROGRAMS)}; or the path of your own on the controller.",
    )
    model: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] = Field(
        "resnet50",
        description="Model, by torchvision's name; `tiny` is for trying things out on processors. Emulated:"
        f" {', '.join(dict.fromkeys(workload for _, workload in NEEDS))}.",
    )
    dataset: Name | None = Field(None, description="Dataset. Unset: the first.")
    folder: str | None = Field(
        None,
        description="Folder of the dataset with a folder for each class, or with shards. Unset: train, or the whole"
        " dataset.",
    )
    images: Whole | None = Field(None, ge=2, description="Images of an epoch. Unset: all.")
    shards: Whole | None = Field(None, ge=1, description="Shards of an epoch, which are read whole. Unset: all.")
    classes: Whole = Field(
        1001, ge=2, description="Labels in shards are below this number; ImageNet's TFRecords count from 1 to 1000."
    )
    size: Whole = Field(224, ge=8, description="Pixels of an image's side, after a random crop; emulated: none.")
    batch: Whole = Field(256, ge=1, description="Images of a step, on each node; emulated: MLPerf's, in its place.")
    epochs: Whole = Field(2, ge=1, description="Epochs of each run; those after the first are told apart.")
    rounds: Whole = Field(3, ge=1, description="Interleaved runs of each path.")
    loaders: Whole = Field(4, ge=1, description="Processes that read and decode; with tensorflow, threads.")
    sweep: list[Annotated[Whole, Field(ge=1)]] = Field(
        [], description="Numbers of loaders to try after the rounds, on the mount and the local copy: what limits?"
    )
    gpus: Whole = Field(0, ge=0, description="GPUs of a node to train on; 0: processors.")
    accelerators: Annotated[str, AfterValidator(_accelerators)] | None = Field(
        None, description="GPUs of a node that program emulated emulates, like `8 x H100`."
    )
    nodes: list[Annotated[int | Literal["all"], BeforeValidator(_nodes)]] = Field(
        ["all"],
        description="Nodes that train together on Kubernetes: a number, `all`, or a list with a table for each of them,"
        " like [1, all]: each trains on images of its own, so that each reads cold. Elsewhere each node trains alone.",
    )
    mark: Whole = Field(100, ge=1, description="Steps after which images/s are told, too.")
    seed: Whole = Field(2012, description="Seed of model, order and crops.")
    local_copy: Switch = Field(True, description="Also train from a copy on the node's disk, and time the copying.")

    @field_validator("nodes", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        if value in (None, "", []):
            return ["all"]
        return value if isinstance(value, list) else [value]

    @property
    def reads(self) -> Program:
        """What is known of its program."""
        return PROGRAMS.get(self.program, OWN)

    @property
    def emulated(self) -> Emulated | None:
        """What it emulates."""
        if not self.accelerators:
            return None
        count, _, model = self.accelerators.partition(" x ")
        known = measured_as(gpu_model(model), self.model)
        return Emulated(
            self.accelerators, "" if known == gpu_model(model) else known, int(count), NEEDS[known, self.model]
        )

    @property
    def is_resnet50(self) -> bool:
        """Whether it trains what workload `resnet50` means: that model on images of 224 pixels, by a known program."""
        return (self.model, self.size) == (RESNET50, 224) and not self.program.startswith("/")

    @model_validator(mode="before")
    @classmethod
    def _emulates_by_the_nodes_own_python(cls, said: Any) -> Any:
        if not isinstance(said, dict) or said.get("program") != EMULATED or said.get("python") or said.get("image"):
            return said
        return {**said, "python": OWN_PYTHON}

    @model_validator(mode="after")
    def _emulates_what_is_known(self) -> Self:
        if not self.reads.emulates:
            if self.accelerators is not None:
                reason = f"accelerators: {self.accelerators}: {self.program} emulates none"
                raise wrong("program", reason, f"write program: {EMULATED}, or leave it out")
            return self
        if self.accelerators is None:
            raise wrong("program", f"{EMULATED}: nothing says which GPUs", "write accelerators, like 8 x H100")
        if self.gpus:
            raise wrong("program", f"gpus: {self.gpus}: {EMULATED} trains on none", "write 0, or another program")
        model = self.accelerators.rpartition(" ")[2]
        if (measured_as(gpu_model(model), self.model), self.model) not in NEEDS:
            reason = f"accelerators: {self.accelerators}: no public figure for {model} on {self.model}"
            known = ", ".join(f"{one} on {workload}" for one, workload in NEEDS)
            raise wrong("program", reason, f"write GPU and model of one of these: {known}")
        return self

    @model_validator(mode="after")
    def _runs_somewhere(self) -> Self:
        if self.python and self.image:
            raise wrong("program", "python and image are both named", "write one of the two")
        return self

    @model_validator(mode="after")
    def _counts_what_it_reads(self) -> Self:
        if self.reads.shards and self.images is not None:
            raise wrong("program", f"images: {self.images}: {self.program} reads whole shards", "write shards instead")
        if self.shards is not None and not self.reads.shards:
            raise wrong("program", f"shards: {self.shards}: {self.program} reads no shards", "write images instead")
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
    bandwidth: Amount | None = Field(None, ge=1, description="Bytes a second on each node, at most.")
    verify: Annotated[bool | Literal["only"], BeforeValidator(_verify)] = Field(
        False, description="Compare what was loaded with the manifest's digests; `only`: load nothing."
    )
    evict: Switch = Field(False, description="Give the files up.")
    when_idle: Whole = Field(
        0, description="Seconds to wait at most until no process reads on any node and no GPU computes; 0: not at all."
    )
    background: Switch = Field(False, description="Return with the task's name; it goes on.")
    dry_run: Switch = Field(False, description="Say what would be done: bytes, requests, room, time.")
    replicas: Whole = Field(1, description="Copies of a block in the workers: 1.")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if self.replicas != 1:
            reason = "Alluxio 2.9.6 loads one copy of a block, and a read elsewhere makes no second one"
            raise wrong("replicas", reason, "take replicas out, or stage the files on every node: into: stage")
        if self.evict and self.verify:
            raise wrong("verify", "what is given up cannot be compared", "write evict, or verify")
        return self
