"""The property keys that one Alluxio version knows, from a list generated from its jars."""

import re
from functools import cache
from importlib.resources import files


@cache
def _known(version: str) -> tuple[frozenset[str], tuple[re.Pattern[str], ...]] | None:
    path = files("alluxio_fuse.plan") / "data" / f"property-keys-{version}.txt"
    if not path.is_file():
        return None
    lines = path.read_text(encoding="utf-8").split()
    plain = frozenset(line for line in lines if not line.startswith("~"))
    # Java names a group (?<name>…), Python (?P<name>…).
    templates = tuple(
        re.compile(line[1:].replace("(?<nested>", "(?P<nested>")) for line in lines if line.startswith("~")
    )
    return plain, templates


def versions() -> list[str]:
    """Alluxio versions whose keys are known."""
    names = (path.name for path in (files("alluxio_fuse.plan") / "data").iterdir())
    return sorted(match[1] for name in names if (match := re.fullmatch(r"property-keys-(.+)\.txt", name)))


def plain_keys(version: str) -> frozenset[str]:
    """Keys that are not templates."""
    known = _known(version)
    return known[0] if known else frozenset()


@cache
def is_known(key: str, version: str) -> bool:
    """Whether this version has the property, templated ones included."""
    known = _known(version)
    return known is not None and (key in known[0] or any(template.fullmatch(key) for template in known[1]))
