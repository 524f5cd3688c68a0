"""The kernel's side of a FUSE mount: what can be set from outside, without a restart, and is tried by tune.yml."""

from dataclasses import replace
from typing import Final, get_args

from alluxio_fuse.plan.facts import TunedMount
from alluxio_fuse.plan.fleet import Fleet
from alluxio_fuse.plan.intent.work import MountSetting
from alluxio_fuse.plan.rules import fuse
from alluxio_fuse.plan.values import Service, Value

MOUNT_SETTINGS: Final[tuple[str, ...]] = get_args(MountSetting)
CONGESTION: Final = "congestion_threshold"


def planned(name: str, medium: str | None, fleet: Fleet, *, through_cluster: bool) -> Service:
    """The settings of one mount by the rules, or as the user says otherwise. `medium`: of its client cache."""
    said = fleet.overrides
    background = said.apply(name, "max_background", fuse.max_background(fleet.upstream))
    return {
        "settings_file": Value(
            f"{fleet.state_dir}/mount-settings/{name.removeprefix('fuse/')}",
            "settings_file",
            "whoever mounts sets what it says: with the mount the kernel forgets it",
            "alluxio_name and the dataset's name",
        ),
        "behind": fuse.behind(medium, through_cluster=through_cluster),
        "read_ahead_kb": said.apply(name, "read_ahead_kb", fuse.read_ahead(fleet.upstream, medium is not None)),
        "max_background": background,
        CONGESTION: said.apply(name, CONGESTION, fuse.congestion_threshold(background.amount)),
    }


def tuned(service: Service, record: TunedMount | None) -> Service:
    """The settings of a mount on a node where some were tried and kept; what the user says stands."""
    if record is None or record.behind != service["behind"].amount:
        return {}
    found = {key: _kept(service[key], record, key) for key in MOUNT_SETTINGS}
    background = found["max_background"].amount
    if CONGESTION not in record.kept and background != service["max_background"].amount:
        found[CONGESTION] = _unless_said(service[CONGESTION], fuse.congestion_threshold(background))
    return found


def _kept(value: Value[int], record: TunedMount, key: str) -> Value[int]:
    kept = record.kept.get(key)
    if kept is None:
        return value
    source = f"playbooks/tune.yml, {kept.at}"
    return _unless_said(value, replace(value, amount=kept.amount, why=kept.why, source=source))


def _unless_said(value: Value[int], other: Value[int]) -> Value[int]:
    return value if value.overridden is not None else other
