"""What runs in a pod of a training: it starts the program's processes there, and prints one line with what came of it.

It reads `orders.json` and `files` (as `listed` and `packed` made them) in the folder that it is given, and runs the
order of that name. Every pod of a Job has a number; the first one is where all others meet.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import programs, reader, system, trainings

INDEX = "JOB_COMPLETION_INDEX"  # Kubernetes gives it to each pod of an Indexed Job
NODE = "NODE_NAME"
TOLD = "trained: "  # begins the line
WAIT_S = 300  # for the first pod's name
PORT = 29500  # torchrun's own
SCRATCH = "/scratch"


def packed(text: str) -> bytes:
    """Text in few bytes: a ConfigMap holds 1 MiB, and the kubelet keeps 10 MiB of a log."""
    return zlib.compress(text.encode("utf-8", "surrogateescape"), 9)


def unpacked(data: bytes) -> str:
    """The text again."""
    return zlib.decompress(data).decode("utf-8", "surrogateescape")


def listed(files: list[reader.Entry]) -> str:
    """Size of files, what their digest is computed by, and path, a line each."""
    return "".join(f"{entry.size} {reader.algorithm_of(entry.digest)} {entry.path}\n" for entry in files)


def main(folder: str, name: str) -> None:
    """Run the order of that name."""
    programs.leave_on_signals()
    said = json.loads(Path(folder, "orders.json").read_text(encoding="ascii"))
    one, node = said["runs"][name], os.environ[NODE]
    lines = unpacked(Path(folder, "files").read_bytes()).splitlines()
    rows = (line.split(" ", 2) for line in lines)
    files = [reader.Entry(path, int(size), f"{algorithm}:") for size, algorithm, path in rows]  # digests stay away
    _meet(one["first"])
    program = {"python": "python3", "path": said["program"], "launcher": _launcher(said, one)}
    one = {**one, "metrics": said["metrics"].get(node, {}) if one["kind"] == "train" else {}}
    found = trainings.run(one, files, {"scratch": SCRATCH, "program": program, "orders": said["orders"]}, _read)
    last = Path(SCRATCH, "said").read_text(encoding="utf-8", errors="replace") if found.get("failed") else ""
    told = {**found, "node": node, "index": int(os.environ[INDEX]), "memory": system.available_memory()}
    # by one stream: a log has a long line in parts, and a line of the other stream may come between them
    print(last, TOLD + json.dumps(told), sep="\n", flush=True)
    sys.exit(1 if found.get("failed") else 0)


def _meet(first: str) -> None:
    """Wait until the first pod has a name: its record comes after the pod."""
    end = time.monotonic() + WAIT_S
    while True:
        try:
            socket.getaddrinfo(first, PORT)
        except OSError as error:
            if time.monotonic() > end:
                sys.exit(f"{first}: {error}: the Kubernetes cluster's DNS does not know the first pod")
            time.sleep(1)
        else:
            return


def _launcher(said: dict[str, Any], one: dict[str, Any]) -> list[str]:
    return [
        *("-m", "torch.distributed.run", f"--nnodes={said['nodes']}", f"--node_rank={os.environ[INDEX]}"),
        *(f"--nproc_per_node={max(1, said['orders']['gpus'])}", f"--master_addr={one['first']}"),
        f"--master_port={PORT}",
    ]


def _read(shown: str, _: list[reader.Entry]) -> dict[str, Any]:
    """What this node has read, for the controller: only there is it known what is right."""
    return {"read": base64.b64encode(packed(shown)).decode("ascii")}


if __name__ == "__main__":
    main(*sys.argv[1:3])
