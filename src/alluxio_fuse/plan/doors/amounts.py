"""A plan without its reasons: what roles are passed."""

from typing import Any


def amounts(plan: dict[str, Any], host: str) -> dict[str, Any]:
    """{fleet: {key: amount}, <service>: {key: amount}} of one host."""
    if host not in plan["nodes"]:
        known = ", ".join(plan["nodes"])
        raise KeyError(f"the plan has no host {host!r}; it has {known}")
    services = {"fleet": plan["fleet"], **plan["nodes"][host]}
    return {name: {key: value["amount"] for key, value in service.items()} for name, service in services.items()}
