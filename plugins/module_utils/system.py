"""What a node is: processors, memory, limits, distribution, and what is installed for FUSE and Java."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

CGROUP = "/sys/fs/cgroup"
UNLIMITED = 2**60  # cgroup v1 says "no limit" as the largest multiple of a page
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"
TOOLS = {"PATH": SYSTEM_PATH, "LC_ALL": "C"}  # for every tool a module runs: a login's PATH may lack sbin


def parse_meminfo(text: str) -> dict[str, int]:
    """/proc/meminfo in bytes."""
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {key: int(value.split()[0]) * (1024 if value.endswith("kB") else 1) for key, value in pairs}


def parse_os_release(text: str) -> dict[str, str]:
    """{id, version} of /etc/os-release; version "" where a rolling release has none."""
    values = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in text.splitlines())}
    return {"id": values.get("ID", ""), "version": values.get("VERSION_ID", "")}


def cgroup_version() -> int:
    """2 where the unified hierarchy is the only one, else 1 (hybrid included)."""
    return 2 if Path(CGROUP, "cgroup.controllers").exists() else 1


def _cgroup_folders(controller: str) -> list[Path]:
    """The folders from this process's cgroup up to the root, for one controller."""
    version = cgroup_version()
    top = Path(CGROUP) if version == 2 else Path(CGROUP, controller)
    for line in text("/proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if (version == 2 and number == "0") or (version == 1 and controller in controllers.split(",")):
            folder = top / path.lstrip("/")
            return [place for place in [folder, *folder.parents] if place == top or top in place.parents]
    return []


def memory_limit() -> int | None:
    """Bytes that the tightest cgroup around this process allows, None if there is no limit."""
    names = ("memory.max", "memory.limit_in_bytes")
    values = [text(folder / name).strip() for folder in _cgroup_folders("memory") for name in names]
    limits = [int(value) for value in values if value.isdigit() and int(value) < UNLIMITED]
    return min(limits) if limits else None


def usable_cpus() -> float:
    """Processors that this process may use: affinity, bounded by the tightest cgroup quota (maybe a fraction)."""
    quotas = []
    for folder in _cgroup_folders("cpu"):
        pair = text(folder / "cpu.max").split() or [
            text(folder / "cpu.cfs_quota_us").strip(),
            text(folder / "cpu.cfs_period_us").strip(),
        ]
        if len(pair) == 2 and pair[0].isdigit() and pair[1].isdigit():
            quotas.append(int(pair[0]) / int(pair[1]))
    return float(min([len(os.sched_getaffinity(0)), *quotas]))


def machine_id() -> str:
    """What tells this installation from others, "" where nothing does."""
    return text("/etc/machine-id").strip()


def read_system() -> dict[str, Any]:
    """hostname, architecture, kernel, distribution, service manager, cpus, NUMA nodes, memory, swap, cgroup, nofile."""
    meminfo = parse_meminfo(text("/proc/meminfo"))
    limit = memory_limit()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    name = os.uname()
    return {
        "hostname": name.nodename,
        "architecture": name.machine,
        "kernel": name.release,
        "distribution": parse_os_release(text("/etc/os-release")),
        "service_manager": "systemd" if Path("/run/systemd/system").is_dir() else "none",
        "cpus": usable_cpus(),
        "numa_nodes": max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))),
        "memory": {
            "total": meminfo["MemTotal"],
            "available": meminfo["MemAvailable"],
            "limit": limit if limit is not None and limit < meminfo["MemTotal"] else None,
        },
        "swap": meminfo["SwapTotal"],
        "cgroup": {"version": cgroup_version()},
        "nofile": {"soft": _finite(soft), "hard": _finite(hard)},
    }


def _finite(limit: int) -> int:
    return UNLIMITED if limit == resource.RLIM_INFINITY else limit


def parse_sonames(text: str) -> list[str]:
    """libfuse's sonames in the answer of `ldconfig -p`."""
    return sorted(set(re.findall(r"^\s*(libfuse3?\.so\.\d+)\s", text, re.MULTILINE)))


def read_fuse() -> dict[str, Any]:
    """{device, mode, sonames, user_allow_other, fusermount}: what a FUSE mount on the node itself would find."""
    device = Path("/dev/fuse")
    exists = device.exists() and stat.S_ISCHR(device.stat().st_mode)
    ldconfig = shutil.which("ldconfig", path=SYSTEM_PATH)
    libraries = _output([ldconfig, "-p"]) if ldconfig else ""
    tools = {2: shutil.which("fusermount", path=SYSTEM_PATH), 3: shutil.which("fusermount3", path=SYSTEM_PATH)}
    return {
        "device": exists,
        "mode": f"{stat.S_IMODE(device.stat().st_mode):04o}" if exists else "0000",
        "sonames": parse_sonames(libraries),
        "user_allow_other": bool(re.search(r"^\s*user_allow_other\b", text("/etc/fuse.conf"), re.MULTILINE)),
        "fusermount": [version for version, tool in tools.items() if tool],
    }


def parse_java_release(text: str) -> int | None:
    """The major version in a JDK's `release` file: 8 for 1.8.0_402, 17 for 17.0.15."""
    found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    return int(found.group(1)) if found else None


def read_java() -> list[dict[str, Any]]:
    """[{home, major}] below /usr/lib/jvm and in JAVA_HOME; a home with several names is listed once."""
    homes = [path.parent for path in Path("/usr/lib/jvm").glob("*/release")]
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    majors = {str(home.resolve()): parse_java_release(text(home / "release")) for home in homes}
    return [
        {"home": home, "major": major}
        for home, major in sorted(majors.items())
        if major is not None and Path(home, "bin/java").exists()
    ]


def _output(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def text(path: str | Path) -> str:
    """What a file of the kernel or of the system says; nothing where it cannot be read, as a process has ended."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def available_memory() -> int:
    """Bytes that programs may still have without swapping."""
    return parse_meminfo(Path("/proc/meminfo").read_text(encoding="ascii"))["MemAvailable"]
