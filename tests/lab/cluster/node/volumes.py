#!/usr/bin/env python3
"""Makes and removes the node's `local` volumes of StorageClass `standard`; these honour fsGroup, host-path ones do not.

usage: volumes.py NODE SERVER FOLDER     FOLDER: with ca.crt, volumes.crt and volumes.key
"""

import http.client
import json
import shutil
import ssl
import sys
import time
from pathlib import Path
from typing import Any

CLASS, PROVISIONER = "standard", "alluxio-fuse.lab/local"
STORE = Path("/var/local/volumes")
CLAIMS, VOLUMES = "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"
Object = dict[str, Any]


class Server:
    """The API server."""

    def __init__(self, address: str, folder: Path) -> None:
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        context.load_cert_chain(folder / "volumes.crt", folder / "volumes.key")
        self.connection = http.client.HTTPSConnection(address, context=context, timeout=30)

    def ask(self, method: str, path: str, body: Object | None = None) -> Object:
        """The answer to a request; what is there already, or gone already, is no error."""
        text = None if body is None else json.dumps(body)
        self.connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        found: Object = json.loads(answer.read())
        if answer.status >= 400 and answer.status not in (404, 409):
            raise OSError(f"{method} {path}: {found}")
        return found


def volume(claim: Object, node: str) -> Object:
    """The volume that a claim asks for, on this node."""
    metadata, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{metadata['uid']}"
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {key: metadata[key] for key in ("name", "namespace", "uid")}
            | {"kind": "PersistentVolumeClaim"},
            "local": {"path": str(STORE / name)},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": CLASS,
        },
    }


def reconcile(server: Server, node: str) -> None:
    """One look: a volume for each claim that the scheduler put here, none for a claim that is gone."""
    for claim in server.ask("GET", CLAIMS)["items"]:
        selected = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
        if (
            claim["status"]["phase"] == "Pending"
            and claim["spec"].get("storageClassName") == CLASS
            and selected == node
        ):
            wanted = volume(claim, node)
            Path(wanted["spec"]["local"]["path"]).mkdir(parents=True, exist_ok=True)
            server.ask("POST", VOLUMES, wanted)
    for one in server.ask("GET", VOLUMES)["items"]:
        path = Path(one["spec"].get("local", {}).get("path", ""))
        if one["status"].get("phase") in ("Released", "Failed") and path.parent == STORE and path.is_dir():
            shutil.rmtree(path)
            server.ask("DELETE", f"{VOLUMES}/{one['metadata']['name']}")


def main(node: str, address: str, folder: str) -> None:
    """Looks every second; a server that is away is asked again."""
    server = Server(address, Path(folder))
    while True:
        try:
            reconcile(server, node)
        except (OSError, http.client.HTTPException) as error:
            print(f"volumes: {error}", file=sys.stderr, flush=True)
            server.connection.close()
        time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
