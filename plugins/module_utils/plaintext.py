"""Secrets that stand in plain text in files of an inventory, on the controller."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

SECRET = re.compile(
    r"\w*secret_key|\w*security_token|alluxio_cluster_password|ansible_\w*(pass|password|passphrase|token)"
)
INI = re.compile(rf"""(?:^|[\s"',{{])({SECRET.pattern})["']?\s*[=:]\s*["']?(?!\{{\{{)[^\s"',}}]""", re.MULTILINE)
EXTENSIONS = ("", ".yml", ".yaml", ".json", ".ini")
VARIABLES = ("group_vars", "host_vars")
EXEMPT = ("inventories", "local")


class _Loader(yaml.SafeLoader):
    """YAML as Ansible reads it, in which a vault's values are no plain text."""


def _tagged(loader: _Loader, tag: str, node: yaml.Node) -> Any:
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) and tag != "vault" else None


_Loader.add_multi_constructor("!", _tagged)


def plain_secrets(sources: list[str], playbooks: str) -> list[dict[str, Any]]:
    """[{path, keys}] of files with secrets in plain text: of inventory sources, and the variables beside playbooks.

    Fine are files that ansible-vault has encrypted, `!vault` values, templates, and the files of inventories/local.
    """
    files = {path for source in sources for path in _files(Path(source))} | set(_variables(Path(playbooks)))
    found = [{"path": str(path), "keys": secrets_of(path)} for path in sorted(files) if not _exempt(path)]
    return [one for one in found if one["keys"]]


def _files(source: Path) -> Iterator[Path]:
    """The source itself, or all that is in it, and the variables beside it; a list of hosts has none."""
    if source.is_dir():
        yield from _below(source)
    elif source.is_file():
        yield source
        yield from _variables(source.parent)


def _variables(folder: Path) -> Iterator[Path]:
    for name in VARIABLES:
        yield from _below(folder / name)


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix in EXTENSIONS and not hidden and path.is_file():
            yield path


def _exempt(path: Path) -> bool:
    parts = path.absolute().parts
    return EXEMPT in pairwise(parts)


def secrets_of(path: Path) -> list[str]:
    """Where in a file a secret stands in plain text, as a.b.c; never the secret."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return []
    if text.startswith(("$ANSIBLE_VAULT", "#!")):
        return []
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
    except yaml.YAMLError:
        documents = []
    if any(isinstance(one, (dict, list)) for one in documents):
        return sorted({key for one in documents for key in _plain(one, "")})
    return sorted({found.group(1) for found in INI.finditer(text)})


def _plain(value: Any, within: str) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _plain(one, within)
    elif isinstance(value, dict):
        for key, one in value.items():
            place = f"{within}.{key}" if within else str(key)
            if isinstance(one, (dict, list)):
                yield from _plain(one, place)
            elif SECRET.fullmatch(str(key)) and one and "{{" not in str(one):
                yield place
