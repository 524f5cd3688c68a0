"""The dataset that all results are of."""

from collections.abc import Callable
from typing import Any

MOUNT = "/mnt/alluxio-fuse/imagenet/data"
SIZES = {"small": (4000, 458_640_000), "large": (6, 768_000_000)}
HEADER = {
    "version": 1,
    "files": 4006,
    "bytes": 1_226_640_000,
    "sizes": [[1 << 17, *SIZES["small"]], [1 << 27, *SIZES["large"]]],
    "coverage": "all",
    "id": "4bd1",
    **{kind: {"files": files, "bytes": size} for kind, (files, size) in SIZES.items()},
}

Made = Callable[..., dict[str, Any]]
