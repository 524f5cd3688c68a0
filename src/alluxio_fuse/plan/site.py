"""The site file of a service: the planner's properties, and the user's in their place."""

from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.rules.properties import Properties
from alluxio_fuse.plan.values import Value, table


def site(made: Properties, service: str, fleet: Fleet) -> Value[dict[str, str]]:
    """All properties of one service, each with its own reason."""
    for key, (text, said) in fleet.overrides.properties(service).items():
        known = made.get(key) or Value("(unset)", "properties", "not set by the plan", said)
        made[key] = known.override(text, said)
    return table("properties", made, "the site file of this service is exactly this", "each entry has its own")
