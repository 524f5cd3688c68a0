"""What docs/recovery.md says of a PyTorch DataLoader: when FUSE or a worker process is killed, or a service is away."""

from __future__ import annotations

import builtins
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import contained
import leftovers
import pytest
import trees
from ansible_collections.alluxio.fuse.plugins.module_utils import programs, residency
from bundle import C1_ALONE, CHECKOUT, kill, podman, stages, succeed
from object_store import RestartableStore, restartable_store
from staged import DEPLOYED

NAME = "faulted"
LARGE = "big/"
PIECE_BYTES = 1 << 18
FAULT_AT = 3  # batches
AWAY_S = 15  # an epoch takes two seconds
AWAY = ("worker", "master", "store")
LOST = (r"\[Errno 107\] Transport", r"\[Errno 2\] No such file", r"\[Errno 103\] Software caused connection abort")
PAGE = (CHECKOUT / "docs/recovery.md").read_text()
Epochs = list[dict[str, Any]]
Load = Callable[..., Epochs]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartableStore]:
    """A store that can be taken away."""
    with restartable_store(tmp_path_factory.mktemp("store")) as running:
        yield running


@pytest.fixture(scope="module")
def wanted(store: RestartableStore) -> Iterator[dict[str, str]]:
    """The digests of the files of three datasets: FUSE serves `set` and, from a store, `bucket`; `copy` is staged.

    Nobody has read `bucket` yet.
    """
    with trees.source(NAME) as folder:
        other = folder.with_name("copy")
        trees.fill(other)
        datasets = [
            {"name": "set", "source": f"file://{folder}"},
            {"name": "copy", "source": f"file://{other}", "stage": "require"},
        ]
        variables = {
            "alluxio_name": NAME,
            "alluxio_environment": NAME,
            "alluxio_port_offset": 3300,
            **trees.upload(folder, store.about),
            **C1_ALONE,
        }
        all_three = {**variables, "alluxio_datasets": [*datasets, *variables["alluxio_datasets"]]}
        with leftovers.deployment(all_three):
            succeed(stages(*DEPLOYED, **{**variables, "alluxio_datasets": datasets}))
            succeed(stages(*DEPLOYED[:-1], **all_three))  # not warmed
            yield trees.digests(folder)


@pytest.fixture
def load(image: str, wanted: dict[str, str], tmp_path: Path) -> Load:
    """Lets a DataLoader with two workers read; in its third batch something happens. What became of each epoch."""
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "patient.py").write_text(snippet)
    contained.bring(tmp_path, "loads.py", "telling.py")

    def run(
        read: str,
        happen: Callable[[list[int]], None],
        dataset: str = "set",
        below: str = "",
        part: slice = slice(None),
        **said: Any,
    ) -> Epochs:
        point = Path(f"/mnt/{NAME}/{dataset}")
        chosen = [path for path in trees.FILES if path.startswith(LARGE) != (read == "opens")]
        sizes = {path: trees.FILES[path] for path in chosen[part]}
        residency.forget([f"{point}/data/{path}" for path in sizes])
        pieces = [
            (path, place, min(PIECE_BYTES, size - place))
            for path, size in sizes.items()
            for place in range(0, size, PIECE_BYTES)
        ]
        orders = {
            "root": f"{point}/data",
            "pieces": pieces,
            "read": read,
            "patient": False,
            "persistent": False,
            **said,
        }
        (tmp_path / "orders.json").write_text(json.dumps(orders))
        container = f"{NAME}-loads"
        scripts = [f"{tmp_path}/loads.py", f"{tmp_path}/orders.json"]
        command = contained.command(image, container, Path(f"{point}{below}"), tmp_path, *scripts)
        epochs: Epochs = []
        batches = 0
        with programs.running(command, tmp_path / "said", container) as program:
            while len(epochs) < 2 and not (epochs and epochs[-1]["event"] == "whole"):
                told = program.event("batch", "broken", "whole")
                if told["event"] == "batch":
                    batches += 1
                    if batches == FAULT_AT:
                        happen(told["processes"])
                    continue
                epochs.append(told)
                if told["event"] == "whole":
                    assert told["digests"] == {path: wanted[path] for path in sizes}
            program.finish()
        assert batches > FAULT_AT
        return epochs

    return run


def fuse_killed(_: list[int]) -> None:
    kill(f"{NAME}-fuse-set")


def is_lost(epoch: dict[str, Any]) -> None:
    """An error of a worker process, as training sees it: of OSError's kinds, without a number."""
    assert epoch["event"] == "broken"
    assert re.fullmatch(r"Caught \w+ in DataLoader worker process [01]\.", epoch["text"].splitlines()[0]), epoch["text"]
    assert issubclass(getattr(builtins, epoch["kind"]), OSError)
    assert epoch["errno"] is None
    assert any(re.search(one, epoch["text"]) for one in LOST), epoch["text"]


@pytest.mark.parametrize("read", ["opens", "keeps"])
def test_a_lost_file_ends_the_epoch_and_the_next_one_is_whole(load: Load, read: str) -> None:
    first, second = load(read, fuse_killed)
    is_lost(first)
    assert second["event"] == "whole"


def test_workers_that_live_on_keep_lost_files(load: Load) -> None:
    for epoch in load("keeps", fuse_killed, persistent=True):
        is_lost(epoch)


@pytest.mark.parametrize("patient", [False, True])
def test_a_lost_mapping_ends_the_worker(load: Load, patient: bool) -> None:
    """Whatever a dataset catches."""
    first, second = load("maps", fuse_killed, patient=patient)
    assert (first["event"], first["kind"]) == ("broken", "RuntimeError")
    assert re.search(
        r"DataLoader worker \(pid(\(s\))? .*\) (is killed by signal: Bus error|exited unexpectedly)", first["text"]
    )
    assert second["event"] == "whole"


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("read", ["opens", "keeps"])
def test_a_patient_dataset_notices_nothing(load: Load, read: str, persistent: bool) -> None:
    (only,) = load(read, fuse_killed, patient=True, persistent=persistent)
    assert only["event"] == "whole"
    assert only["failed"] > 0  # it has tried again


@pytest.mark.parametrize("read", ["opens", "keeps", "maps"])
def test_readers_of_a_staged_dataset_notice_nothing(load: Load, read: str) -> None:
    (only,) = load(read, lambda _: kill(f"{NAME}-fuse-copy"), dataset="copy")
    assert (only["event"], only.get("failed")) == ("whole", 0)


def test_a_container_with_the_mount_itself_never_sees_it_again(load: Load) -> None:
    for epoch in load("opens", fuse_killed, below="/data"):
        is_lost(epoch)


def test_a_killed_worker_ends_the_epoch_and_the_next_one_is_whole(load: Load) -> None:
    first, second = load("opens", lambda processes: os.kill(processes[0], signal.SIGKILL))
    assert (first["event"], first["kind"]) == ("broken", "RuntimeError")
    assert "is killed by signal: Killed" in first["text"]
    assert second["event"] == "whole"


@pytest.mark.parametrize("service", AWAY)
def test_a_dataloader_waits_for_a_service(load: Load, store: RestartableStore, service: str) -> None:
    """For files that nobody has read: each service has a third of them."""
    back: list[float] = []

    def away(_: list[int]) -> None:
        container = f"{NAME}-{service}"
        if service == "store":
            store.stop()
        else:
            podman("stop", "--time", "5", container)
        time.sleep(AWAY_S)
        back.append(time.time())
        if service == "store":
            store.start()
        else:
            podman("start", container)

    part = slice(AWAY.index(service), None, len(AWAY))
    (only,) = load("opens", away, dataset="bucket", part=part)
    assert (only["event"], only.get("failed")) == ("whole", 0), only
    assert only["at"] > back[0]
