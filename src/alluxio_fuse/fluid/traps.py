"""What Fluid takes without a word and does not do, or fails at later: refused before anything is made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from alluxio_fuse.kubernetes.objects import Object
from alluxio_fuse.plan.refusals import Finding
from alluxio_fuse.plan.schemes import OSS

_META: Final = ("ONCE", "ALWAYS")
_PAIRS: Final = (
    ("fs.oss.accessKeyId", "fs.oss.accessKeySecret"),
    ("s3a.accessKeyId", "s3a.secretKey"),
    ("aws.accessKeyId", "aws.secretKey"),
)
_KEY: Final = re.compile(r"(accessKey|secretKey|accessKeySecret|password|token)", re.IGNORECASE)
_WHERE: Final = {"Dataset": "alluxio_fluid.further.dataset"}


def traps(objects: list[Object]) -> list[Finding]:
    """What speaks against a Dataset and its runtime."""
    return [finding for one in objects for finding in _of(one)]


def _of(one: Object) -> Iterator[Finding]:
    where = _WHERE.get(one["kind"], "alluxio_fluid.further.runtime")
    if one["kind"] == "Dataset":
        yield from _dataset(where, one["spec"])
    elif one["kind"] in ("AlluxioRuntime", "JindoRuntime"):
        yield from _levels(where, one)
        yield from _ignored(where, one)


def _dataset(where: str, spec: Mapping[str, Any]) -> Iterator[Finding]:
    if spec.get("accessModes") != ["ReadOnlyMany"]:
        modes, remedy = _text(spec.get("accessModes")), "write [ReadOnlyMany]"
        yield Finding(f"{where}.accessModes", modes, "others could write to the source", remedy)
    shared = spec.get("sharedEncryptOptions", [])
    for index, mount in enumerate(spec["mounts"]):
        yield from _mount(f"{where}.mounts[{index}]", mount, [*shared, *mount.get("encryptOptions", [])])
        yield from _plain_keys(f"{where}.mounts[{index}].options", mount.get("options", {}))
    yield from _plain_keys(f"{where}.sharedOptions", spec.get("sharedOptions", {}))


def _mount(where: str, mount: Mapping[str, Any], encrypted: list[Mapping[str, Any]]) -> Iterator[Finding]:
    options, keys = mount.get("options", {}), {one["name"] for one in encrypted}
    if not mount.get("readOnly"):
        yield Finding(f"{where}.readOnly", _text(mount.get("readOnly")), "Fluid mounts it read-write", "write true")
    if mount.get("path") == "/" and encrypted:
        reason = "Fluid tells Alluxio's workers the name of a key's file in place of the key"
        yield Finding(f"{where}.path", "/", reason, f"write path: /{mount.get('name')}")
    elif not mount.get("path"):
        reason = "where the files are in the claim would follow from the mount's name"
        yield Finding(f"{where}.path", "not said", reason, f"write path: /{mount.get('name')}")
    for pair in _PAIRS:
        if len(found := keys & set(pair)) == 1:
            other = next(name for name in pair if name not in found)
            reason = f"{other} is missing: half a key pair"
            yield Finding(f"{where}.encryptOptions", found.pop(), reason, f"add {other}, or write neither")
    if mount["mountPoint"].startswith(OSS) and not options.get("fs.oss.endpoint"):
        remedy = "write fs.oss.endpoint: oss-<region>-internal.aliyuncs.com"
        yield Finding(f"{where}.options.fs.oss.endpoint", "empty", "Jindo's controller fails without it", remedy)
    policy = options.get("metaPolicy", "ONCE")
    if policy not in _META:
        yield Finding(f"{where}.options.metaPolicy", policy, "Jindo knows no such policy", "write ONCE or ALWAYS")
    elif options.get("cacheStrategy") == "DHT" and policy != "ONCE":
        yield Finding(f"{where}.options.metaPolicy", policy, "cacheStrategy DHT works with ONCE only", "write ONCE")


def _plain_keys(where: str, options: Mapping[str, str]) -> Iterator[Finding]:
    """A key in plain options is in the object, and in every copy of it."""
    for name in sorted(options):
        if _KEY.search(name) and options[name] != "unsigned":
            remedy = f"take it out, and put the keys into a Secret: {where.rpartition('.')[0]}.encryptOptions"
            yield Finding(f"{where}.{name}", "(not shown)", "a key in an object that many may read", remedy)


def _levels(where: str, one: Object) -> Iterator[Finding]:
    levels = one["spec"].get("tieredstore", {}).get("levels", [])
    for index, level in enumerate(levels):
        at = f"{where}.tieredstore.levels[{index}]"
        paths, quotas = level.get("path", "").split(","), level.get("quotaList", "").split(",")
        if level.get("quotaList") and len(quotas) != len(paths):
            reason = f"it names {_count(quotas, 'quota')} for {_count(paths, 'path')}"
            yield Finding(
                f"{at}.quotaList", level["quotaList"], reason, "write one quota for each path, with commas between"
            )
        for key in ("high", "low"):
            if key in level and one["kind"] == "AlluxioRuntime":
                reason = "Fluid's controller does not read it for Alluxio"
                remedy = (
                    f"write worker.properties: {{alluxio.worker.tieredstore.level{index}.watermark.{key}.ratio: …}}"
                )
                yield Finding(f"{at}.{key}", str(level[key]), reason, remedy)
    if one["kind"] == "JindoRuntime" and len(levels) > 1:
        yield Finding(
            f"{where}.tieredstore.levels", str(len(levels)), "Jindo uses the first one only", "write one level"
        )


def _ignored(where: str, one: Object) -> Iterator[Finding]:
    if one["kind"] != "AlluxioRuntime":
        return
    for service in ("jobMaster", "jobWorker"):
        for key in ("properties", "jvmOptions"):
            if key in one["spec"].get(service, {}):
                remedy = "take it out" if key == "jvmOptions" else "write them as properties of the runtime"
                yield Finding(f"{where}.{service}.{key}", "given", "Fluid's controller does not read it", remedy)
    if one["spec"].get("data", {}).get("pin"):
        yield Finding(f"{where}.data.pin", "true", "Fluid's controller does not read it", "take it out")


def _count(parts: list[str], what: str) -> str:
    return f"{len(parts)} {what}{'s' if len(parts) != 1 else ''}"


def _text(value: Any) -> str:
    return "not said" if value is None else str(value)
