#!/usr/bin/python
"""Makes the mount table of an Alluxio namespace what the plan says."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: namespace_mounts
short_description: nested mounts of an Alluxio namespace
description:
  - Mounts each dataset at its path, read-only unless it is writable, and unmounts what is not named.
  - The root is left alone.
  - A mount whose source or mode differs is unmounted and mounted again, which leaves the under store as it is.
options:
  cli:
    description: Command that runs the Alluxio CLI, to which arguments are appended.
    type: list
    elements: str
    required: true
  datasets:
    description:
      - Mounts wanted, each with C(alluxio_path), C(source), C(writable) and C(options), a dictionary of Alluxio
        properties without secrets.
    type: list
    elements: dict
    required: true
attributes:
  check_mode:
    support: full
    description: A master that does not answer, as before the first run, is told in C(unknown) and is no failure.
author: alluxio-fuse
"""

EXAMPLES = r"""
- name: Mount the datasets
  alluxio.fuse.namespace_mounts:
    cli: [podman, exec, alluxio-fuse-master, /opt/alluxio/bin/alluxio]
    datasets:
      - {alluxio_path: /imagenet, source: "s3://bucket/imagenet", writable: false, options: {}}
"""

RETURN = r"""
mounted: {description: paths that were mounted, type: list, returned: always}
unmounted: {description: paths that were unmounted, type: list, returned: always}
unknown: {description: "in check mode, why the table cannot be known", type: str, returned: when it cannot}
"""

_LINE = re.compile(r"^(?P<source>\S+)\s+on\s+(?P<path>/\S*)\s+\((?P<details>.*)\)\s*$")


def parse_mount_table(text: str) -> dict[str, dict[str, Any]]:
    """What `alluxio fs mount` prints, as `{path: {source, writable}}`."""
    table = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            writable = "not read-only" in match["details"]
            table[match["path"]] = {"source": match["source"].rstrip("/"), "writable": writable}
    return table


def differences(
    table: dict[str, dict[str, Any]], datasets: list[dict[str, Any]]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Paths to unmount and datasets to mount, so that the table becomes what the plan says."""
    wanted = {d["alluxio_path"]: d for d in datasets}

    def right(path: str) -> bool:
        have, want = table[path], wanted.get(path)
        return want is not None and have == {"source": _location(want["source"]), "writable": bool(want["writable"])}

    surplus = sorted(path for path in table if path != "/" and not right(path))
    missing = [d for path, d in wanted.items() if path not in table or path in surplus]
    return surplus, missing


def _location(source: str) -> str:
    """A source as the mount table shows it: a local folder without its scheme."""
    return source.removeprefix("file://").rstrip("/")


def mount_arguments(dataset: dict[str, Any]) -> list[str]:
    """Arguments of `alluxio` that mount one dataset."""
    options = [
        part for key, value in sorted((dataset.get("options") or {}).items()) for part in ("--option", f"{key}={value}")
    ]
    readonly = [] if dataset["writable"] else ["--readonly"]
    return ["fs", "mount", *readonly, *options, dataset["alluxio_path"], _location(dataset["source"])]


class CliError(Exception):
    """Alluxio's command line ended with an error, or could not be started."""


def run(cli: list[str], *arguments: str) -> str:
    """What Alluxio's command line answers."""
    try:
        done = subprocess.run([*cli, *arguments], capture_output=True, text=True, check=False, timeout=180)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CliError(str(error)) from None
    if done.returncode != 0:
        # The CLI answers on either stream, between lines of logs and stacks.
        said = [
            line
            for line in (done.stdout + done.stderr).strip().splitlines()
            if not line.lstrip().startswith(("at ", "... "))
        ]
        raise CliError(f"alluxio {' '.join(arguments[:2])} {arguments[-2:]}: {' '.join(said[-12:])}")
    return done.stdout


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cli": {"type": "list", "elements": "str", "required": True},
            "datasets": {"type": "list", "elements": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    cli, datasets = module.params["cli"], module.params["datasets"]
    try:
        surplus, missing = differences(parse_mount_table(run(cli, "fs", "mount")), datasets)
        if not module.check_mode:
            for path in surplus:
                run(cli, "fs", "unmount", path)
            for dataset in missing:
                run(cli, *mount_arguments(dataset))
    except CliError as error:
        if not module.check_mode:
            module.fail_json(msg=str(error))
        module.exit_json(changed=False, mounted=[], unmounted=[], unknown=str(error))
    module.exit_json(changed=bool(surplus or missing), mounted=[d["alluxio_path"] for d in missing], unmounted=surplus)


if __name__ == "__main__":
    main()
