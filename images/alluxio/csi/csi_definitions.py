#!/usr/bin/env python3
"""Makes Python of the official definitions: of the Container Storage Interface, and of how a kubelet learns of plugins.

usage: csi_definitions.py FOLDER COMPILER...     COMPILER: protoc, or a command that stands for it
Go's module proxy carries both; Go's own variables apply, such as GOPROXY.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Definition(NamedTuple):
    """A file of a Go module, and the hash of the module as go.sum has it."""

    module: str
    hash: str
    file: str


#: Those of Kubernetes 1.34. Later versions add to them.
DEFINITIONS = (
    Definition(
        "github.com/container-storage-interface/spec@v1.9.0",
        "h1:zKtX4STsq31Knz3gciCYCi1SXtO2HJDecIjDVboYavY=",
        "csi.proto",
    ),
    Definition(
        "k8s.io/kubelet@v0.34.4",
        "h1:+8aLwtoZSUnE7HLxjrAYNtlJFzlwxQ4UBleyaW4JzA8=",
        "pkg/apis/pluginregistration/v1/api.proto",
    ),
)


def fetched(definition: Definition) -> Path:
    """The path of a definition, of the pinned hash."""
    command = ["go", "mod", "download", "-json", definition.module]
    # The hash is compared here, so that no other server is asked for it.
    environment = {**os.environ, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOSUMDB": "off"}
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=environment)
    told = json.loads(done.stdout or "{}")
    if done.returncode != 0:
        raise SystemExit(f"{definition.module}: {told.get('Error', 'go could not fetch it')}")
    if told["Sum"] != definition.hash:
        raise SystemExit(f"{definition.module} has the hash {told['Sum']}, pinned is {definition.hash}")
    return Path(told["Dir"], definition.file)


def main(folder: str, *compiler: str) -> None:
    """Writes csi_pb2.py and api_pb2.py into the folder."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for definition in DEFINITIONS:
        path = fetched(definition)
        subprocess.run([*compiler, f"--proto_path={path.parent}", f"--python_out={folder}", path], check=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
