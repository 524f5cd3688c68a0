"""Views of what preflight asks, and of what speaks against a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from alluxio_fuse import preflight
from alluxio_fuse.containers import of_others
from alluxio_fuse.going import going
from alluxio_fuse.kubernetes.facts import with_node
from alluxio_fuse.kubernetes.findings import cluster_findings
from alluxio_fuse.plan import Plan

Results = Sequence[Mapping[str, Any]]

#: Facts of a source that was asked, and of which no answer came.
_UNANSWERED: Final = {"state": "unreachable", "detail": "no answer came", "files": None, "bytes": None, "sizes": None}


@dataclass(frozen=True)
class NodeQuestions:
    """What is asked of a node whose facts are known.

    going: mount points that a run would take away, whose readers are listed. peers: {name, address} of the other nodes.
    """

    going: list[str]
    peers: list[dict[str, str]]


def node_questions(fleet: Mapping[str, Mapping[str, Any]], host: str, questions: Mapping[str, Any]) -> NodeQuestions:
    """What is asked of `host`; fleet: {host: facts}, its own and those of its peers; questions: of the inventory."""
    return NodeQuestions(going=going(fleet[host], questions), peers=preflight.peers(fleet, host))


def planner_facts(
    facts: Mapping[str, Any],
    *,
    node: Mapping[str, Any] | None = None,
    node_access: bool = True,
    stores: Results = (),
    clock_skew: float = 0.0,
    names: Results = (),
    readers: Results = (),
    containers: Results = (),
) -> dict[str, Any]:
    """Facts as the planner reads them: those of a node, joined by what other modules found.

    node, node_access: of the cluster. stores: results of `object_store_facts` and `claim_facts`, each in a loop over
    sources: each of these has facts, whatever came of it. readers: results of `mount_users` in a loop. names: as
    `fleet_names` returns them. containers: what `podman inspect` says of those with our names.
    """
    joined = with_node(facts, node, node_access)
    return {
        **joined,
        "sources": {**joined["sources"], **{one["item"]["source"]: one.get("facts", _UNANSWERED) for one in stores}},
        "clock_skew": clock_skew,
        "names": names,
        "readers": {one["item"]: one["readers"] for one in readers if one.get("readers")},
        "containers": of_others(containers),
    }


@dataclass(frozen=True)
class Findings:
    """What speaks against a fleet: all findings, each with its variable, value, reason and remedy, and their text."""

    found: list[dict[str, Any]]
    text: str


def findings(
    inventory: Sequence[str],
    *,
    reached: Sequence[str] | None = None,
    fleet: Mapping[str, Mapping[str, Any]] | None = None,
    cluster: Mapping[str, Any] | None = None,
    saved: Plan | None = None,
    plaintext: Results = (),
    variables: Mapping[str, Any] | None = None,
    delivery: Mapping[str, Any] | None = None,
) -> Findings:
    """Everything that speaks against the hosts of an inventory, of what is known of them.

    reached: those of them that answered. fleet: {host: {groups, variables, facts}}; saved: the plan that is kept to
    where they are a part of the fleet. cluster: as the module `cluster_facts` returns it. plaintext: files as the
    module `plaintext_secrets` returns them; variables: those of a host, which may allow them. delivery: what was looked
    at of the image of pods, as `alluxio_fuse.preflight.delivery` reads it; nothing where pods pull it. Without a fleet,
    the variables are held to it, too.
    """
    found: list[dict[str, Any]] = []
    if fleet is not None:
        found += preflight.findings(fleet, cluster, saved)
    elif cluster:
        found += map(asdict, cluster_findings(cluster, list(inventory)))
    if reached is not None:
        found += preflight.silent(inventory, reached)
    if delivery:
        found += preflight.undelivered(delivery, (variables or {}) if fleet is None else {})
    found += preflight.plaintext(plaintext, variables or {})
    return Findings(found=found, text=preflight.findings_text(found))
