"""libfuse, mount options, metadata cache and freshness."""

from dataclasses import dataclass
from typing import Final

from alluxio_fuse.plan.rules import caches
from alluxio_fuse.plan.units import KIB, format_duration
from alluxio_fuse.plan.values import rule

IMMUTABLE_TIMEOUT: Final = 7200
FRESHNESS_PARTS: Final = 4  # one for the master's sync interval, one for the kernel, the rest for the client
THREADS: Final = 64
WITHIN_A_PAGE: Final = caches.PAGE // KIB // 2  # KiB of read-ahead: one window and the next are a page together


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long each layer may keep what it has seen, in seconds; -1: for ever."""

    bound: int | None
    sync: int
    metadata: int
    kernel: int


def freshness_layers(within: int | None) -> Freshness:
    """The layers of one dataset. Their sum never exceeds the bound: the layers wait one after the other."""
    if within is None:
        return Freshness(None, -1, 2 * 86400, IMMUTABLE_TIMEOUT)
    part = within // FRESHNESS_PARTS
    return Freshness(within, part, within - 2 * part, part)


@rule("measured side by side, 2 cores: docs/tune.md; unset, the loader mixes the two")
def libfuse_version(
    declared: int | None, there: frozenset[int], upstream: bool, *, long_reads: bool = False
) -> tuple[int, str]:
    """2 or 3, always explicit.

    long_reads: requests as long as the read-ahead are answered as fast as they come, from the client cache of a
    dataset that nobody writes to, by the image's libfuse. Large files x1.2 to x1.6 then, small ones alike, a cold file
    fetched once as before; with Alluxio's defaults libfuse 2 had 980 files/s and libfuse 3 618.
    """
    if declared is not None:
        return declared, "declared"
    if upstream:
        return 2, "Alluxio's own default"
    if long_reads and 3 in there:
        return 3, "a client cache answers long requests: large files x1.2 to x1.6"
    if 2 in there:
        return 2, "the faster of the two where both were measured"
    return 3, "libfuse.so.2 is not there"


@rule("AlluxioFuse 2.9: any option given replaces its own; options a libfuse does not know make the mount fail")
def mount_options(
    libfuse: int, writable: bool, within: int | None, kernel: int, *, in_order: bool = False, of_image: bool = False
) -> tuple[list[str], str]:
    """Options that this libfuse knows, for data of this freshness; `kernel`: seconds that names and sizes are kept.

    of_image: libfuse 3 is that of the image, 3.14, which serves 10 requests at a time where nothing is said. A node's
    own may be older than 3.12, and does not know the option.

    in_order: reads of a file reach Alluxio one after the other. A stream from a worker begins anew where the next
    request is not for the next byte. Measured without client cache, a cold file of 40 MB, read-ahead of 512 KiB: the
    worker sent it 25 times and had it 13 times from the source, in 3.3 s; in order once and once, in 1.0 s. Without a
    cluster, a stream from a bucket fails the second time. libfuse 2 only.
    """
    immutable = within is None and not writable
    access = ["allow_other"] if writable else ["allow_other", "ro"]
    keep = ["kernel_cache"] if immutable else ["auto_cache"]
    timeouts = [f"attr_timeout={kernel}", f"entry_timeout={kernel}"]
    ordered = ["sync_read"] if in_order else []
    threads = [f"max_idle_threads={THREADS}", *([f"max_threads={THREADS}"] if of_image else [])]
    versioned = ["max_read=131072", *ordered] if libfuse == 2 else threads
    asked = f"the kernel asks again after {format_duration(kernel)} and drops the pages of a changed file"
    why = "immutable: the kernel keeps pages and names" if immutable else asked
    return [*access, *keep, *timeouts, *versioned], f"libfuse {libfuse}; {why}"


@rule("Alluxio's image: its patched libfuse 2 reads MAX_IDLE_THREADS")
def environment(libfuse: int, upstream: bool) -> tuple[dict[str, str], str]:
    """Environment of the FUSE process."""
    if libfuse == 2 and not upstream:
        return {"MAX_IDLE_THREADS": str(THREADS)}, "threads are kept, not made anew for each burst"
    return {}, "nothing to say"


@rule("Alluxio: alluxio.fuse.user.group.translation.enabled is false by default")
def translation() -> tuple[bool, str]:
    """Whether Alluxio's owners are shown as users of the node."""
    return (
        False,
        "files belong to root, the folder above the mount decides who reads: no users to be kept alike on nodes",
    )


@rule("Alluxio: about 4 KB of heap per entry")
def metadata_cache_entries(files: int, granted: int) -> tuple[int, str]:
    """Paths whose metadata the client keeps."""
    if granted >= files:
        return granted, f"every path of {files} files, and folders"
    return granted, f"{granted / files:.0%} of {files} files: memory for more is not there, the rest asks the master"


@rule("measured: 4096 KiB of read-ahead gain on a client cache, and cost x0.3 without")
def behind(medium: str | None, *, through_cluster: bool) -> tuple[str, str]:
    """What serves a mount: settings that were tried over one thing are worth nothing over another."""
    served = f"client cache, {medium}" if medium else "workers" if through_cluster else "under store"
    return served, "what playbooks/tune.yml has kept holds for this only"


@rule("measured with a client cache: up to 512 KiB a cold file is fetched once, from 1024 on 3.1 to 4.5 times")
def read_ahead(upstream: bool, client_cached: bool) -> tuple[int, str]:
    """KiB that the kernel reads ahead on a mount.

    Pages of a client cache have 1024 KiB. What is read ahead over more than one of them arrives out of order, and for
    each step back the worker's stream begins anew: cold files of 40 MB took 2.6 to 4.8 s, not 0.8 to 1.3 s. Once cached
    (4 readers, interleaved): 128 KiB 1030, 256 1174, 512 1171, 1024 898, 2048 940 MB/s.
    """
    if upstream:
        return 128, "the kernel's default"
    return (
        (WITHIN_A_PAGE, "half a page of the client cache")
        if client_cached
        else (1024, "the worker answers slower: 4096 cost")
    )


@rule("not measured: larger than a page of a client cache, 1024 KiB")
def disk_read_ahead(upstream: bool, client_cached: bool) -> tuple[int, str]:
    """KiB that the kernel reads ahead on the disks of caches."""
    if upstream:
        return 128, "the kernel's default"
    return (2048, "two pages of a client cache") if client_cached else (1024, "blocks are read from begin to end")


@rule("throughput of all streams together is requests in flight / latency")
def max_background(upstream: bool) -> tuple[int, str]:
    """Requests in flight per mount."""
    return (12, "the kernel's default") if upstream else (64, "12 held eight streams to 900 MB/s at 1 ms")


@rule("the kernel's own share of max_background")
def congestion_threshold(background: int) -> tuple[int, str]:
    """Requests in flight from which on the kernel reads nothing ahead."""
    return background * 3 // 4, f"three quarters of max_background ({background})"
