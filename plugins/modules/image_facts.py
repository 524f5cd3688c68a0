#!/usr/bin/python
"""What a registry, or an archive, holds of an image."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.alluxio.fuse.plugins.module_utils import oci_archive

DOCUMENTATION = r"""
module: image_facts
short_description: what a registry, or an archive, holds of an image
description:
  - Asks a registry with skopeo, which reads credentials from a file and no argument. Nothing is written.
  - Compares every blob of an archive with the digest that names it.
  - What a registry refuses, or is wrong with an archive, is told in C(detail), and is no failure of the module.
options:
  name: {description: "Image in a registry, C(registry/name:tag).", type: str}
  archive: {description: "Archive, as C(podman save --format oci-archive) writes it.", type: path}
  auth_file: {description: "Credentials, as C(podman login) writes them.", type: path}
  ca_file: {description: PEM file with the registry's CA., type: path}
  insecure: {description: "Whether it may speak plain HTTP, or have any certificate.", type: bool, default: false}
author: [alluxio-fuse]
extends_documentation_fragment:
  - alluxio.fuse.looks
"""

EXAMPLES = r"""
- name: Ask the registry for the image
  alluxio.fuse.image_facts:
    name: registry.example.com/data/alluxio-fuse:2.9.6
    auth_file: /home/me/.config/containers/auth.json
"""

RETURN = r"""
image:
  description: >-
    C(state) (there, absent, refused, broken, or unasked where there is no skopeo), C(detail), C(digest) of the
    manifest, C(platform) (C(linux/amd64)) and C(labels), the latter three empty unless it is there.
  type: dict
  returned: always
"""

Answer = tuple[int, str, str]
#: How registries say that there is no image of that name yet.
_ABSENT = re.compile(r"manifest unknown|name unknown|repository name not known|not found")
_FATAL = re.compile(r'level=fatal msg="(?P<words>(?:[^"\\]|\\.)*)"')


def words(said: str) -> str:
    """The registry's own words in skopeo's log line."""
    found = _FATAL.search(said)
    return found["words"].replace('\\"', '"') if found else " ".join(said.split())[-400:]


def ask(inspect: Callable[..., Answer]) -> dict[str, Any]:
    """What is there; inspect: runs `skopeo inspect` with further arguments."""
    status, manifest, error = inspect("--raw")
    if status != 0:
        said = words(error)
        return nothing("absent" if _ABSENT.search(said) else "refused", said)
    status, config, error = inspect("--config")
    if status != 0:
        return nothing("refused", words(error))
    digest = f"sha256:{hashlib.sha256(manifest.encode()).hexdigest()}"
    return there(digest, json.loads(config))


def read(archive: str) -> dict[str, Any]:
    """What the archive holds."""
    if not Path(archive).is_file():
        return nothing("absent", f"{archive}: no such file")
    try:
        found = oci_archive.read(archive)
    except oci_archive.BrokenArchiveError as error:
        return nothing("broken", str(error))
    return there(*found)


def there(digest: str, config: dict[str, Any]) -> dict[str, Any]:
    """What is known of an image."""
    return {
        "state": "there",
        "detail": "",
        "digest": digest,
        "platform": f"{config.get('os')}/{config.get('architecture')}",
        "labels": (config.get("config") or {}).get("Labels") or {},
    }


def nothing(state: str, detail: str) -> dict[str, Any]:
    """That nothing is known of the image."""
    return {"state": state, "detail": detail, "digest": "", "platform": "", "labels": {}}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str"},
            "archive": {"type": "path"},
            "auth_file": {"type": "path"},
            "ca_file": {"type": "path"},
            "insecure": {"type": "bool", "default": False},
        },
        required_one_of=[("name", "archive")],
        mutually_exclusive=[("name", "archive")],
        supports_check_mode=True,
    )
    params = module.params
    if params["archive"]:
        module.exit_json(changed=False, image=read(params["archive"]))
    skopeo = module.get_bin_path("skopeo")
    if skopeo is None:
        module.exit_json(changed=False, image=nothing("unasked", "skopeo is not installed"))
    for path in (params["auth_file"], params["ca_file"]):
        if path and not Path(path).is_file():
            module.exit_json(changed=False, image=nothing("refused", f"{path}: no such file on the controller"))
    options = ["--tls-verify=false"] if params["insecure"] else []
    options += ["--authfile", params["auth_file"]] if params["auth_file"] else []
    with tempfile.TemporaryDirectory() as authorities:
        if params["ca_file"]:
            shutil.copyfile(params["ca_file"], f"{authorities}/ca.crt")
            options += ["--cert-dir", authorities]
        command = [skopeo, "--command-timeout", "30s", "inspect", *options]
        image = ask(lambda *more: module.run_command([*command, *more, f"docker://{params['name']}"]))
    module.exit_json(changed=False, image=image)


if __name__ == "__main__":
    main()
