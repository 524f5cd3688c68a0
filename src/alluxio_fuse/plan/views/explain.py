"""One value of a plan, with its reason."""

from typing import Any

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import plain
from alluxio_fuse.plan.refusals import did_you_mean
from alluxio_fuse.plan.units import format_size
from alluxio_fuse.plan.values import Service, Value

SIZES = ("heap", "memory", "size", "quota", "total", "reserve", "workload", "page_cache", "bytes")


def find(plan: Plan, path: str) -> Value[Any]:
    """The value at `fleet.<key>`, `<host>.<service>.<key>` or `<host>.<service>.properties.<alluxio key>`."""
    for place, values in places(plan).items():
        if path.startswith(f"{place}."):
            key, _, part = path.removeprefix(f"{place}.").partition(".")
            value = values.get(key)
            if value is None:
                raise KeyError(f"{place} has no {key!r}; {did_you_mean(key, values)}")
            if not part:
                return value
            if part not in value.parts:
                raise KeyError(f"{place}.{key} has no {part!r}; {did_you_mean(part, value.parts)}")
            return value.parts[part]
    raise KeyError(f"no value at {path!r}; write fleet.<key> or <host>.<service>.<key>, hosts: {', '.join(plan.nodes)}")


def explain(plan: Plan, path: str) -> str:
    """What a value is, by which rule, why, and where the figure comes from."""
    value = find(plan, path)
    lines = [f"{path} = {readable(path, value.amount)}"]
    if value.overridden is not None:
        lines.append(f"  the rule gives {readable(path, value.overridden)}")
    return "\n".join([*lines, f"  why     {value.why}", f"  rule    {value.rule}", f"  source  {value.source}"])


def readable(path: str, amount: Any) -> str:
    """An amount as text; sizes with a binary unit beside the bytes."""
    amount = plain(amount)
    if (
        isinstance(amount, int)
        and not isinstance(amount, bool)
        and any(word in path.rpartition(".")[2] for word in SIZES)
    ):
        return f"{format_size(amount)} ({amount} bytes)"
    if isinstance(amount, dict):
        return ", ".join(f"{key}: {readable(f'{path}.{key}', item)}" for key, item in amount.items()) or "nothing"
    if isinstance(amount, list):
        return ", ".join(readable(path, item) for item in amount) or "nothing"
    return str(amount)


def places(plan: Plan) -> dict[str, Service]:
    """{place: values} of `fleet` and of each `<host>.<service>`."""
    nodes = {f"{host}.{name}": values for host, services in plan.nodes.items() for name, values in services.items()}
    return {"fleet": plan.fleet, **nodes}
