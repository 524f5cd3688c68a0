"""The command `alluxio-warm` of a node: tasks without a controller, for the prolog of a job for example.

Exit codes: 0 done, or begun with --background; 1 incomplete; 2 refused, in words; 3 cancelled; 4 not within --wait, it
goes on; 5 nothing carries tasks out here; 6 of release: it begins, and its files are not warm.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ansible_collections.alluxio.fuse.plugins.module_utils import (
    gpu,
    mount_table,
    users,
    warm_release,
    warm_tasks,
    warmer,
    warming,
)
from ansible_collections.alluxio.fuse.plugins.module_utils.selection import Asked, Share
from ansible_collections.alluxio.fuse.plugins.module_utils.warm_tasks import TaskError

CODES = {warm_tasks.DONE: 0, warm_tasks.INCOMPLETE: 1, warm_tasks.CANCELED: 3}
REFUSED, NOT_YET, NOBODY, NOT_WARM = 2, 4, 5, 6
NOT_IN_A_POD = "--when-idle: a pod sees no GPU at work on its node; leave it out, and say --bandwidth"
LOOK_S = 1.0
OPENS_S = 2.0  # in which who reads opens a file
UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def main(folder: str, arguments: Sequence[str] | None = None) -> int:
    """Does what the arguments say with the tasks in a folder; the exit code."""
    said = _parser().parse_args(arguments)
    try:
        return int(said.verb(folder, said))
    except (ValueError, OSError) as error:
        print(f"alluxio-warm: {error}", file=sys.stderr)
        # what its node cannot do at this moment, a Job tries again in another pod
        again = isinstance(error, OSError) and getattr(said, "carry_out", False)
        return CODES[warm_tasks.INCOMPLETE] if again else REFUSED


def text(one: dict[str, Any]) -> str:
    """A task in one line."""
    doing = {"load": "load", "compare": "verify", "evict": "evict"}[one["operation"]]
    where = f"{doing} {one['into']}"
    state = one["state"] if one["alive"] or one["ended"] else f"{one['state']}, and nothing carries it out"
    if one["wanted"] == "cancel" and not one["ended"]:
        state = "to be cancelled"
    line = (
        f"{one['id']}  {where:16}  {state:10}  {one['done_files']} of {one['of_files']} files,"
        f" {one['done_bytes'] / 1e6:.0f} of {one['of_bytes'] / 1e6:.0f} MB"
    )
    if one["rate"]:
        line += f", {one['rate'] / 1e6:.1f} MB/s"
    if one["left_s"] is not None:
        line += f", {one['left_s']:.0f} s left"
    return line + (f"; {one['note']}" if one["note"] else "")


def estimate_lines(found: dict[str, Any], into: str) -> list[str]:
    """What a task would do, in lines."""
    lines = [f"{found['files']} files, {found['bytes'] / 1e6:.1f} MB"]
    if found["twice"]:
        lines.append(f"{found['twice']} lines say again what another one says")
    if found["present"]:
        lines.append(f"{found['present']} of them are staged already")
    if found["requests"] is None:
        lines.append("requests to a store: none")
    else:
        known = "" if into == "stage" else ", and none for what workers hold already"
        lines.append(f"requests to the store: {found['requests']} at most{known}")
    have = "the medium has" if into == "stage" else "all workers together hold"
    fits = "it fits" if found["fits"] else "it does not fit"
    if found["needed"]:
        lines.append(f"{fits}: it takes {found['needed'] / 1e6:.1f} MB, and {have} {found['free'] / 1e6:.1f} MB")
    if found["seconds"] is None:
        lines.append("time: not known, as no bandwidth was said and none was measured here")
    else:
        how = "the last load here" if found["measured"] else "the bandwidth"
        lines.append(f"time: {found['seconds']:.0f} s, by {how}, {found['rate'] / 1e6:.1f} MB/s")
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="alluxio-warm", description=__doc__)
    verbs = parser.add_subparsers(required=True)
    start = verbs.add_parser("start", help="begin a task, and wait until it has ended")
    for name, about in (
        ("dataset", "a dataset; without one, all"),
        ("path", "a folder, a file or a glob, in the dataset or below its mount point"),
        ("include", "a glob of the files that count"),
        ("exclude", "a glob of files that do not"),
    ):
        start.add_argument(f"--{name}", action="append", default=[], help=f"{about}; may be given again")
    start.add_argument("--filelist", default="", help="a file with one path a line")
    start.add_argument("--into", choices=["workers", "stage"], default="workers")
    start.add_argument("--bandwidth", default="0", help="bytes a second, like 200Mi")
    start.add_argument("--verify", action="store_true", help="compare digests of what was loaded, too")
    start.add_argument("--verify-only", action="store_true", help="load nothing, compare alone")
    start.add_argument("--evict", action="store_true", help="give the files up")
    start.add_argument(
        "--share",
        default="0/1",
        help="part of the files, like 2/8: that of the third of eight nodes; 1+1/8 is the same",
    )
    start.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    start.add_argument(
        "--when-idle",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait so long at most until no process reads here and no GPU computes; not with --carry-out",
    )
    start.add_argument("--task", type=_name, help="its name; with that of a task that is there, go on with it")
    how = start.add_mutually_exclusive_group()
    how.add_argument("--background", action="store_true", help="print the task's name, and do not wait")
    how.add_argument("--carry-out", action="store_true", help="in a pod: carry it out in this process")
    start.set_defaults(verb=_start)
    for name, verb in (("watch", _watch), ("cancel", _cancel), ("resume", _resume)):
        one = verbs.add_parser(name)
        one.add_argument("id")
        one.set_defaults(verb=verb)
    release = verbs.add_parser("release", help="in a pod: let a suspended Job begin when another Job has ended")
    release.add_argument("job", help="as NAMESPACE/NAME")
    release.add_argument("--after", action="append", required=True, help="a Job that warms, as NAMESPACE/NAME")
    release.add_argument("--wait", type=float, required=True, help="seconds, after which it begins anyway")
    release.set_defaults(verb=_release)
    listing = verbs.add_parser("list")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(verb=_list)
    for waiting in (start, verbs.choices["watch"], verbs.choices["resume"]):
        waiting.add_argument("--wait", type=float, default=float("inf"), help="seconds to wait at most")
        waiting.add_argument("--quiet", action="store_true", help="tell the end alone")
    return parser


def _start(folder: str, said: argparse.Namespace) -> int:
    wish = warming.Wish(
        operation="evict" if said.evict else "verify" if said.verify_only else "load",
        into=said.into,
        datasets=said.dataset,
        asked=Asked(said.path, said.filelist, said.include, said.exclude),
        verify=said.verify,
        bandwidth=_bytes(said.bandwidth),
        share=_share(said.share),
    )
    if said.dry_run:
        found = warming.estimate(folder, warm_tasks.node(folder), wish)
        print("\n".join(estimate_lines(asdict(found), said.into)))
        return 0 if found.fits else 1
    if said.when_idle:
        if said.carry_out:
            raise TaskError(NOT_IN_A_POD)
        _wait_until_idle(folder, said.when_idle)
    name = said.task or warm_tasks.new_id(time.time())
    if not warm_tasks.is_there(folder, name):
        warming.start(folder, wish, name, {key: value for key, value in vars(said).items() if key != "verb" and value})
    elif warm_tasks.one(folder, name)[1].state == warm_tasks.INCOMPLETE:
        warm_tasks.ask(folder, name, "run")
    if said.background:
        print(name)
        return 0 if warm_tasks.is_alive(folder) else NOBODY
    return _wait(folder, name, said, _runner(folder) if said.carry_out else None)


def _wait_until_idle(folder: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while busy := _at_work(folder):
        if time.monotonic() >= until:
            raise TaskError(f"at work after {seconds:.0f} s: {', '.join(busy)}")
        time.sleep(LOOK_S)


def _at_work(folder: str) -> list[str]:
    """Processes that read a dataset, and GPUs that compute."""
    table = mount_table.read_mounts()
    paths = [place.roots[0] for place in warm_tasks.node(folder).datasets.values()]
    return [*(one for path in paths for one in users.readers_at(path, table, OPENS_S)), *gpu.busy_gpus()]


def _runner(folder: str) -> threading.Thread:
    """What carries tasks out in this process, until none is left."""
    warm_tasks.touch(folder)
    runner = threading.Thread(target=warmer.main, args=(folder,), kwargs={"ends": True}, daemon=True)
    runner.start()
    return runner


def _watch(folder: str, said: argparse.Namespace) -> int:
    return _wait(folder, said.id, said)


def _resume(folder: str, said: argparse.Namespace) -> int:
    warm_tasks.ask(folder, said.id, "run")
    return _wait(folder, said.id, said)


def _cancel(folder: str, said: argparse.Namespace) -> int:
    warm_tasks.ask(folder, said.id, "cancel")
    print(text(warming.told(folder, said.id)[0]))
    return 0


def _release(_: str, said: argparse.Namespace) -> int:
    why = warm_release.release(said.job, said.after, said.wait)
    print(f"{said.job} begins{f': {why}' if why else ', as its files are warm'}")
    return NOT_WARM if why else CODES[warm_tasks.DONE]


def _list(folder: str, said: argparse.Namespace) -> int:
    found = warming.told(folder)
    print(json.dumps(found) if said.json else "\n".join(map(text, found)) or "no tasks")
    return 0


def _wait(folder: str, name: str, said: argparse.Namespace, runner: threading.Thread | None = None) -> int:
    until, shown = time.monotonic() + said.wait, ""
    while True:
        gone = runner is not None and not runner.is_alive()
        one = warming.told(folder, name)[0]
        if (line := text(one)) != shown and (not said.quiet or one["ended"]):
            print(line, flush=True)
            shown = line
        if one["ended"]:
            print("\n".join(f"  {problem}" for problem in one["problems"]), end="\n" if one["problems"] else "")
            if one["list"]:
                print(f"  what is left: {one['list']}")
            return CODES[one["state"]]
        if time.monotonic() >= until:
            return NOT_YET
        if gone or not one["alive"]:
            print(f"alluxio-warm: nothing carries tasks out here: {warm_tasks.node(folder).runner}", file=sys.stderr)
            return NOBODY
        time.sleep(LOOK_S)


def _name(said: str) -> str:
    try:
        return warm_tasks.valid(said)
    except TaskError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _bytes(said: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]i)?", said)
    if not found:
        raise TaskError(f"--bandwidth {said}: not an amount of bytes; write it like 200Mi")
    return int(float(found[1]) * UNITS[found[2] or ""])


def _share(said: str) -> Share:
    found = re.fullmatch(r"(\d+)(?:\+(\d+))?/(\d+)", said)
    place = int(found[1]) + int(found[2] or 0) if found else 0
    if not found or place >= int(found[3]):
        raise TaskError(f"--share {said}: not a part; write it like 2/8, the third of eight")
    return Share(place, int(found[3]))
