"""What the under store is asked for: requests and bytes, counted before they happen."""

import math
from typing import Final

from alluxio_fuse.plan.rules.caches import BLOCK
from alluxio_fuse.plan.units import format_size
from alluxio_fuse.plan.values import rule

KEYS_PER_LIST: Final = 1000
MOST_WINDOWS: Final = 100  # each took a minute in the lab beside its bytes: two tasks begin and end on every node


@rule(f"one GET per block, a block being {BLOCK >> 20} MiB or a file; one LIST per 1000 names")
def under_store_cost(files: int, blocks: int, size: int, resident: float) -> tuple[dict[str, dict[str, int]], str]:
    """{first_epoch, joining_node, full_rewarm}: {gets, lists, bytes} of one dataset, each byte read once."""
    lists = -(-files // KEYS_PER_LIST)
    whole = {"gets": blocks, "lists": lists, "bytes": size}
    missing = 1 - resident
    joining = {"gets": round(whole["gets"] * missing), "lists": 0, "bytes": round(size * missing)}
    if missing:
        why = f"workers hold {resident:.0%}: a joining node fetches the rest itself, {format_size(joining['bytes'])}"
    else:
        why = "workers hold the whole set: a joining node asks them, and nothing of the under store"
    return {"first_epoch": whole, "joining_node": joining, "full_rewarm": dict(whole)}, why


@rule("a read asks the client cache first, then workers, then the under store; a copy on the node asks none of them")
def served_from(client: float, worker: float, staged: float = 0.0) -> tuple[dict[str, float], str]:
    """{stage, client_cache, worker, under_store}: part of a set that each serves in a later epoch; the sum is 1."""
    if staged == 1:
        return {"stage": 1.0}, "the whole set is staged on each node"
    from_worker = max(0.0, min(worker, 1 - staged - client))
    rest = {"client_cache": client, "worker": from_worker, "under_store": max(0.0, 1 - staged - client - from_worker)}
    amount = {"stage": staged, **rest} if staged else rest
    rounded = {level: round(part, 3) for level, part in amount.items()}
    return rounded, "on the node that holds least: " + ", ".join(f"{part:.0%} {name}" for name, part in amount.items())


@rule("the layers wait one after the other: sync interval + client metadata + kernel, and a mount of the source")
def staleness(sync: int, metadata: int, kernel: int, bound: int | None, source: int = 0) -> tuple[int | None, str]:
    """Seconds until a change at the source is seen, at the latest; null: never, the data is declared immutable."""
    if bound is None:
        return None, "declared immutable: a change at the source is not looked for"
    mount = f"{source}s NFS client + " if source else ""
    why = f"{mount}{sync}s sync + {metadata}s client metadata + {kernel}s kernel, declared {bound}s"
    return source + sync + metadata + kernel, why


@rule("Alluxio 2.9.4: fs load reads each block once into one worker")
def warm_strategy(
    resident: float,
    client_cached: float,
    *,
    own_workers: bool = True,
    through_cluster: bool = True,
    copied: bool = False,
) -> tuple[list[str], str]:
    """Steps of the warm-up. client_cached: of sets that are not staged; copied: each node stages the whole set."""
    if not through_cluster:
        return [], "read without a cluster: the page cache of each node is all there is to fill, and readers fill it"
    if not own_workers:
        steps = ["read-through"] if client_cached > 0 else []
        return steps, "the cluster elsewhere loads its own workers; reading through each mount fills its client cache"
    if copied and resident < 1:
        return [], f"workers hold {resident:.0%}, and each node copies the whole set: loading it first reads it twice"
    steps = (["load"] if resident > 0 else []) + (["read-through"] if client_cached > 0 else [])
    if resident < 1:
        return steps, f"workers hold {resident:.0%}: loading fills them, the rest stays in the under store"
    then = ", then read through each mount to fill its client cache" if client_cached > 0 else ""
    return steps, f"load each block into one worker{then}"


@rule("a window takes half of what workers hold beside pinned sets: blocks are placed by hash, and not evenly")
def stage_windows(size: int, room: float, resident: float, copied_by: int) -> tuple[int, str]:
    """In how many windows the nodes copy a set; 0: each copies it as it comes. room: bytes of all workers."""
    if copied_by < 2:
        return 0, "no two nodes copy the whole set"
    if resident == 1:
        return 0, "workers hold the whole set: it is loaded once, and copied from there"
    if room <= 0 or 2 * size / room > MOST_WINDOWS:
        left = format_size(max(0, round(room)))
        return 0, f"workers have {left} beside pinned sets, too little: each node reads the set from the store"
    why = f"workers hold {resident:.0%}: each window is loaded once, copied by {copied_by} nodes, and given up"
    return math.ceil(2 * size / room), why


@rule("blocks are placed by hash with one shard: readers of one block ask one worker")
def copies(workers: int, client_caches: int, resident: float) -> tuple[dict[str, object], str]:
    """{workers, client_caches}: how often each byte is held."""
    amount: dict[str, object] = {"workers": round(resident, 3), "client_caches": client_caches}
    return (
        amount,
        f"one copy over {workers} workers, plus one in each of {client_caches} client caches that hold the set",
    )
