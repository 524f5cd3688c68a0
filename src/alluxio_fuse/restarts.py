"""What a run starts again, and who reads through it meanwhile: said alike on every platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Readers = Mapping[str, Sequence[str]]


def held_back(results: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Readers of each service that has some, from asking for those of its mount (`mount_users` in a loop)."""
    return {one["item"]["name"]: one["readers"] for one in results if one.get("readers")}


def waiting(readers: Readers, where: str) -> str:
    """A line for each service that is left as it is, since somebody reads through it; by its name, on a node."""
    return "\n".join(
        f"{where}: {name} stays as it was planned before, read by {', '.join(who)}: once nobody reads, "
        "playbooks/services.yml replaces it (or now, with -e alluxio_under_readers=true)"
        for name, who in readers.items()
    )


def foretold(names: Sequence[str], readers: Readers, where: str, forced: bool) -> str:
    """A line for each service that would be started again, and what that is to those who read through it.

    names: of the services, each once; readers: those of a mount that there are, by service; forced: whether they are
    not waited for.
    """
    return "\n".join(_line(name, readers.get(name, ()), where, forced) for name in dict.fromkeys(names))


def told_by_node(services: Sequence[Mapping[str, Any]], forced: bool, foretell: bool) -> str:
    """Lines of services of many nodes: what would be started again if `foretell`, else what waits for its readers.

    services: each with `name`, `node` and `readers`.
    """
    lines = []
    for one in sorted(services, key=lambda one: (one["node"], one["name"])):
        readers = {one["name"]: one["readers"]} if one["readers"] else {}
        if foretell:
            lines.append(foretold([one["name"]], readers, one["node"], forced))
        elif not forced:
            lines.append(waiting(readers, one["node"]))
    return "\n".join(filter(None, lines))


def idle(services: Sequence[Mapping[str, Any]], forced: bool) -> list[Mapping[str, Any]]:
    """Those that nobody reads through, or all of them if `forced`."""
    return [one for one in services if forced or not one["readers"]]


def _line(name: str, who: Sequence[str], where: str, forced: bool) -> str:
    if not who:
        return f"would be started again  {name} on {where}"
    meant = "would be started again " if forced else "waits for its readers  "
    costs = ", who lose their open files" if forced else ""
    return f"{meant} {name} on {where}: read by {len(who)}{costs}: {', '.join(who)}"
