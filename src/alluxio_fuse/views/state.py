"""Views of the state of a deployment, judged or told in a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse.diagnosis import parts
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.nfs import is_export
from alluxio_fuse.status import judge, table

ByHost = Mapping[str, Any]


@dataclass(frozen=True)
class DiagnosisQuestions:
    """What module `diagnosis_parts` runs, reads and asks on a host, as it takes them."""

    commands: list[dict[str, Any]]
    files: list[dict[str, Any]]
    addresses: list[dict[str, str]]


def status(plan: Plan, hosts: ByHost, found: Any, cluster: Any) -> dict[str, Any]:
    """The state of a deployment; hosts: what module `mount_status` returned on each, {} where it was not reached.

    found: states of services, from :func:`alluxio_fuse.views.services.compare_services` or module `release_services`.
    cluster: from module `cluster_status`.
    """
    seen = {host: result.get("mounts") for host, result in hosts.items()}
    return judge.judge(plan, seen, found, cluster).model_dump(mode="json")


def status_mounts(datasets: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What module `mount_status` looks at, of datasets as :func:`alluxio_fuse.targets.targets` gives them."""
    return [
        {"name": one["name"], "mount_point": one["mount_point"], "address": (one["metrics"]["fuse"] or [""])[0]}
        | (
            {"path": one["path"], "folder": (one["stage"] or {"folder": ""})["folder"]}
            if one["path"] != one["mount_point"]
            else {}
        )
        | ({"export": one["folder"]} if is_export(one["source"]) and one["folder"] else {})
        for one in datasets
    ]


def paths_in_workers(plan: Plan) -> dict[str, str]:
    """By dataset that our workers may hold, its path in Alluxio; of its own, Fluid tells in its own columns."""
    if plan.capabilities.by_fluid:
        return {}
    return {one.name: one.alluxio_path for one in plan.datasets if one.through == "cluster"}


def status_table(result: Mapping[str, Any], held: Mapping[str, int | None]) -> str:
    """The state as text; held: from module `workers_hold`, {} where the run asks no master."""
    return table.render(judge.Status.model_validate(result), held)


def diagnosis_questions(
    plan: Plan, host: str, endpoints: Mapping[str, Any] | None = None, asks_for_all: bool = False
) -> DiagnosisQuestions:
    """What a host is asked; endpoints: where a scheduler put services; one host `asks_for_all` masters and workers."""
    asked = parts.questions(plan, host)
    addresses = parts.addresses(plan, host, endpoints or {}, asks_for_all)
    return DiagnosisQuestions(commands=asked["commands"], files=asked["files"], addresses=addresses)


def diagnosis(plan: Plan, told: Mapping[str, ByHost]) -> list[dict[str, Any]]:
    """Parts of a bundle; told: {what: {host: result}}, with {} where a host has told nothing."""
    hosts = {host: {what: told[what][host] for what in told} for host in next(iter(told.values()))}
    return [one.model_dump() for one in parts.assemble(plan, hosts)]
