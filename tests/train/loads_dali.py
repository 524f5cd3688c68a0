"""A DALI pipeline that reads a dataset until an epoch is whole, and tells what became of each epoch.

usage: loads_dali.py ORDERS     ORDERS: a JSON file {paths, tars, mmap, batches}. Files are `paths`, in this order, or,
                                where `tars` is true, the members of these shards; `batches` make an epoch
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from nvidia.dali import Pipeline, fn
from telling import STEP_S, tell, until_back

BATCH = 4


def pipeline(orders: dict[str, Any]) -> Pipeline:
    """Undecoded files, on processors; DALI reads ahead of the batch that training has."""
    made = Pipeline(batch_size=BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1)
    with made:
        if orders["tars"]:
            data = fn.readers.webdataset(paths=orders["paths"], ext=["bin"], dont_use_mmap=not orders["mmap"])
        else:
            data, _ = fn.readers.file(files=orders["paths"], dont_use_mmap=not orders["mmap"])
        made.set_outputs(data)
    made.build()
    return made


def epoch(orders: dict[str, Any]) -> None:
    """Read all files, in order, and tell the digest of each."""
    reading = pipeline(orders)
    digests = []
    for _ in range(orders["batches"]):
        (batch,) = reading.run()
        digests += [hashlib.sha256(batch.at(number)).hexdigest() for number in range(BATCH)]
        tell("batch")
        time.sleep(STEP_S)
    tell("whole", digests=digests)


def main() -> None:
    orders = json.loads(Path(sys.argv[1]).read_text())
    for _ in range(2):
        try:
            epoch(orders)
            return
        except RuntimeError as error:
            tell("broken", kind=type(error).__name__, text=str(error))
        until_back(orders["paths"][0])


main()
