#!/usr/bin/python
"""Backs the journal of a running master up, and reads the backup back."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import journal

DOCUMENTATION = r"""
module: journal_backup
short_description: Backs the journal of a running master up, and reads the backup back
description:
  - Has the master write a backup to a folder of its own, brings it out, and takes it away there.
  - The backup is whole if it holds as many entries as the master said; one that is not is deleted.
  - While it is written, the master lets nobody change names; reads go on.
  - A backup holds the options of all mounts, and keys of object stores where they are options, so it is its owner's.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: full
    description: Nothing is written, and no backup is told.
options:
  cli:
    description:
      - Command that runs the Alluxio CLI at the master; all but its last word runs any command there.
      - Without it, the backup at I(path) is read, and nothing is written.
    type: list
    elements: str
    default: []
  folder:
    description: Folder there, which the master may make and write to.
    type: path
    default: ""
  path:
    description: File here for the backup; the folder above it must be there.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Back the journal up
  alluxio.fuse.journal_backup:
    cli: [podman, exec, alluxio-fuse-master, /opt/alluxio/bin/alluxio]
    folder: /var/lib/alluxio-fuse/journal/backup
    path: /var/lib/alluxio-fuse/backup.gz
"""

RETURN = r"""
entries: {description: entries in the backup, type: int, returned: where there is one}
bytes: {description: size of the backup, type: int, returned: where there is one}
"""

URI = re.compile(r"^\s*Backup URI\s*:\s*(?:file://)?(/\S+)", re.MULTILINE)
COUNT = re.compile(r"^\s*Backup Entry Count\s*:\s*(\d+)", re.MULTILINE)


def parse(text: str) -> tuple[str, int] | None:
    """Path and number of entries that `fsadmin backup` tells."""
    uri, count = URI.search(text), COUNT.search(text)
    return (uri[1], int(count[1])) if uri and count else None


def back_up(cli: list[str], folder: str, path: Path) -> int:
    """Entries of the backup that is then at `path`."""
    *there, _ = cli
    said = subprocess.run(
        [*cli, "fsadmin", "backup", folder, "--local"], capture_output=True, check=True
    ).stdout.decode()
    told = parse(said)
    if told is None:
        raise journal.DamagedError(f"the master told no backup: {said.strip()[-500:]}")
    made, count = told
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            subprocess.run([*there, "cat", made], stdout=file, stderr=subprocess.PIPE, check=True)
        found = journal.entries(str(path))
        if found != count:
            raise journal.DamagedError(f"it holds {found} entries, and the master wrote {count}")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        subprocess.run([*there, "rm", "-f", made, f"{made}.complete"], capture_output=True, check=False)
    return count


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "cli": {"type": "list", "elements": "str", "default": []},
            "folder": {"type": "path", "default": ""},
            "path": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    cli, path = module.params["cli"], Path(module.params["path"])
    if cli and module.check_mode:
        module.exit_json(changed=True)
    try:
        count = back_up(cli, module.params["folder"], path) if cli else journal.entries(str(path))
    except journal.DamagedError as error:
        module.fail_json(msg=f"{path} is no whole backup: {error}. Nothing else was done.")
    except subprocess.CalledProcessError as error:
        said = ((error.stdout or b"") + (error.stderr or b"")).decode()
        command = " ".join(error.cmd[-4:])
        module.fail_json(msg=f"The master, which must run for it, wrote no backup ({command}): {said.strip()[-800:]}")
    module.exit_json(changed=bool(cli), entries=count, bytes=path.stat().st_size)


if __name__ == "__main__":
    main()
