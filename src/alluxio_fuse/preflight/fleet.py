"""Everything that speaks against a fleet, at once, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from alluxio_fuse.chart.refusals import refusals
from alluxio_fuse.fluid import render
from alluxio_fuse.kubernetes.findings import cluster_findings
from alluxio_fuse.plan import Plan, Refused, plan
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.units import parse_switch
from alluxio_fuse.preflight.delivery import contradictions, delivery_findings
from alluxio_fuse.preflight.node import node_findings


def findings(
    hosts: Mapping[str, Mapping[str, Any]],
    cluster: Mapping[str, Any] | None = None,
    saved: Plan | None = None,
) -> list[dict[str, Any]]:
    """Everything that speaks against `{host: {groups, variables, facts}}`, of plan, cluster and nodes at once.

    cluster: as `alluxio.fuse.cluster_facts` returns it, on platform `kubernetes`.
    saved: the plan that is kept to where `hosts` are a part of the fleet, of which none can be made.
    """
    planned = saved
    found: list[Finding] = []
    try:
        planned = planned or plan(hosts)
        found += [*refusals(planned), *render.refusals(planned)]
    except Refused as refused:
        found += refused.findings
    if cluster:
        found += cluster_findings(cluster, list(hosts))
    for host, about in hosts.items():
        found += node_findings(planned, host, about["facts"], cluster)
    return [asdict(finding) for finding in found]


def undelivered(delivery: Mapping[str, Any], variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Findings on how the image of pods gets to where they find it, as `alluxio_fuse.preflight.delivery` reads it.

    variables: of a host whose fleet no planner reads; else none.
    """
    said = contradictions(variables) if variables else []
    return [asdict(finding) for finding in said or delivery_findings(delivery)]


def silent(inventory: Sequence[str], reached: Sequence[str]) -> list[dict[str, Any]]:
    """A finding for each host of the inventory that did not answer: without it the plan would be another one."""
    return [
        asdict(
            Finding(
                host,
                "not reached, or failed above",
                "a plan without it is another plan: services of the whole fleet would start again with other sizes",
                "mend it, act on the others by --limit (the saved plan is kept), or take it out of the inventory",
            )
        )
        for host in inventory
        if host not in reached
    ]


def plaintext(files: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A finding for each `{path, keys}` of a file in which secrets stand in plain text, unless the user allows it."""
    if parse_switch(variables.get("alluxio_allow_plaintext_credentials")) is True:
        return []
    return [
        asdict(
            Finding(
                file["path"],
                f"plain text: {', '.join(file['keys'])}",
                "unencrypted secrets end up in version control and in backups: only inventories/local may have them",
                f"ansible-vault encrypt {file['path']}, and run with --ask-vault-pass or --vault-password-file;"
                " or write alluxio_allow_plaintext_credentials: true",
            )
        )
        for file in files
    ]


def findings_text(found: Sequence[Mapping[str, Any]]) -> str:
    """The findings as they are shown: variable, value, reason, remedy."""
    listed = "\n\n".join(str(Finding(**finding)) for finding in found)
    count = "One thing stands" if len(found) == 1 else f"{len(found)} things stand"
    return f"{count} in the way; nothing was changed.\n\n{listed}"
