#!/usr/bin/python
"""Makes the mount table of an Alluxio namespace what the plan says."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: namespace_mounts
short_description: nested mounts of an Alluxio namespace
description:
  - Mounts each dataset at its path, read-only unless it is writable, and unmounts what is not named.
  - The root is left alone.
  - A mount whose source or mode differs is unmounted and mounted again, which leaves the under store as it is.
  - A mount with other options or keys is told of them, while its readers go on. Each mount carries a digest of what it
    was declared with, by which that is seen.
  - Keys reach the master through standard input, so that they are in nobody's command line.
options:
  cli:
    description:
      - Command that runs the Alluxio CLI at the master, to which arguments are appended; all but its last word runs any
        command there, and passes standard input on.
    type: list
    elements: str
    required: true
  datasets:
    description:
      - Mounts wanted, each with C(name), C(alluxio_path), C(source), C(folder) where services see it in one (or empty),
        C(writable) and C(options), a dictionary of Alluxio properties without secrets.
    type: list
    elements: dict
    required: true
  credentials:
    description: For a dataset's name, its C(access_key) and C(secret_key), and for OSS maybe C(security_token).
    type: dict
    default: {}
  free_to:
    description:
      - Only unmount, and then wait, at most a minute, until workers hold no more than so many bytes, as what was
        unmounted is freed bit by bit. A master that does not answer is told in C(unknown), and is no failure.
    type: int
attributes:
  check_mode:
    support: full
    description: A master that does not answer, as before the first run, is told in C(unknown) and is no failure.
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Mount the datasets
  alluxio.fuse.namespace_mounts:
    cli: [podman, exec, --interactive, alluxio-fuse-master, /opt/alluxio/bin/alluxio]
    datasets:
      - {name: imagenet, alluxio_path: /imagenet, source: "s3://bucket/set", folder: "", writable: false, options: {}}
    credentials: "{{ alluxio_credentials }}"
"""

RETURN = r"""
mounted: {description: paths that were mounted, type: list, returned: always}
unmounted: {description: paths that were unmounted, type: list, returned: always}
updated: {description: paths whose options or keys were told to the master, type: list, returned: always}
declared: {description: "for each path, the digest of what it is declared with now", type: dict, returned: always}
unknown: {description: "why the table cannot be known", type: str, returned: in check mode and with O(free_to)}
"""

_USED = re.compile(r"^Used Bytes: (\d+)$", re.MULTILINE)
_LINE = re.compile(r"^(?P<source>\S+)\s+on\s+(?P<path>/\S*)\s+\((?P<details>.*)\)\s*$")
#: An option that means nothing to Alluxio: the digest of what a mount was declared with.
MARK = "alluxio.fuse.declaration"
#: By scheme, the option of a mount that each of a dataset's keys becomes.
KEY_OPTIONS = {
    "file": {},
    "hdfs": {},
    "s3": {"access_key": "s3a.accessKeyId", "secret_key": "s3a.secretKey"},
    "oss": {
        "access_key": "fs.oss.accessKeyId",
        "secret_key": "fs.oss.accessKeySecret",
        "security_token": "fs.oss.securityToken",
    },
}
_MARKED = re.compile(rf"\b{re.escape(MARK)}=([0-9a-f]+)")
#: The CLI's JVM, started by the image's own script, with the rest of its command line from standard input.
FED = '. /opt/alluxio/libexec/launch.sh && java_command USER_LOGGER USER "" && exec "${java[@]}" @/dev/stdin'
PATIENCE_S = 60.0
SHELL = "alluxio.cli.fs.FileSystemShell"


def parse_mount_table(text: str) -> dict[str, dict[str, Any]]:
    """What `alluxio fs mount` prints, as `{path: {source, writable, declared}}`."""
    table = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            marked = _MARKED.search(match["details"])
            table[match["path"]] = {
                "source": match["source"].rstrip("/"),
                "writable": "not read-only" in match["details"],
                "declared": marked[1] if marked else "",
            }
    return table


def mount_options(dataset: dict[str, Any], credentials: dict[str, dict[str, str]]) -> dict[str, str]:
    """All options of a dataset's mount, keys included, and the digest of what is declared of it."""
    options = dict(dataset.get("options") or {})
    if keys := credentials.get(dataset["name"]):
        options |= {
            option: keys[key]
            for key, option in KEY_OPTIONS[dataset["source"].partition("://")[0]].items()
            if keys.get(key)
        }
    declared = json.dumps(
        [dataset["alluxio_path"], dataset["source"], bool(dataset["writable"]), options], sort_keys=True
    )
    return options | {MARK: hashlib.sha256(declared.encode()).hexdigest()[:16]}


def differences(
    table: dict[str, dict[str, Any]], wanted: dict[str, dict[str, Any]]
) -> tuple[list[str], list[str], list[str]]:
    """Paths to unmount, to mount and to update, so that the table becomes what the plan says.

    wanted: by path, a dataset whose C(options) are those of :func:`mount_options`.
    """

    def right(path: str) -> bool:
        have, want = table[path], wanted.get(path)
        return want is not None and (have["source"], have["writable"]) == (
            _location(want),
            bool(want["writable"]),
        )

    surplus = sorted(path for path in table if path != "/" and not right(path))
    missing = [path for path in wanted if path not in table or path in surplus]
    kept = [path for path in wanted if path not in missing]
    return surplus, missing, [path for path in kept if table[path]["declared"] != wanted[path]["options"][MARK]]


def _location(dataset: dict[str, Any]) -> str:
    """A source as the mount table shows it: of what nodes have mounted, the folder."""
    return str(dataset["folder"] or dataset["source"]).rstrip("/")


def mount_arguments(verb: str, dataset: dict[str, Any]) -> list[str]:
    """Arguments of `alluxio fs` that mount one dataset, or update its options."""
    options = [part for key, value in sorted(dataset["options"].items()) for part in ("--option", f"{key}={value}")]
    readonly = [] if dataset["writable"] else ["--readonly"]
    source = [_location(dataset)] if verb == "mount" else []
    return [verb, *readonly, *options, dataset["alluxio_path"], *source]


def argument_file(arguments: list[str]) -> str:
    """Arguments as Java reads them from a file: one a line, in quotation marks."""
    escaped = (argument.replace("\\", "\\\\").replace('"', '\\"') for argument in arguments)
    return "".join(f'"{argument}"\n' for argument in escaped)


class CliError(Exception):
    """Alluxio's command line ended with an error, or could not be started."""


def run(command: list[str], about: str, text: str | None = None) -> str:
    """What Alluxio's command line answers; `about` names it in an error, and `text` is what it is given to read."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=180)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CliError(str(error)) from None
    if done.returncode != 0:
        # The CLI answers on either stream, between lines of logs and stacks.
        said = [
            line
            for line in (done.stdout + done.stderr).strip().splitlines()
            if not line.lstrip().startswith(("at ", "... "))
        ]
        raise CliError(f"alluxio fs {about}: {' '.join(said[-12:])}")
    return done.stdout


def listed(cli: list[str], patience: float) -> str:
    """The mount table, once the master answers: one that was just started refuses for a while."""
    end = time.monotonic() + patience
    while True:
        try:
            return run([*cli, "fs", "mount"], "mount")
        except CliError:
            if time.monotonic() > end:
                raise
        time.sleep(2)


def freed(cli: list[str], wanted: int, patience: float) -> None:
    """Waits until all workers together hold no more than `wanted` bytes."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        used = _USED.search(run([*cli, "fs", "getUsedBytes"], "getUsedBytes"))
        if not used or int(used[1]) <= wanted:
            return
        time.sleep(1)


def told(cli: list[str], verb: str, dataset: dict[str, Any]) -> None:
    """Have the master mount a dataset, or take its options; keys go through standard input."""
    text = argument_file([SHELL, *mount_arguments(verb, dataset)])
    run([*cli[:-1], "bash", "-c", FED], f"{verb} {dataset['alluxio_path']}", text)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "cli": {"type": "list", "elements": "str", "required": True},
            "datasets": {"type": "list", "elements": "dict", "required": True},
            "credentials": {"type": "dict", "default": {}, "no_log": True},
            "free_to": {"type": "int"},
        },
        supports_check_mode=True,
    )
    cli, credentials, free_to = (module.params[key] for key in ("cli", "credentials", "free_to"))
    wanted = {
        one["alluxio_path"]: {**one, "options": mount_options(one, credentials)} for one in module.params["datasets"]
    }
    declared = {path: one["options"][MARK] for path, one in wanted.items()}
    lenient = module.check_mode or free_to is not None
    try:
        text = listed(cli, 0 if lenient else PATIENCE_S)
        surplus, missing, outdated = differences(parse_mount_table(text), wanted)
        if free_to is not None:
            missing, outdated = [], []
        if not module.check_mode:
            for path in surplus:
                run([*cli, "fs", "unmount", path], f"unmount {path}")
            if surplus and free_to is not None:
                freed(cli, free_to, PATIENCE_S)
            for path in missing:
                told(cli, "mount", wanted[path])
            for path in outdated:
                told(cli, "updateMount", wanted[path])
    except CliError as error:
        if not lenient:
            module.fail_json(msg=str(error))
        module.exit_json(changed=False, mounted=[], unmounted=[], updated=[], declared=declared, unknown=str(error))
    module.exit_json(
        changed=bool(surplus or missing or outdated),
        mounted=missing,
        unmounted=surplus,
        updated=outdated,
        declared=declared,
    )


if __name__ == "__main__":
    main()
