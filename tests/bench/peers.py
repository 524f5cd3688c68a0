"""Other products' mounts of the same objects, each with its cache in memory, the same timeouts and the same budget."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bundle import until
from object_store import ObjectStore

TOOLS = Path(os.environ["TOOLS"])  # where scripts/tools.py has put them
TIMEOUT_S = 7200  # attributes and names, as in our own plan
READY_S = 60
READ_AHEADS = (128, 1024, 4096)  # KiB


@dataclass(frozen=True)
class Place:
    """Where a peer mounts, what it mounts, and the folder in memory that is its cache."""

    mount: Path
    cache: Path
    bucket: str
    prefix: str
    budget_mb: int
    source: Path


def s3fs(store: ObjectStore, at: Place) -> None:
    """Debian's s3fs: whole files in its cache folder."""
    keys = at.cache.parent / "s3fs.keys"
    keys.write_text(":".join(store.owner))
    keys.chmod(0o600)
    options = {
        "url": store.endpoint,
        "use_path_request_style": None,
        "passwd_file": str(keys),
        "use_cache": str(at.cache),
        "stat_cache_expire": TIMEOUT_S,
        "max_stat_cache_size": 200_000,
        "attr_timeout": TIMEOUT_S,
        "entry_timeout": TIMEOUT_S,
        "kernel_cache": None,
        "ro": None,
        "allow_other": None,
    }
    listed = ",".join(name if value is None else f"{name}={value}" for name, value in options.items())
    command = ["s3fs", f"{at.bucket}:/{at.prefix}", str(at.mount), "-o", listed]
    _run(command, {"CURL_CA_BUNDLE": str(store.ca_file)})


def rclone(store: ObjectStore, at: Place) -> None:
    """rclone mount with its full VFS cache."""
    settings = {
        "ca-cert": store.ca_file,
        "vfs-cache-mode": "full",
        "vfs-cache-max-size": f"{at.budget_mb}M",
        "vfs-cache-max-age": "1000h",
        "dir-cache-time": f"{TIMEOUT_S}s",
        "attr-timeout": f"{TIMEOUT_S}s",
        "cache-dir": at.cache,
        "config": "/dev/null",
    }
    command = [str(TOOLS / "rclone"), "mount", f"bench:{at.bucket}/{at.prefix}", str(at.mount)]
    command += [f"--{name}={value}" for name, value in settings.items()]
    _run([*command, "--read-only", "--allow-other", "--daemon", "--no-modtime", "--no-checksum"], _remote(store))


def rclone_copy(store: ObjectStore, at: Place) -> None:
    """The objects copied to the cache folder, as a script before a job does."""
    command = [str(TOOLS / "rclone"), "copy", f"bench:{at.bucket}/{at.prefix}", str(at.cache)]
    _run([*command, f"--ca-cert={store.ca_file}", "--config=/dev/null", "--transfers=8"], _remote(store))


def _remote(store: ObjectStore) -> dict[str, str]:
    access_key, secret_key = store.owner
    remote = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": store.endpoint,
        "ACCESS_KEY_ID": access_key,
        "SECRET_ACCESS_KEY": secret_key,
        "FORCE_PATH_STYLE": "true",
    }
    return {f"RCLONE_CONFIG_BENCH_{name}": value for name, value in remote.items()}


def juicefs(store: ObjectStore, at: Place) -> None:
    """JuiceFS: it keeps files in a layout of its own, so they are copied in; names are kept in a database in memory."""
    keys, meta = _juicefs_keys(store), _juicefs_meta(at)
    tool = str(TOOLS / "juicefs")
    _run([tool, "format", "--storage", "s3", "--bucket", f"{store.endpoint}/{at.bucket}", meta, "bench"], keys)
    juicefs_mount(store, at)
    shutil.copytree(at.source, at.mount, dirs_exist_ok=True)
    _run([tool, "umount", str(at.mount)], {})
    _juicefs_to_read(store, at)


def juicefs_warm(at: Place) -> None:
    """What a user of JuiceFS does before a job."""
    _run([str(TOOLS / "juicefs"), "warmup", str(at.mount)], {})


def _juicefs_to_read(store: ObjectStore, at: Place) -> None:
    juicefs_mount(store, at, "--read-only", "-o", "allow_other")


def juicefs_mount(store: ObjectStore, at: Place, *how: str) -> None:
    """Mounts the file system of `juicefs`."""
    settings = {
        "cache-dir": at.cache,
        "cache-size": at.budget_mb,
        "attr-cache": TIMEOUT_S,
        "entry-cache": TIMEOUT_S,
        "dir-entry-cache": TIMEOUT_S,
        "open-cache": TIMEOUT_S,
    }
    command = [str(TOOLS / "juicefs"), "mount", _juicefs_meta(at), str(at.mount), "--background", "--no-usage-report"]
    _run([*command, *(f"--{name}={value}" for name, value in settings.items()), *how], _juicefs_keys(store))


def _juicefs_meta(at: Place) -> str:
    return f"sqlite3://{at.cache.parent}/juicefs.db"


def _juicefs_keys(store: ObjectStore) -> dict[str, str]:
    access_key, secret_key = store.owner
    return {"ACCESS_KEY": access_key, "SECRET_KEY": secret_key, "SSL_CERT_FILE": str(store.ca_file)}


PEERS = {"s3fs": s3fs, "rclone": rclone, "juicefs": juicefs}
AGAIN = PEERS | {"juicefs": _juicefs_to_read}  # its files are there


@contextmanager
def mounted(name: str, store: ObjectStore, at: Place) -> Iterator[Path]:
    """The peer's mount point, ready; unmounted at the end."""
    at.mount.mkdir(parents=True)
    at.cache.mkdir(parents=True)
    try:
        PEERS[name](store, at)
        until(f"{name} has mounted", lambda: os.path.ismount(at.mount), READY_S)
        yield at.mount
    finally:
        subprocess.run(["umount", "--lazy", str(at.mount)], check=False)


def forget(name: str, store: ObjectStore, at: Place) -> None:
    """Mounts a peer anew, with an empty cache."""
    subprocess.run(["umount", str(at.mount)], check=True)
    until(f"{name} has ended", lambda: not _serving(at.mount), READY_S)  # until then it writes in its cache
    shutil.rmtree(at.cache)
    at.cache.mkdir()
    AGAIN[name](store, at)
    until(f"{name} has mounted", lambda: os.path.ismount(at.mount), READY_S)


def _serving(mount: Path) -> bool:
    """Does a process run that was begun with the mount point?"""
    return subprocess.run(["pgrep", "--full", str(mount)], stdout=subprocess.DEVNULL, check=False).returncode == 0


def _run(command: list[str], environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command[0]} {command[1]}: {done.stdout[-1000:]} {done.stderr[-2000:]}"
