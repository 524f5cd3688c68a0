"""The lab's images, and how nodes get images without a registry."""

import hashlib
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from settings import HERE, NAME, ROOT, Node, as_root, podman, pool_map

NODE_IMAGE = f"localhost/{NAME}/node:1"
#: What pods of the lab run; a busybox.
TOOLS_IMAGE = f"localhost/{NAME}/tools:1"
DNS_IMAGE = f"localhost/{NAME}/coredns:1"
ALLUXIO_IMAGE = "localhost/alluxio-fuse:2.9.6"


def build(programs: Path) -> None:
    """Builds what is not there, or not of these sources."""
    subprocess.run([ROOT / "tests/lab/node/build", "bookworm"], check=True, stdout=subprocess.DEVNULL)
    playbook = [Path(sys.executable).with_name("ansible-playbook"), "playbooks/image.yml"]
    subprocess.run(playbook, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    sources = sorted(path for path in (HERE / "node").rglob("*") if path.is_file())
    digest = hashlib.sha256(
        podman("image", "inspect", "--format", "{{.Id}}", "localhost/alluxio-fuse-node:bookworm").encode()
    )
    for path in [*sources, programs / ".coredns.pin"]:
        digest.update(path.read_bytes())
    recipe = digest.hexdigest()[:16]
    for target, image in (("node", NODE_IMAGE), ("tools", TOOLS_IMAGE), ("coredns", DNS_IMAGE)):
        if _label(image) == recipe:
            continue
        with tempfile.TemporaryDirectory() as context:
            subprocess.run(["cp", "-rL", *(HERE / "node").iterdir(), programs / "coredns", context], check=True)
            options = ["--isolation", "chroot", "--target", target, "--label", f"recipe={recipe}", "--tag", image]
            podman("build", "--quiet", "--pull=never", *options, context)


def _label(image: str) -> str:
    asked = ["podman", "image", "inspect", "--format", '{{index .Labels "recipe"}}', image]
    return subprocess.run(as_root(asked), capture_output=True, text=True, check=False).stdout.strip()


def load(images: list[str], targets: list[Node]) -> None:
    """Brings images from podman's storage to the nodes that lack them."""
    for image in images:
        identity = podman("image", "inspect", "--format", "{{.Id}}", image).strip()
        lacking = [node for node in targets if identity not in _ctr(node, "list", f"name=={image}")]
        if not lacking:
            continue
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "image.tar"
            podman("save", "--quiet", "--format", "oci-archive", "--output", archive, image)
            pool_map(partial(_import, archive, image, identity), lacking)


def _ctr(node: Node, *arguments: str) -> str:
    return podman("exec", node.name, "ctr", "--namespace=k8s.io", "images", *arguments)


def _import(archive: Path, image: str, identity: str, node: Node) -> None:
    """Loads the archive, and labels the image with what podman calls it."""
    command = as_root(
        ["podman", "exec", "--interactive", node.name, "ctr", "--namespace=k8s.io", "images", "import", "-"]
    )
    with archive.open("rb") as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"lab: {node.name} did not take {image}: {done.stderr.strip()}")
    _ctr(node, "label", image, f"{NAME}={identity}")
