"""Which paths are trained on, in which order, and what speaks against it."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from alluxio_fuse.check.passes import LEAST_STEPS, before
from alluxio_fuse.plan.gpus import WORKLOADS
from alluxio_fuse.plan.intent.work import Train

Run = dict[str, Any]

SAMPLES_IN_SHARD = 10  # a file that is so many times larger than a sample is no sample
CHANNELS, FLOAT_BYTES = 3, 4
PREFETCHED = 2  # batches that each loader has ready, as PyTorch's DataLoader does
SWEPT = ("mount", "local copy")  # by different numbers of loaders: the second one tells what the first could give
COPY = "copy"  # the local copy's folder in the scratch folder
UNKNOWN_NAMES = 8  # of names that nobody has asked for yet only a few are looked at, since looking opens a file


def orders(train: Train) -> dict[str, Any]:
    """What programs are told, but for what only the node knows; `shards` says which files are to be found there."""
    told = ("folder", "images", "model", "batch", "size", "epochs", "loaders", "gpus", "seed", "mark")
    about = {"count": train.shards, "classes": train.classes, "image_bytes": WORKLOADS["resnet50"].sample_bytes}
    shards = {"kind": train.reads.shards, **about} if train.reads.shards else None
    found = {key: getattr(train, key) for key in told} | {"shards": shards, "emulated": None}
    if one := train.emulated:
        found["batch"] = one.need.batch
        found["emulated"] = {
            "named": one.named,
            "accelerators": one.accelerators,
            "compute_s": one.need.compute_s,
        }
    return found


def early_refusals(train: Train, facts: Mapping[str, Any], users: list[str], where: str) -> list[str]:
    """What speaks against training before a program was started; `where` is the path that others may read."""
    found = []
    if users:
        found.append(
            f"{where} is in use by {', '.join(users)}: training would slow them down, and they the training; wait for"
            " them to end"
        )
    if reason := facts.get("few"):
        found.append(
            f"alluxio_train.images: {train.images}: {reason}: each of {len(train.nodes)} numbers of nodes trains on"
            " images that no other has read; write fewer images"
        )
    if reason := facts.get("unlabelled"):
        shards = f"with shards, or a program that reads no {train.reads.shards}" if train.reads.shards else ""
        wanted = "with files" if train.emulated else shards
        remedy = f"name a folder {wanted or 'with class folders'}"
        found.append(f"alluxio_train.folder: {train.folder or 'unset'}: {reason}; {remedy}")
    return found


def refusals(train: Train, facts: Mapping[str, Any], users: list[str], where: str) -> list[str]:
    """Why nothing is trained on a node, each with what to write instead."""
    said = f"alluxio_train.image: {train.image}" if train.image else f"alluxio_train.python: {train.python}"
    found = early_refusals(train, facts, users, where)
    if "unlabelled" in facts:
        return found
    if reason := facts.get("cannot_run"):
        remedy = f"name one whose python3 has {train.reads.needs}"
        return [*found, f"{said}: it cannot run {train.program} on {_device(train)}: {reason}; {remedy}"]
    most = max([train.loaders, *train.sweep])
    if train.reads.shards and not train.reads.threads and facts["shards"] < most:
        found.append(
            f"alluxio_train: {most} loaders (loaders, sweep): each reads whole shards, and there are {facts['shards']},"
            f" so some would read nothing; write {facts['shards']} or less"
        )
    found += _emulated_refusals(train, facts)
    if (need := memory(train, facts["runs"]["resident_bytes"])) > facts["memory"]:
        found.append(
            f"alluxio_train: {train.loaders} loaders with batches of {train.batch} may need {_gb(need)} of memory, and"
            f" {_gb(facts['memory'])} are free; lower loaders or batch"
        )
    if train.local_copy and facts["bytes"] > facts["disk"]:
        found.append(
            f"alluxio_train.local_copy: true: the copy needs {_gb(facts['bytes'])}, and {_gb(facts['disk'])} are free;"
            " write false, or fewer images or shards"
        )
    return found


def _emulated_refusals(train: Train, facts: Mapping[str, Any]) -> Iterator[str]:
    """Why files are no samples for these accelerators, or too few."""
    if not (one := train.emulated):
        return
    said, mean = f"alluxio_train.accelerators: {one.named}", facts["bytes"] / facts["images"]
    size, least = one.need.workload.sample_bytes, LEAST_STEPS * one.accelerators * one.need.batch
    if mean > SAMPLES_IN_SHARD * size:
        yield (
            f"{said}: a file has {mean / 1e6:.1f} MB here, and a sample of {train.model} {size / 1e6:.1f} MB: a file"
            " counts as a sample; name a folder with such files, or another model"
        )
    elif facts["images"] < least:
        yield (
            f"{said}: {LEAST_STEPS} batches of {one.need.batch} for each are {least} files, and there are"
            f" {facts['images']}; write fewer accelerators"
        )


def memory(train: Train, resident: int) -> int:
    """Bytes that training may need at most: each loader as large as the program, and the batches that it has ready."""
    batch = 0 if train.emulated else train.batch * CHANNELS * train.size * train.size * FLOAT_BYTES
    processes = 1 if train.reads.threads else 1 + train.loaders
    return resident * processes + batch * PREFETCHED * train.loaders


def runs(dataset: Mapping[str, Any], train: Train, scratch: str, disruptive: bool) -> list[Run]:
    """Interleaved rounds over all paths, the one that costs most to make ready last; then the sweep of loaders.

    The sweep drops no caches, so that from its second run on it reads what memory can give.
    """
    made = []
    for number in range(1, train.rounds + 1):
        for path, how in _paths(dataset, train, f"{scratch}/{COPY}"):
            source = how.pop("source", None)
            if source and number == 1:
                copy = {"name": "copying to the disk", "path": path, "kind": "copy", "root": how["root"]}
                made.append({**copy, "source": source, "round": number})
            kind = "train" if how["root"] else "synthetic"
            dropped = before(disruptive) if how["root"] else None
            made.append(
                {"name": f"{number}: {path}", "path": path, "kind": kind, "before": dropped, "round": number, **how}
            )
    targets = {path: how for path, how in _paths(dataset, train, f"{scratch}/{COPY}") if path in SWEPT}
    for count in train.sweep:
        for path, how in targets.items():
            swept = {key: value for key, value in how.items() if key != "source"}
            name = f"{count} {'loader' if count == 1 else 'loaders'}: {path}"
            made.append({"name": name, "path": path, "kind": "train", "round": 0, "loaders": count, **swept})
    return made


def look() -> Run:
    """The run that starts the program in pods, and trains nothing."""
    return {"name": "look", "path": "synthetic", "kind": "synthetic", "root": None, "round": 0, "epochs": 0}


def pod_runs(dataset: Mapping[str, Any], train: Train) -> list[Run]:
    """The same in pods, which see what consumers do: of a staged dataset the copy, and not the FUSE mount behind it."""
    seen = {**dataset, "folder": "", "compare": [], "mount_point": dataset["path"], "client_cache_bytes": 0}
    hidden = "mount" if dataset.get("stage") else ""
    found = runs(seen, train.model_copy(update={"local_copy": False}), "", disruptive=False)
    return [one for one in found if one["path"] != hidden]


def _paths(dataset: Mapping[str, Any], train: Train, copy: str) -> Iterator[tuple[str, Run]]:
    """Each path by its name in the table, with its folder (None: batches are made up)."""
    here = dataset["folder"]
    yield "synthetic", {"root": None}
    if here:
        yield "source", {"root": here}
    for other in dataset.get("compare") or ():
        yield other["name"], {"root": other["mount_point"], "metrics": other["metrics"]}
    direct = {"direct": True} if dataset.get("direct") else {}
    cached = dataset.get("client_cache_bytes", 0) > 0
    cache = {"cache": str(PurePosixPath(dataset["identity_file"]).parent)} if cached else {}
    metrics = dataset["metrics"]
    yield "mount", {"root": dataset["mount_point"], "metrics": metrics, "look": UNKNOWN_NAMES, **direct, **cache}
    if stage := dataset.get("stage"):
        yield "staged", {"root": stage["path"], "metrics": metrics, "medium": stage["medium"]}
    if train.local_copy:
        yield "local copy", {"root": copy, "source": here or dataset["mount_point"]}


def _device(train: Train) -> str:
    return f"{train.gpus} GPUs" if train.gpus else "processors"


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
