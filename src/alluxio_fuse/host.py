"""Turns a node's amounts into the systemd units of the `host` platform, and the folders and files they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

from alluxio_fuse.containers import SETTINGS_VARIABLE, digest, owned_item
from alluxio_fuse.plan import Plan
from alluxio_fuse.plan.parts import PlannedCache
from alluxio_fuse.plan.schemes import S3, folder_of
from alluxio_fuse.plan.values import amounts

ROLE = "platform_host"


@dataclass(frozen=True)
class Unit:
    """One FUSE mount as a systemd service.

    `arguments` follow the JVM's options: the main class and what is for it. `memory` is in bytes. `properties` is
    complete but for keys of object stores (`under_store` says whether those are joined into the site file on the node).
    `requires`: folders that the unit is started after. `client_cache`: empty where there is none. `digest`, in the
    dictionary, changes with anything for which a running unit must be started again; its description tells it.
    """

    name: str
    dataset: str
    arguments: list[str]
    environment: dict[str, str]
    memory: int
    nofile: int
    capabilities: list[str]
    requires: list[str]
    conf_dir: str
    properties: dict[str, str]
    under_store: bool
    mount_point: str
    mount_parent: dict[str, Any]
    client_cache: str


@dataclass(frozen=True)
class UnitSettings:
    """Values of a unit file, escaped: of `Environment=`, one for each variable, and words of two other settings.

    command: words of the command line after the program and its verb. requires: of `RequiresMountsFor=`, may be empty.
    """

    environment: list[str]
    command: str
    requires: str


def units(plan: Plan, host: str) -> list[dict[str, Any]]:
    """The units of `host`: :class:`Unit` as a dictionary, one for each dataset that is mounted there, with `digest`."""
    state_dir, image = plan.nodes[host]["node"]["state_dir"].amount, plan.fleet["image"].amount
    made = [_unit(plan.name, dataset, amounts(fuse), state_dir) for dataset, fuse in plan.mounts(host).items()]
    return [{**one, "digest": digest(one, image)} for one in map(asdict, made)]


def unit_folders(made: Sequence[Mapping[str, Any]], state_dir: str) -> list[dict[str, Any]]:
    """Folders that units read and write, and readers enter, as items of the module `files`, in the order of making.

    Mount points are made elsewhere, and what is in conf with the site files.
    """
    return _filled(made, state_dir) + _entered(made)


def unit_items(
    made: Sequence[Mapping[str, Any]], state_dir: str, home: str, unpacked: str, program: str
) -> list[dict[str, Any]]:
    """What the host platform makes, as items of the ownership record, in the order of making.

    unpacked: the folder in `home` that Alluxio is unpacked to, removed with what is in it; program: what systemd runs.
    """
    alone = {home, *(unit["mount_point"] for unit in made), *(unit["mount_parent"]["path"] for unit in made)}
    items = [("directory", home, False), ("directory", unpacked, True), ("file", program, False)]
    items += [("directory", folder["path"], True) for folder in _filled(made, state_dir)]
    items += [("directory", folder["path"], False) for folder in _entered(made)]
    items += [("directory", unit["mount_point"], False) for unit in made]
    items += [("unit", unit["name"], False) for unit in made]
    return [owned_item(ROLE, kind, key, contents, key in alone) for kind, key, contents in items]


def former_homes(owned: Sequence[Mapping[str, Any]], home: str, unpacked: str) -> list[dict[str, Any]]:
    """Items of the record: folders in `home` that Alluxio was unpacked to from an earlier image."""
    folders = [dict(item) for item in owned if item["kind"] == "directory" and item["id"] != unpacked]
    return [item for item in folders if item["id"].rpartition("/")[0] == home]


def unit_settings(
    unit: Mapping[str, Any], alluxio: str, installed: Sequence[Mapping[str, Any]], java_major: int, java_named: str
) -> UnitSettings:
    """Values for the file of a unit.

    alluxio: its home on the node. The JDK is `java_named`, else the first of `installed` that is of `java_major`.
    """
    java, run_dir = java_home(installed, java_major, java_named), f"/run/{PurePosixPath(unit['name']).stem}"
    common = {
        "ALLUXIO_HOME": alluxio,
        "ALLUXIO_CONF_DIR": unit["conf_dir"],
        "ALLUXIO_LOGS_DIR": run_dir,
        "MOUNT_POINT": unit["mount_point"],
        "JAVA_HOME": java,
        "PATH": f"{java}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "TMPDIR": run_dir,
        "LANG": "C.UTF-8",
    }
    return UnitSettings(
        environment=unit_environment({**common, **unit["environment"]}),
        command=unit_command(unit["arguments"]),
        requires=unit_words(unit["requires"]),
    )


def unit_words(words: Sequence[str]) -> str:
    """Words as a setting of a unit file has them, each taken literally."""
    return " ".join(f'"{_escaped(word)}"' for word in words)


def unit_command(words: Sequence[str]) -> str:
    """Words of a command line in a unit file, where a dollar would begin a variable."""
    return unit_words(words).replace("$", "$$")


def unit_environment(environment: Mapping[str, str]) -> list[str]:
    """Values of `Environment=`, one for each variable."""
    return [unit_words([f"{key}={value}"]) for key, value in environment.items()]


def java_home(installed: Sequence[Mapping[str, Any]], major: int, named: str) -> str:
    """The JDK that Alluxio is started with: the one that was named, else the first of that version on the node."""
    return named or next((str(one["home"]) for one in installed if one["major"] == major), "")


def _filled(made: Sequence[Mapping[str, Any]], state_dir: str) -> list[dict[str, Any]]:
    """Folders that only this deployment writes to: removal takes what is in them, too."""
    return [
        {"path": f"{state_dir}/conf", "mode": "0755"},
        *({"path": unit["client_cache"], "mode": "0700"} for unit in made if unit["client_cache"]),
    ]


def _entered(made: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Folders above mount points."""
    parents = [unit["mount_parent"] for unit in made]
    roots = sorted({parent["path"].rpartition("/")[0] for parent in parents})
    return [{"path": root, "mode": "0755"} for root in roots] + [
        {"path": one["path"], "uid": one["uid"], "gid": one["gid"], "mode": one["mode"]} for one in parents
    ]


def _unit(name: str, dataset: str, fuse: Mapping[str, Any], state_dir: str) -> Unit:
    called = f"{name}-fuse-{dataset}"
    source = fuse.get("under_store", "")
    folder = folder_of(source)
    cache: PlannedCache = fuse["client_cache"]
    return Unit(
        name=f"{called}.service",
        dataset=dataset,
        arguments=[*_main(fuse, source), *_options(fuse["mount_options"])],
        environment={
            "ALLUXIO_FUSE_JAVA_OPTS": " ".join(fuse["jvm_flags"]),
            **fuse["environment"],
            SETTINGS_VARIABLE: fuse["settings_file"],
        },
        memory=fuse["container_memory"],
        nofile=fuse["nofile"],
        # a folder may belong to the service user alone; root without this capability is a user like any other
        capabilities=["CAP_SYS_ADMIN", *(["CAP_DAC_READ_SEARCH"] if folder else [])],
        requires=[path for path in (folder, cache.path) if path],
        conf_dir=f"{state_dir}/conf/{called}",
        properties=fuse["properties"],
        under_store=source.startswith(S3),
        mount_point=fuse["mount_point"],
        mount_parent=fuse["mount_parent"],
        client_cache=cache.path or "",
    )


def _main(fuse: Mapping[str, Any], source: str) -> list[str]:
    """Main class and where it mounts what. The image's own class asks a master first, so it is not for without one."""
    point = ["-m", fuse["mount_point"]]
    if source:
        return ["alluxio.fuse.AlluxioFuse", *point, "-u", source, "-c", "false"]
    return ["alluxio.image.Start", "fuse", *point, "-a", fuse["alluxio_path"]]


def _options(options: Sequence[str]) -> list[str]:
    return ["-o", ",".join(options)] if options else []


def _escaped(word: str) -> str:
    for special, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("\n", "\\n")):
        word = word.replace(special, written)
    return word
