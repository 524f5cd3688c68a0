"""A plan: made by the planner, kept as plan.json, and read by all that acts on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alluxio_fuse.plan.loading import load_service
from alluxio_fuse.plan.parts import PlannedDataset, PlannedExport
from alluxio_fuse.plan.platforms import CAPABILITIES, Capabilities
from alluxio_fuse.plan.refusals import Finding, Refused
from alluxio_fuse.plan.values import Service, dump_service

VERSION = 5
_FUSE = "fuse/"
_REMEDY = "run playbooks/plan.yml, which writes a new one"


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that holds. `nodes`: {host: {service: {key: Value}}}."""

    environment: str
    name: str
    profile: str
    fleet: Service
    nodes: Mapping[str, dict[str, Service]]
    warnings: list[dict[str, str]]
    assumptions: list[dict[str, str]]

    def dump(self) -> dict[str, Any]:
        """The plan as plan.json holds it."""
        return {
            "version": VERSION,
            "environment": self.environment,
            "name": self.name,
            "profile": self.profile,
            "fleet": dump_service(self.fleet),
            "nodes": {
                host: {name: dump_service(service) for name, service in services.items()}
                for host, services in self.nodes.items()
            },
            "warnings": self.warnings,
            "assumptions": self.assumptions,
        }

    @classmethod
    def load(cls, raw: Any) -> "Plan":
        """The plan that plan.json holds; raises Refused where it holds none that this version reads."""
        if not isinstance(raw, Mapping) or "version" not in raw:
            raise Refused([Finding("plan.json", type(raw).__name__, "this is no plan", _REMEDY)])
        if raw["version"] != VERSION:
            reason = f"only plans of version {VERSION} are read"
            raise Refused([Finding("plan.json: version", str(raw["version"]), reason, _REMEDY)])
        try:
            fields = {key: value for key, value in raw.items() if key != "version"}
            nodes = {
                host: {name: load_service(service) for name, service in services.items()}
                for host, services in raw["nodes"].items()
            }
            return cls(**{**fields, "fleet": load_service(raw["fleet"]), "nodes": nodes})
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise Refused([Finding("plan.json", str(error), "this is no whole plan", _REMEDY)]) from None

    @property
    def platform(self) -> str:
        """Where services run."""
        return str(self.fleet["platform"].amount)

    @property
    def capabilities(self) -> Capabilities:
        """What can be done there."""
        return CAPABILITIES[self.platform]

    @property
    def datasets(self) -> list[PlannedDataset]:
        """The datasets of the fleet."""
        found: list[PlannedDataset] = self.fleet["datasets"].amount
        return found

    @property
    def exports(self) -> list[PlannedExport]:
        """The exports of NFS that nodes mount."""
        value = self.fleet.get("exports")
        return value.amount if value else []

    def mounts(self, host: str) -> dict[str, Service]:
        """The FUSE service of each dataset that is mounted on `host`, in the order of names, as in a saved plan."""
        services = sorted(self.nodes[host].items())
        return {name.removeprefix(_FUSE): service for name, service in services if name.startswith(_FUSE)}

    def pool(self, host: str) -> str:
        """The pool of a node in a Kubernetes cluster; empty: the first, which has no name, and other platforms."""
        value = self.nodes[host]["node"].get("pool")
        return str(value.amount) if value else ""

    def each(self, name: str) -> list[Service]:
        """The service of that name on each node that has one."""
        return [services[name] for services in self.nodes.values() if name in services]
