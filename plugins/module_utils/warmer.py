"""The runner: carries out the warm-up tasks of a node, one after the other.

It runs from a copy of these modules. What it notes of a task outlives it: it goes on where it was ended.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from ansible_collections.alluxio.fuse.plugins.module_utils import warm_stage, warm_tasks, warm_workers
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_progress import CanceledError, Progress, Work
from ansible_collections.alluxio.fuse.plugins.module_utils.worker_client import Client, WorkerClient

REST_S = 1.0
ENDS = "--until-none"


def go_round(folder: str, client: Client = WorkerClient) -> str:
    """Carries out the oldest task that has not ended; what to say of it, nothing where there is none."""
    waiting = [task for task, state in warm_tasks.listed(folder) if not warm_tasks.is_ended(task, state)]
    if not waiting:
        return ""
    task, node = waiting[0], warm_tasks.node(folder)
    progress = Progress(folder, task)
    try:
        if task.wanted == "cancel":
            raise CanceledError
        if gone := [name for name in task.datasets if name not in node.datasets]:
            raise warm_tasks.TaskError(f"{', '.join(gone)}: not mounted on {node.name} any more")
        if task.into == "workers":
            warm_workers.carry_out(Work(folder, node, task, progress), client)
        else:
            warm_stage.carry_out(Work(folder, node, task, progress))
    except CanceledError:
        progress.end(warm_tasks.CANCELED)
    except (OSError, ValueError, RuntimeError) as error:
        progress.end(warm_tasks.INCOMPLETE, str(error), task.files)
    return f"{task.id}: {progress.state.state}{f', {progress.state.note}' if progress.state.note else ''}"


def _tell(folder: str, ended: threading.Event) -> None:
    """Says that this runs, also while a large file takes its time."""
    warm_tasks.touch(folder)
    while not ended.wait(warm_tasks.SILENT_S / 4):
        warm_tasks.touch(folder)


def main(folder: str, *, ends: bool) -> None:
    """Carries tasks out for as long as the node is up, or until none is left where it `ends`.

    It and what it starts run when no other process wants the processor or the disk.
    """
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    ended = threading.Event()
    with warm_tasks.only_runner(folder):
        threading.Thread(target=_tell, args=(folder, ended), daemon=True).start()
        try:
            while True:
                if line := go_round(folder):
                    print(line, flush=True)
                elif ends:
                    return
                else:
                    time.sleep(REST_S)
        finally:
            ended.set()


if __name__ == "__main__":
    main(sys.argv[1], ends=sys.argv[2:] == [ENDS])
