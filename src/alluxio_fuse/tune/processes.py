"""Options that need FUSE to be started again: tried by processes beside that of the mount, which is left as it is.

What is tried is what a user could write, and the planner says what would come of it. A process like the planned one is
among them, as young and with a cache as fresh as the others, so that they differ in the options alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml
from pydantic import BaseModel

from alluxio_fuse.check.passes import CheckSettings, Pass, rounds
from alluxio_fuse.check.profiles import KINDS
from alluxio_fuse.plan import Refused
from alluxio_fuse.plan import plan as derive
from alluxio_fuse.plan.mount_settings import MOUNT_SETTINGS
from alluxio_fuse.plan.parts import PlannedCache
from alluxio_fuse.plan.rules import caches
from alluxio_fuse.plan.units import MIB
from alluxio_fuse.plan.values import Amounts, amounts
from alluxio_fuse.tune.trials import in_turn

KNOB: Final = "process"
AS_PLANNED: Final = "as planned"
OVERRIDES: Final = "alluxio_overrides"
OTHER_COLLECTOR: Final = ["-XX:-UseG1GC", "-XX:+UseParallelGC"]
FEWER_THREADS: Final = 16
LARGER_PAGE: Final = {"alluxio.user.client.cache.page.size": "4MB"}
LARGER_CHUNK: Final = {"alluxio.user.streaming.reader.chunk.size.bytes": "4MB"}

Said = Mapping[str, Any]  # variables, as a user would write them
Beside = Sequence[Mapping[str, Any]]  # processes that serve: {name, mount_point, metrics}


class Process(BaseModel):
    """One process to try: what a user would write to have it, and what of it differs from the planned one.

    memory: bytes that it takes, with its cache where that is in memory. refused: the planner's reason against it.
    """

    name: str
    number: int = 0
    refused: str | None = None
    flags: list[str] = []
    properties: dict[str, str] = {}
    mount_options: list[str] = []
    environment: dict[str, str] = {}
    settings: dict[str, int] = {}
    cache_bytes: int = 0
    in_memory: bool = False
    memory: int = 0


def usual(service: Amounts) -> list[Said]:
    """What is tried where the user says nothing, beside a FUSE service of the plan: {key: amount}."""
    options = [option for option in service["mount_options"] if "threads=" not in option]
    threads = [f"max_idle_threads={FEWER_THREADS}", f"max_threads={FEWER_THREADS}"]
    overrides: list[dict[str, Any]] = [
        {"fuse.jvm_flags": OTHER_COLLECTOR},
        {"fuse.heap": f"{2 * service['heap'] // MIB}Mi"},
        {"fuse.properties": LARGER_PAGE if service["client_cache"].enabled else LARGER_CHUNK},
        *([{"fuse.mount_options": options + threads}] if len(options) < len(service["mount_options"]) else []),
    ]
    return [{"alluxio_libfuse": 5 - service["libfuse"]}, *({OVERRIDES: one} for one in overrides)]


def processes(
    hosts: Mapping[str, Mapping[str, Any]], place: tuple[str, str], read: int, said: Sequence[Said] | None
) -> list[Process]:
    """The processes to try on `place`, a host and a dataset, the one as planned first; [] where none is to be tried.

    hosts: what the planner reads. read: bytes that trials read, all of which a client cache holds. said: variables to
    try, each joined to those that are said already; None: the usual ones.
    """
    host, dataset = place
    planned = _service(hosts, host, dataset)
    tried = usual(planned) if said is None else said
    made = [_process(AS_PLANNED, planned, planned, read)]
    for one in tried:
        name = yaml.safe_dump(dict(one), default_flow_style=True, width=1000).strip()[1:-1]
        try:
            service = _service({key: _changed(value, one) for key, value in hosts.items()}, host, dataset)
        except Refused as refused:
            made.append(Process(name=name, refused=str(refused)))
        else:
            made.append(_process(name, service, planned, read))
    return [one.model_copy(update={"number": number}) for number, one in enumerate(made)] if tried else []


def bytes_to_read(header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings) -> int:
    """Bytes of all files that trials read."""
    every = _rounds(header, dataset, settings, {"name": "", "mount_point": "", "metrics": {}})
    return sum(one["bytes"] for one in every if _is_first(one))


def fill_passes(
    header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings, beside: Beside
) -> list[Pass]:
    """Each process reads what trials read: into its client cache, and until its JVM has compiled what reads."""
    made = []
    for mount in beside:
        every = list(_rounds(header, dataset, settings, mount))
        if dataset["client_cache_bytes"]:
            made += [one | {"name": f"fill, {one['name']}", "state": "worker"} for one in every if _is_first(one)]
        made += [one for one in every if one["state"] == "warm-up"]
    return made


def trial_passes(
    header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings, beside: Beside
) -> list[Pass]:
    """Rounds of the check's passes with an empty page cache; which process begins changes from round to round."""
    wanted = [
        [one for one in _rounds(header, dataset, settings, mount) if one["state"] != "warm-up" and one["before"]]
        for mount in beside
    ]
    return [one for same in zip(*wanted, strict=True) for one in in_turn(same, same[0]["round"])]


def as_trials(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Results of passes as `choice` compares them."""
    return [{**one, "settings": {KNOB: one["process"]}} for one in results]


def serving(tried: Beside, started: Beside, metrics: Mapping[str, Sequence[str]]) -> Beside:
    """The processes that serve: {name, mount_point, metrics}; metrics: addresses of those of the mount."""
    names = {one["number"]: one["name"] for one in tried}
    host = metrics["fuse"][0].rpartition(":")[0] if metrics["fuse"] else ""
    return [
        {
            "name": names[one["number"]],
            "mount_point": one["mount_point"],
            "metrics": {**metrics, "fuse": [f"{host}:{one['port']}"] if one["port"] and host else []},
        }
        for one in started
    ]


def not_tried(tried: Beside, failed: Beside) -> list[str]:
    """A line for each process that the planner refused or that did not start."""
    why = {one["number"]: one["why"] for one in failed}
    reasons = {one["name"]: one["refused"] or why.get(one["number"]) for one in tried}
    return [f"not tried: {name}: {reason}" for name, reason in reasons.items() if reason]


def _is_first(one: Pass) -> bool:
    return bool(one["round"] == 1 and one["before"])


def _rounds(
    header: Mapping[str, Any], dataset: Mapping[str, Any], settings: CheckSettings, mount: Mapping[str, Any]
) -> Iterator[Pass]:
    alone = {**dataset, "mount_point": mount["mount_point"], "stage": None, "compare": [], "disk_copy": ""}
    for one in rounds(header, alone, settings):
        if one["path"] == "mount" and one["kind"] in KINDS:
            name = f"{one['round']}: {one['kind']} files, {mount['name']}"
            yield one | {"name": name, "process": mount["name"], "metrics": mount["metrics"]}


def _service(hosts: Mapping[str, Mapping[str, Any]], host: str, dataset: str) -> Amounts:
    return amounts(derive(hosts).mounts(host)[dataset])


def _changed(host: Mapping[str, Any], said: Said) -> dict[str, Any]:
    """What the planner reads of a host where a user says something more."""
    have, more = host["variables"].get(OVERRIDES, {}), said.get(OVERRIDES, {})
    joined = {key: {**have.get(key, {}), **one} if isinstance(one, dict) else one for key, one in more.items()}
    return {**host, "variables": {**host["variables"], **said, OVERRIDES: {**have, **joined}}}


def _process(name: str, service: Amounts, planned: Amounts, read: int) -> Process:
    cache: PlannedCache = planned["client_cache"]
    size = caches.client_cache_need(read) if cache.enabled else 0
    in_memory = cache.medium == "memory"
    jvm = sum(service[key] for key in ("heap", "direct_memory", "native_memory"))
    return Process(
        name=name,
        flags=[flag for flag in service["jvm_flags"] if flag not in planned["jvm_flags"]],
        properties=dict(service["properties"].items() - planned["properties"].items()),
        mount_options=service["mount_options"],
        environment=service["environment"],
        settings={key: service[key] for key in MOUNT_SETTINGS},
        cache_bytes=size,
        in_memory=in_memory,
        memory=jvm + (size if in_memory else 0),
    )
