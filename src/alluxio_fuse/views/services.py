"""Views of the services that run on a node itself, as containers or as systemd units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alluxio_fuse import containers as of_containers
from alluxio_fuse import host as of_host
from alluxio_fuse import restarts as of_restarts
from alluxio_fuse.plan import Plan
from alluxio_fuse.status import services as states

Item = Mapping[str, Any]
Items = Sequence[Item]


@dataclass(frozen=True)
class Containers:
    """What platform `containers` makes on a host.

    containers: :class:`alluxio_fuse.containers.Container` with `digest`, in starting order. restoring: of these, the
    master as it begins with a backup. folders: items of the module `files`. owned: items of the ownership record.
    ca_files: on the controller. tier_bytes: what all workers of the plan may hold.
    """

    containers: list[dict[str, Any]]
    restoring: list[dict[str, Any]]
    folders: list[dict[str, Any]]
    owned: list[dict[str, Any]]
    ca_files: list[str]
    tier_bytes: int


def containers(plan: Plan, host: str, backup: str = "") -> Containers:
    """What platform `containers` makes on a host; backup: a file there that the master is to begin with."""
    made, state_dir = of_containers.containers(plan, host), plan.nodes[host]["node"]["state_dir"].amount
    return Containers(
        containers=made,
        restoring=of_containers.restoring(made, backup) if backup else [],
        folders=of_containers.folders(made, state_dir),
        owned=of_containers.owned_items(made, state_dir),
        ca_files=of_containers.ca_files(plan),
        tier_bytes=of_containers.tier_bytes(plan),
    )


@dataclass(frozen=True)
class Units:
    """What platform `host` makes on a host.

    units: :class:`alluxio_fuse.host.Unit` with `digest`. folders: items of the module `files`. owned: items of the
    ownership record, where it is known what Alluxio is unpacked to. ca_files: on the controller.
    """

    units: list[dict[str, Any]]
    folders: list[dict[str, Any]]
    owned: list[dict[str, Any]]
    ca_files: list[str]


def units(plan: Plan, host: str, home: str = "", unpacked: str = "", program: str = "") -> Units:
    """What platform `host` makes on a host.

    unpacked: the folder in `home` that Alluxio is unpacked to; program: what systemd runs.
    """
    made, state_dir = of_host.units(plan, host), plan.nodes[host]["node"]["state_dir"].amount
    return Units(
        units=made,
        folders=of_host.unit_folders(made, state_dir),
        owned=of_host.unit_items(made, state_dir, home, unpacked, program) if unpacked else [],
        ca_files=of_containers.ca_files(plan),
    )


@dataclass(frozen=True)
class Compared:
    """How services differ from what was found; what follows from something that was not looked at is empty.

    outdated: names of containers that run something else than planned. reimaged: whether the master was made from
    another image. rewritten: names of services whose configuration changed. started_again: names of running containers
    that a run ends and starts for one or the other. redeclared: where FUSE forgets names, as `mounts` of the module
    `fuse_forget`. foreign: containers that no deployment made, {name, state, image}; names_taken: what is said of them.
    left: {items, mount_points} of the ownership record that are not planned any more. former_homes: items of it with
    folders that Alluxio was unpacked to from an earlier image. states: of each service on a host, as role `status`
    judges them.
    """

    outdated: list[str]
    reimaged: bool
    rewritten: list[str]
    started_again: list[str]
    redeclared: list[dict[str, str]]
    foreign: list[dict[str, str]]
    names_taken: str
    left: dict[str, Any]
    former_homes: list[dict[str, Any]]
    states: list[states.Service]


def compare_services(
    services: Items,
    *,
    host: str = "",
    found: Items = (),
    shown: Sequence[str] | None = None,
    images: Items | None = None,
    paths: Sequence[str] = (),
    declared: Mapping[str, str] | None = None,
    owned: Items = (),
    deployment: str = "",
    home: str = "",
    unpacked: str = "",
) -> Compared:
    """Containers or units of a host against what was found there.

    found: what `podman inspect` says of the containers; images: of the planned image. shown: what `systemctl show`
    prints of the units, in their order. paths: that the module `files` changed. declared: as the module
    `namespace_mounts` returns it. owned: items of the ownership record of `deployment`; home, unpacked: as for
    :func:`units`.
    """
    return Compared(
        outdated=of_containers.outdated(services, found, images) if images is not None else [],
        reimaged=images is not None and of_containers.reimaged(services, found, images),
        rewritten=of_containers.rewritten(services, paths),
        started_again=of_containers.started_again(services, found, images, paths) if images is not None else [],
        redeclared=of_containers.redeclared(services, declared) if declared else [],
        foreign=of_containers.of_others(found),
        names_taken=of_containers.names_taken(found),
        left=of_containers.left(owned, services, deployment),
        former_homes=of_host.former_homes(owned, home, unpacked) if home else [],
        states=_states(services, host, found, shown) if host else [],
    )


@dataclass(frozen=True)
class Restarts:
    """Which services have readers, and what that is to a run.

    readers: of each service that has some; held_back: those of them that are waited for. waiting: a line for each that
    is left as it is. foretold: a line for each that would be started again.
    """

    readers: dict[str, list[str]]
    held_back: dict[str, list[str]]
    waiting: str
    foretold: str


def restarts(results: Items, host: str, forced: bool, again: Sequence[str] = ()) -> Restarts:
    """Services that a run starts again, and who reads through them.

    results: of `mount_users` in a loop over services of `host`. forced: whether readers are not waited for. again:
    names of the services that are started again.
    """
    readers = of_restarts.held_back(results)
    held_back = {} if forced else readers
    return Restarts(
        readers=readers,
        held_back=held_back,
        waiting=of_restarts.waiting(held_back, host),
        foretold=of_restarts.foretold(again, readers, host, forced),
    )


def _states(services: Items, host: str, found: Items, shown: Sequence[str] | None) -> list[states.Service]:
    if shown is not None:
        return states.of_units(shown, services, host)
    return states.of_containers(services, found, host)
