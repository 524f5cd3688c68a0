"""Names and addresses of nodes, and ports that others listen on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.refusals import Finding


def peers(fleet: Mapping[str, Mapping[str, Any]], host: str) -> list[dict[str, str]]:
    """`{name, address}` of the nodes other than `host`, from `{host: facts}`: called and where."""
    return [
        {"name": facts["hostname"], "address": address}
        for name, facts in fleet.items()
        if name != host
        for address in _outward(facts)[:1]
    ]


def name_findings(host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """A name that nobody knows is no finding: services are given addresses. A wrong one, and no answer, are."""
    for peer in facts["names"]:
        name, address, forward, reverse = (peer[key] for key in ("name", "address", "forward", "reverse"))
        if forward is None or reverse is None:
            yield Finding(
                f"{host}: name of {address}",
                "no answer",
                f"the resolver did not say what {name if forward is None else address} is: readers wait for it",
                "repair the node's resolver (/etc/resolv.conf), or name the nodes in /etc/hosts",
            )
        elif forward and address not in forward:
            yield Finding(
                f"{host}: name {name}",
                ", ".join(forward),
                f"the node that calls itself so is {address}: connections by name go elsewhere",
                "correct it in DNS or /etc/hosts",
            )
        elif reverse and not any(_same_name(found, name) for found in reverse):
            yield Finding(
                f"{host}: name of {address}",
                ", ".join(reverse),
                f"the node there calls itself {name}: Alluxio takes the name of an address for the node's",
                "correct it in DNS or /etc/hosts",
            )


def ports(plan: Plan, host: str, facts: Mapping[str, Any]) -> Iterator[Finding]:
    """Planned ports on which another process listens."""
    ours = {item["id"] for item in facts["owned"].get("items", []) if item["kind"] in ("container", "unit")}
    for service, keys in plan.nodes[host].items():
        called = f"{plan.name}-{_dashed(service)}"
        if "ports" not in keys or ours & {called, f"{called}.service"}:
            continue
        for use, port in keys["ports"].amount.items():
            for listener in facts["listeners"]:
                if listener["port"] == port and _clash(listener["address"], keys["bind_address"].amount):
                    yield Finding(
                        f"{host}: port {port}",
                        f"{listener['process'] or 'a process'} on {listener['address']}",
                        f"{service} needs this port ({use}) and this deployment does not run there yet",
                        "stop that process, or move all ports with alluxio_port_offset",
                    )


def _same_name(found: str, name: str) -> bool:
    return found == name or found.partition(".")[0] == name.partition(".")[0]


def _outward(facts: Mapping[str, Any]) -> list[str]:
    """IPv4 addresses that another node may reach, of a bridge of the node's own last."""
    nics = sorted(facts["network"], key=lambda nic: nic["name"].startswith(("docker", "cni", "podman", "virbr", "br-")))
    plain = [address.partition("/")[0] for nic in nics if nic["name"] != "lo" for address in nic["addresses"]]
    return [address for address in plain if ":" not in address]


def _clash(listening: str, wanted: str) -> bool:
    anywhere = {"0.0.0.0", "::", "*"}  # noqa: S104 - compared, not bound
    return listening == wanted or listening in anywhere or wanted in anywhere


def _dashed(service: str) -> str:
    return service.replace("_", "-").replace("/", "-")
