"""The CSI node plugin of a release: volumes that show what is mounted on its node already.

The kubelet finds it by a socket in its folder of plugins; no other program registers it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import api_pb2
import csi_pb2
import csi_services
import grpc
from csi_datasets import Dataset

#: There while the kubelet has accepted the plugin.
REGISTERED = Path("/tmp/registered")  # noqa: S108 (the container's own)
ENDS = {signal.SIGTERM, signal.SIGINT}


def arguments() -> argparse.Namespace:
    """What the chart says."""
    parser = argparse.ArgumentParser(prog="csi", description=__doc__)
    parser.add_argument("--driver", required=True, help="name of the CSIDriver")
    parser.add_argument("--node", required=True)
    parser.add_argument(
        "--kubelet", required=True, type=Path, help="the kubelet's folder, at the same path as on the node"
    )
    parser.add_argument("--root", required=True, type=Path, help="folder with the parent folder of each dataset")
    parser.add_argument("--owner", required=True, help="what .owner of a parent folder says before the dataset's name")
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME", help="a dataset; once for each")
    parser.add_argument("--writable", action="append", default=[], metavar="NAME", help="one that pods may write to")
    return parser.parse_args()


def main() -> int:
    """Serves until told to end; 1 where the kubelet refuses it."""
    said = arguments()
    refused = []
    # Waited for, not handled: a handler does not run if its signal comes just before the program begins to wait.
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)

    def told(why: str) -> None:
        if why:
            print(f"{said.node}: the kubelet refuses {said.driver}: {why}", file=sys.stderr)
            refused.append(why)
            os.kill(os.getpid(), signal.SIGTERM)  # of the process: a signal of this thread is not waited for
        else:
            print(f"{said.node}: the kubelet has registered {said.driver}", flush=True)
            REGISTERED.touch()

    socket = said.kubelet / "plugins" / said.driver / "csi.sock"
    registration = said.kubelet / "plugins_registry" / f"{said.driver}-reg.sock"
    datasets = {
        name: Dataset(name, said.root / name, f"{said.owner}/{name}", name in said.writable, said.node)
        for name in [*said.dataset, *said.writable]
    }
    server = grpc.server(ThreadPoolExecutor(max_workers=16))
    identity = csi_services.Identity(said.driver)
    node = csi_services.Node(said.node, datasets, said.kubelet)
    registering = csi_services.Registration(said.driver, str(socket), told)
    server.add_generic_rpc_handlers(csi_services.handlers(csi_pb2, {"Identity": identity, "Node": node}))
    server.add_generic_rpc_handlers(csi_services.handlers(api_pb2, {"Registration": registering}))
    REGISTERED.unlink(missing_ok=True)
    for path in (socket, registration):  # the kubelet looks once the second is there
        server.add_insecure_port(f"unix://{path}")
    server.start()
    print(f"{said.node}: {said.driver} serves {', '.join(datasets) or 'no dataset'}", flush=True)
    signal.sigwait(ENDS)
    server.stop(grace=5).wait()
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
