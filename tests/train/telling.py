"""What programs that load a dataset tell of an epoch, and how they wait for a mount that is away."""

import json
import time
from contextlib import suppress
from pathlib import Path

STEP_S = 0.1  # what training does with a batch
_BACK_S = 30


def tell(event: str, **about: object) -> None:
    """Tell what has happened, in a line."""
    print(json.dumps({"event": event, **about}), flush=True)


def until_back(path: str) -> None:
    """Wait until a file can be opened again: a user starts the next epoch then."""
    deadline = time.monotonic() + _BACK_S
    while time.monotonic() < deadline:
        with suppress(OSError), Path(path).open("rb"):
            return
        time.sleep(0.2)
