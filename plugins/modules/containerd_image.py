#!/usr/bin/python
"""An image in containerd, where the kubelet finds it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: containerd_image
short_description: an image in containerd, where the kubelet finds it
description:
  - Imports an archive of one image under a name with a digest, by which pods find it without pulling it, and marks it
    so that the kubelet's removal of unused images leaves it. containerd compares every blob with the digest.
  - Removes an image that no container uses. One that is used stays, which O(image.used) tells.
attributes:
  check_mode:
    support: full
    description: Says what would be changed.
options:
  name:
    description: >-
      Repository and digest, as C(registry.example.com/alluxio-fuse@sha256:…). Empty where the digest is not known yet,
      as in check mode before the image was built; such an image counts as missing.
    type: str
    default: ""
  archive: {description: "Archive on the node, as C(podman save --format oci-archive) writes it.", type: path}
  state:
    description: Whether the image is to be there; V(asked) only looks, also at what is in the way of one.
    type: str
    choices: [present, absent, asked]
    default: present
author: [alluxio-fuse]
"""

EXAMPLES = r"""
- name: Import the image
  alluxio.fuse.containerd_image:
    name: registry.example.com/data/alluxio-fuse@sha256:2b1c…
    archive: /var/lib/alluxio-fuse/image.tar
"""

RETURN = r"""
image:
  description: >-
    C(there), whether containerd has the image, C(used), ids of the containers that run it and kept it, and C(why), what
    is in the way of images here, empty where nothing is.
  type: dict
  returned: always
"""

WAIT_S = 20  # in which containers that end may go before an image counts as used
SOCKET = Path("/run/containerd/containerd.sock")
PINNED = "io.cri-containerd.pinned=pinned"


class Containerd:
    """What Kubernetes knows of containerd: its namespace k8s.io."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module, self.program = module, module.get_bin_path("ctr", required=True)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Status, output and error of ctr."""
        found: tuple[int, str, str] = self.module.run_command([self.program, "--namespace", "k8s.io", *arguments])
        return found

    def ctr(self, *arguments: str) -> str:
        """Output of ctr, which must succeed."""
        status, said, error = self.run(*arguments)
        if status != 0:
            self.module.fail_json(msg=f"ctr {' '.join(arguments)}: {(error or said).strip()}")
        return said

    def lists(self, name: str) -> bool:
        """Whether there is an image of that name, whole or not."""
        return name in self.ctr("images", "list", "--quiet", f"name=={name}").split()

    def has(self, name: str) -> bool:
        """Whether the image is there with all of its blobs."""
        rows = [line.split() for line in self.ctr("images", "check", f"name=={name}").splitlines()[1:]] if name else []
        return any(row[0] == name and row[3] == "complete" for row in rows)

    def bring(self, name: str, archive: str) -> None:
        """Imports the archive's image under its digest alone: what a tag names there is not touched."""
        repository = name.partition("@")[0]
        status, said, error = self.run("images", "import", "--digests", "--base-name", repository, archive)
        if status != 0 or not self.has(name):
            if self.lists(name):
                self.remove(name)  # containerd notes an image before it looks for all blobs of it
            self.module.fail_json(msg=f"{archive} is not {name}: {(error or said).strip()}")
        self.ctr("images", "label", name, PINNED)

    def names(self, name: str) -> list[str]:
        """All names of what this name stands for; Kubernetes adds one by the image's id."""
        rows = [line.split() for line in self.ctr("images", "list").splitlines()[1:]]
        target = next(row[2] for row in rows if row[0] == name)
        return [row[0] for row in rows if row[2] == target]

    def users(self, name: str) -> list[str]:
        """Ids of containers made from the image, by whatever name of it: containerd notes any of them."""
        names = self.names(name)
        rows = [line.split() for line in self.ctr("containers", "list").splitlines()[1:]]
        return [row[0] for row in rows if row[1] in names]

    def remove(self, name: str) -> None:
        """Removes the name, and that by the id if no other is left."""
        others = [one for one in self.names(name) if one != name]
        by_id = [one for one in others if one.startswith("sha256:")]
        self.ctr("images", "remove", "--sync", name, *(by_id if by_id == others else []))


def why(module: AnsibleModule) -> str:
    """What is in the way of importing an image on this node; empty where nothing is."""
    if module.get_bin_path("ctr") is None:
        return "there is no ctr on the node"
    if not SOCKET.is_socket():
        return f"containerd does not listen at {SOCKET}"
    return ""


def leave(containerd: Containerd, params: dict[str, Any], check: bool) -> dict[str, Any]:
    """Removes the image, unless containers keep using it."""
    deadline = time.monotonic() + WAIT_S
    while (used := containerd.users(params["name"])) and not check and time.monotonic() < deadline:
        time.sleep(1)
    if used:
        return {"there": True, "used": used}
    if not check:
        containerd.remove(params["name"])
    return {"there": check, "used": []}


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "default": ""},
            "archive": {"type": "path"},
            "state": {"type": "str", "choices": ["present", "absent", "asked"], "default": "present"},
        },
        supports_check_mode=True,
    )
    params = module.params
    if params["state"] == "asked":
        asked = why(module)
        there = not asked and Containerd(module).has(params["name"])
        module.exit_json(changed=False, image={"there": there, "used": [], "why": asked})
    containerd = Containerd(module)
    if params["state"] == "absent":
        there = containerd.lists(params["name"])
        image = leave(containerd, params, module.check_mode) if there else {"there": False, "used": []}
        module.exit_json(changed=there and not image["used"], image={**image, "why": ""})
    there = containerd.has(params["name"])
    if not there and not module.check_mode:
        if not params["archive"]:
            module.fail_json(msg=f"{params['name']} is not there, and no archive is named to import it from")
        containerd.bring(params["name"], params["archive"])
    module.exit_json(changed=not there, image={"there": there or not module.check_mode, "used": [], "why": ""})


if __name__ == "__main__":
    main()
