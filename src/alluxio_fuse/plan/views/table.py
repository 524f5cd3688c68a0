"""A plan for the terminal, at most 120 columns wide."""

from collections.abc import Iterable
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from alluxio_fuse.plan.document import Plan
from alluxio_fuse.plan.parts import FleetGate, PlannedCache, PlannedStage, plain
from alluxio_fuse.plan.units import format_duration, format_size
from alluxio_fuse.plan.values import Amounts, Service, amounts

WIDTH = 116
SHOWN_KINDS = 6


def plan_table(plan: Plan) -> list[str]:
    """Lines: datasets, memory of each kind of node, services, warnings and assumptions."""
    output = Console(file=StringIO(), width=WIDTH, force_terminal=False, highlight=False, markup=False)
    fleet = amounts(plan.fleet)
    output.print(
        f"{plan.name} · {plan.environment or 'no environment'} · platform {plan.platform} · "
        f"profile {plan.profile} · Alluxio {fleet['alluxio_version']} · {_count(len(plan.nodes), 'node')}"
    )
    output.print(_datasets(fleet))
    for name, windows in plan.fleet["stage_windows"].amount.items():
        if windows:
            output.print(f"{name}: {windows} windows: {plan.fleet['stage_windows'].parts[name].why}")
    kinds = _kinds(plan)
    for hosts, services in kinds[:SHOWN_KINDS]:
        output.print(_memory(hosts, services))
        output.print(_services(services))
        for name, service in services.items():
            if "stage" in service:
                output.print(f"staged of {name.removeprefix('fuse/')}: {service['stage'].why}")
    if len(kinds) > SHOWN_KINDS:
        output.print(f"and {len(kinds) - SHOWN_KINDS} more kinds of nodes: see plan.json")
    output.print(f"gate: {_gate(fleet['gate'])}")
    _overridden(plan, output)
    for title, notes, key in (("warning", plan.warnings, "path"), ("assumed", plan.assumptions, "name")):
        for note in notes:
            output.print(f"{title}: {note[key]}: {note['message']}")
    text = output.file
    assert isinstance(text, StringIO)  # noqa: S101 - it was made above
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _table(title: str, columns: Iterable[str], left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", overflow="fold")
    return table


def _datasets(fleet: Amounts) -> Table:
    table = _table("datasets", ["name", "source", "files", "size", "cached", "workers", "GETs", "stale for"], left=2)
    for dataset in fleet["datasets"]:
        name = dataset.name
        held, cost, stale = (
            fleet["residency"][name],
            fleet["under_store"][name]["first_epoch"],
            fleet["staleness"][name],
        )
        table.add_row(
            name,
            dataset.source,
            f"{dataset.files:,}",
            format_size(dataset.bytes),
            f"{held['client_cache']:.0%}",
            f"{held['worker']:.0%}",
            f"{cost['gets']:,}",
            "immutable" if stale is None else format_duration(stale),
        )
    return table


def _kinds(plan: Plan) -> list[tuple[list[str], dict[str, Service]]]:
    """(hosts, services) of nodes with the same amounts, addresses apart."""
    kinds: dict[str, tuple[list[str], dict[str, Service]]] = {}
    for host, services in plan.nodes.items():
        key = repr(
            [
                (name, *(service.get(key) for key in ("heap", "container_memory", "memory_total", "stage")))
                for name, service in services.items()
            ]
        )
        kinds.setdefault(key, ([], services))[0].append(host)
    return list(kinds.values())


def _memory(hosts: list[str], services: dict[str, Service]) -> Table:
    node = amounts(services["node"])
    names = hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more alike"
    table = _table(
        f"{names}: {format_size(node['memory_total'])} of memory, {node['level']} services",
        ["memory", "size", "share", "why"],
    )
    table.columns[3].justify = "left"
    for key, title in (
        ("memory_reserve", "system"),
        ("memory_workload", "training"),
        ("memory_services", "services and caches"),
        ("memory_page_cache", "page cache"),
    ):
        value = services["node"][key]
        table.add_row(title, format_size(value.amount), f"{value.amount / node['memory_total']:.0%}", value.why)
    return table


def _services(services: dict[str, Service]) -> Table:
    table = _table("", ["service", "heap", "direct", "tmpfs", "limit", "holds"], left=1)
    table.columns[5].justify = "left"
    for name, service in services.items():
        if name == "node":
            continue
        have = amounts(service)
        table.add_row(
            name,
            *(format_size(have[key]) for key in ("heap", "direct_memory", "tmpfs_memory", "container_memory")),
            _holds(have),
        )
    return table


def _holds(have: Amounts) -> str:
    if "tiers" in have:
        return ", ".join(f"{format_size(tier.quota)} {tier.medium} {tier.path}" for tier in have["tiers"]) or "nothing"
    if "client_cache" in have:
        cache: PlannedCache = have["client_cache"]
        copy: PlannedStage | None = have.get("stage")
        held = [f"a copy on {copy.medium}"] if copy and copy.share else []
        held += [f"{format_size(cache.size)} {cache.medium}"] if cache.enabled else []
        return f"{' and '.join(held) or 'no client cache'} → {copy.path if copy else have['mount_point']}"
    return ""


def _gate(gate: FleetGate) -> str:
    rates = [f"{rate:,.0f} {unit}" for rate, unit in ((gate.mb_per_s, "MB/s"), (gate.files_per_s, "files/s")) if rate]
    if rates:
        return f"{' and '.join(rates)} per node ({gate.status})"
    if gate.status == "unknown":
        return "unknown; no verdict on speed before alluxio_gate is declared"
    if gate.min_disk_ratio is None:
        return f"{gate.status}; speed is reported, not judged"
    ratio = f"{gate.min_disk_ratio:g}"
    return f"{gate.status}; small files from the client cache at least {ratio} times the local disk"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _overridden(plan: Plan, output: Console) -> None:
    seen: set[str] = set()
    for host, services in plan.nodes.items():
        for name, service in services.items():
            for key, value in service.items():
                line = f"{name}.{key} = {plain(value.amount)} ({value.why}; the rule gives {plain(value.overridden)})"
                if value.overridden is not None and line not in seen:
                    seen.add(line)
                    output.print(f"overridden on {host}: {line}")
