"""What one pass has proven: whether its bytes came from where they should, by counters and page cache residency."""

from typing import Any

from pydantic import BaseModel, ConfigDict

CLOCK_STEP_S = 1.0
LEVELS = ("under_store", "worker", "client_cache", "stage", "page_cache")


class Mount(BaseModel):
    """The mount that holds the folder that was read."""

    point: str
    type: str
    source: str


class Verified(BaseModel):
    """The untimed comparison after a pass."""

    compared: int
    digested: int
    wrong: int
    problems: list[dict[str, str]]


class Evidence(BaseModel):
    """Where the bytes of a reading came from, as far as it was counted (bytes, seconds)."""

    model_config = ConfigDict(extra="ignore")

    path: str
    state: str
    kind: str
    root: str
    medium: str | None = None  # of the copy that was read in place of the FUSE mount
    direct: bool | None = None  # whether FUSE reads the source itself, with neither workers nor a data cache
    expected_files: int
    expected_bytes: int
    files: int
    bytes: int
    clock_step_s: float = 0.0
    storage_bytes: int
    resident_before: float | None
    counters: dict[str, Any]
    mount: Mount

    @property
    def names_only(self) -> bool:
        """Whether names and sizes were asked for, and no bytes."""
        return self.kind in ("list", "stat")

    def counted(self, name: str) -> float | None:
        """A counter's growth as a share of the bytes that were read; None if it could not be read."""
        value = self.counters.get(name)
        return None if value is None else float(value) / self.expected_bytes if self.expected_bytes else 0.0


class Result(Evidence):
    """Figures and evidence of one pass, as read_pass returns them (bytes, seconds, milliseconds, MB = 10^6)."""

    name: str
    at: str
    began: float = 0.0
    ended: float = 0.0
    readers: int
    held: int | None = None
    records: int = 0
    utilisation: float | None = None
    seconds: float
    files_per_s: float
    mb_per_s: float
    p50_ms: float
    p99_ms: float
    first_byte_ms: float
    latency_ms: list[tuple[float, int]]
    cpu_s_per_gb: float | None
    load: float
    foreign_cpu: float = 0.0
    repeats_mb_per_s: list[float] = []
    wrong: int
    problems: list[dict[str, str]]
    verified: Verified | None = None

    @property
    def per_s(self) -> float:
        """Files per second, or records where those are what was read."""
        return self.records / self.seconds if self.kind == "records" else self.files_per_s


def mistakes(result: Result) -> list[str]:
    """Every way in which the bytes of a pass were not those of the manifest."""
    found = [f"{p['path']}: {p['what']}" for p in result.problems]
    if result.verified:
        found += [f"{p['path']}: {p['what']}" for p in result.verified.problems]
    if not found and (result.files, result.bytes) != (result.expected_files, result.expected_bytes):
        found.append(
            f"{result.files} of {result.expected_files} files and "
            f"{result.bytes} of {result.expected_bytes} bytes were read"
        )
    return found


def doubt(result: Evidence) -> str | None:
    """Why the pass does not prove the state it is named for; None if it does."""
    return _doubt_of_clock(result) or (
        _doubt_of_disk(result) if result.path in ("disk", "memory") else _doubt_of_mount(result)
    )


def _doubt_of_clock(result: Evidence) -> str | None:
    # the node's time of day took a step, or the processors stood still, while a monotonic clock measured
    step = result.clock_step_s
    return f"the clock took a step of {step:+.1f} s" if abs(step) > CLOCK_STEP_S else None


def _doubt_of_disk(result: Evidence) -> str | None:
    if result.state == "memory":
        return None if result.mount.type == "tmpfs" else f"{result.root} is on {result.mount.type}, not in memory"
    if result.state == "page-cache":
        return _not_resident(result)
    if result.names_only:
        return None
    if result.storage_bytes < 0.9 * result.expected_bytes:
        return f"only {result.storage_bytes / 1e6:.0f} MB came from the device"
    return _resident(result)


def _doubt_of_mount(result: Evidence) -> str | None:
    if result.state == "uncached":  # somebody else's folder: nobody counts what is behind it
        return None if result.names_only else _resident(result)
    if not result.medium and not result.mount.type.startswith("fuse"):
        return f"{result.root} is on {result.mount.type} ({result.mount.point}), not on a FUSE mount"
    if result.mount.point.rstrip("/") != result.root.rstrip("/"):
        return f"nothing is mounted at {result.root}"
    if any(isinstance(value, (int, float)) and value < 0 for value in result.counters.values()):
        return "a process of Alluxio was started again during the pass"
    if result.names_only:
        return None
    return {
        "cold": _cold,
        "worker": _worker,
        "client-cache": _client_cache,
        "staged": _staged,
        "page-cache": _page_cache,
        "cached": _cached,
    }[result.state](result)


def _cold(result: Evidence) -> str | None:
    if result.direct:  # nobody counts the bytes of such a process: what came from nowhere else came from there
        return (
            _resident(result)
            or _asked(result)
            or _most(result, "client_cache", 0.01, "from a client cache")
            or _most(result, "client_local", 0.01, "from workers")
        )
    return _resident(result) or _least(result, "under_store", 0.95, "from the under store")


def _worker(result: Evidence) -> str | None:
    # a client cache counts what it fetches, and a client that reads the files of workers itself
    served = max(("client_external", "client_local"), key=lambda counter: result.counted(counter) or 0.0)
    if result.counted(served):
        counted = _least(result, served, 0.95, "from workers")
    else:  # the workers do, and miss some last pieces of small files: 93 to 96 % seen, with nothing from elsewhere
        # with Alluxio's own defaults FUSE shows no counters: nothing else than workers is behind it then
        asked = _asked(result) if _shows(result, "fuse_calls") else None
        counted = asked or _least(result, "worker", 0.90, "from workers")
    return _resident(result) or counted or _most(result, "under_store", 0.02, "from the under store")


def _cached(result: Evidence) -> str | None:
    """Another product's own cache: its store has sent hardly more than answers about names and sizes."""
    return _resident(result) or _most(result, "under_store", 0.10, "from the under store")


def _client_cache(result: Evidence) -> str | None:
    return (
        _resident(result)
        or _least(result, "client_cache", 0.98, "from the client cache")
        or _most(result, "client_external", 0.02, "from workers or the under store")
    )


def _staged(result: Evidence) -> str | None:
    """A copy on the node: FUSE was asked for nothing, and the bytes came from the medium."""
    calls = result.counters.get("fuse_calls")
    if calls is None:
        return _unread(result, "fuse_calls")
    if calls:
        return f"FUSE was asked {calls:.0f} times"
    if result.medium == "memory":
        if result.mount.type == "overlay":  # which does not tell what is below it
            read = result.storage_bytes / 1e6
            return f"{read:.0f} MB came from a device" if read > 0.1 * result.expected_bytes / 1e6 else None
        return None if result.mount.type == "tmpfs" else f"{result.root} is on {result.mount.type}, not in memory"
    if result.storage_bytes < 0.9 * result.expected_bytes:
        return f"only {result.storage_bytes / 1e6:.0f} MB came from the device"
    return _resident(result)


def _page_cache(result: Evidence) -> str | None:
    if result.medium:
        return _not_resident(result)
    return _not_resident(result) or _most(result, "client_cache", 0.01, "from the client cache")


def _resident(result: Evidence) -> str | None:
    if result.resident_before is None:
        return "the page cache could not be looked at"
    return f"{result.resident_before:.0%} was in the page cache before" if result.resident_before > 0.01 else None


def _not_resident(result: Evidence) -> str | None:
    if result.resident_before is None:
        return "the page cache could not be looked at"
    return f"only {result.resident_before:.0%} was in the page cache" if result.resident_before < 0.99 else None


def _asked(result: Evidence) -> str | None:
    """The FUSE process was asked at least once for each file, so that it was the one who answered."""
    calls = result.counters.get("fuse_calls")
    if calls is None:
        return _unread(result, "fuse_calls")
    return f"FUSE was asked {calls:.0f} times for {result.files} files" if calls < result.files else None


def _least(result: Evidence, counter: str, share: float, where: str) -> str | None:
    counted = result.counted(counter)
    if counted is None:
        return _unread(result, counter)
    return f"only {counted:.0%} came {where}" if counted < share else None


def _most(result: Evidence, counter: str, share: float, where: str) -> str | None:
    counted = result.counted(counter)
    if counted is None:
        return _unread(result, counter)
    return f"{counted:.0%} came {where}" if counted > share else None


def _shows(result: Evidence, counter: str) -> bool:
    """Whether somebody was to be asked for a counter, be it in vain."""
    return result.counters.get(counter) is not None or bool(result.counters.get("unreachable"))


def _unread(result: Evidence, counter: str) -> str:
    reasons = "; ".join(result.counters.get("unreachable", []))
    return f"the counter {counter} could not be read" + (f" ({reasons})" if reasons else "")


def origins(result: Evidence) -> dict[str, float]:
    """Share of the bytes that each level has served, the deepest first."""
    direct = result.direct and result.state == "cold"
    under_store = 1.0 if direct else min(1.0, result.counted("under_store") or 0.0)
    worker = min(1.0 - under_store, max(0.0, (result.counted("client_external") or 0.0) - under_store))
    client_cache = min(1.0 - under_store - worker, result.counted("client_cache") or 0.0)
    rest = max(0.0, 1.0 - under_store - worker - client_cache)
    stage = rest if result.state == "staged" else 0.0
    return dict(zip(LEVELS, (under_store, worker, client_cache, stage, rest - stage), strict=True))
