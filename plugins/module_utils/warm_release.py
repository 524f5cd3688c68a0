"""Lets a suspended Job of Kubernetes begin, from a pod whose service account may."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

API = "https://kubernetes.default.svc"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LOOK_S = 2.0
ANSWER_S = 30.0
GONE, TOO_MANY, ITS_OWN = 404, 429, 500  # the last two, and above: of an API that answers another time

#: Asks the API: method, path, and what a PATCH changes.
Ask = Callable[[str, str, "dict[str, Any] | None"], "dict[str, Any]"]


class GoneError(ValueError):
    """There is no such Job."""


def release(job: str, after: Sequence[str], within_s: float, ask: Ask | None = None) -> str:
    """Resumes a Job when others have ended, or so many seconds have passed; why, where not all of those are Complete.

    Jobs are NAMESPACE/NAME. ValueError, in words, where the API refuses; one that does not answer is asked for ever.
    """
    asked, until = ask or _ask, time.monotonic() + within_s
    ends = {one: _end(asked, one) for one in after}
    while None in ends.values() and time.monotonic() < until:
        time.sleep(min(LOOK_S, within_s))
        ends = {one: end if end is not None else _end(asked, one) for one, end in ends.items()}
    while not _resumed(asked, job):
        time.sleep(LOOK_S)
    late = f"has not ended within {within_s:.0f} s"
    return ", ".join(f"{one} {late if end is None else end}" for one, end in ends.items() if end != "")


def _resumed(ask: Ask, job: str) -> bool:
    """Whether the API took it."""
    try:
        ask("PATCH", _path(job), {"spec": {"suspend": False}})
    except OSError:
        return False
    return True


def _end(ask: Ask, job: str) -> str | None:
    """What became of a Job: nothing to say where it is Complete, None where it has not ended."""
    try:
        found = ask("GET", _path(job), None)
    except GoneError:
        return "is not there"
    except OSError:
        return None
    held = [one for one in found.get("status", {}).get("conditions", []) if one["status"] == "True"]
    if any(one["type"] == "Complete" for one in held):
        return ""
    failed = [str(one.get("message", "")) for one in held if one["type"] == "Failed"]
    return f"has failed: {failed[0]}" if failed else None


def _path(job: str) -> str:
    namespace, _, name = job.partition("/")
    if not namespace or not name:
        raise ValueError(f"{job}: not a Job; write it as NAMESPACE/NAME")
    return f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"


def _ask(method: str, path: str, change: dict[str, Any] | None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {(ACCOUNT / 'token').read_text(encoding='ascii')}"}
    if change is not None:
        headers["Content-Type"] = "application/merge-patch+json"
    body = None if change is None else json.dumps(change).encode()
    request = urllib.request.Request(f"{API}{path}", data=body, headers=headers, method=method)  # noqa: S310 - https
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_S, context=trusted) as answer:  # noqa: S310 - https
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        if error.code == TOO_MANY or error.code >= ITS_OWN:
            raise
        refused = GoneError if error.code == GONE else ValueError
        raise refused(f"{method} {path}: {json.load(error).get('message', error)}") from None
    except http.client.HTTPException as error:  # the answer was cut off
        raise OSError(f"{method} {path}: {error!r}") from None
