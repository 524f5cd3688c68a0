"""The object that has this pod run: whether it is still there, as the API server tells the pod's own account."""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path

TOKEN = "/token"  # noqa: S105 - the folder with the account's token, which is no pod's own, and the API server's CA
SILENT_S = 3.0
AGAIN_S = 60.0
PAUSE_S = 2.0
TRIES, AGREED = 6, 3
FOUND, NOT_FOUND = 200, 404
UNKNOWN = (401, 403)  # an account goes with its release, and so do its rights


class OwningObject:
    """An object by its path in the API, for example /apis/apps/v1/namespaces/data/daemonsets/cache-stage."""

    def __init__(self, path: str, server: str = "", token: str = TOKEN) -> None:
        host, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}", "") for part in ("HOST", "PORT_HTTPS"))
        address = f"[{host}]" if ":" in host else host
        self._url, self._token = f"{server or f'https://{address}:{port}'}{path}", Path(token)
        self._known, self._next = False, 0.0

    def look(self) -> list[str]:
        """Asks until the object was found once; what there is to say. Who never found it never calls it gone."""
        if self._known or time.monotonic() < self._next:
            return []
        self._next = time.monotonic() + AGAIN_S
        status, _ = self._ask()
        if status == FOUND:
            self._known = True
            return ["what is staged goes with the release"]
        what = f"the API server answers {status}" if status else "the API server does not answer"
        return [f"{what} to this pod, so what is staged would stay on the node when the release goes"]

    def is_gone(self) -> bool:
        """Whether the object was deleted, or is being; within half a minute, where the API server does not answer."""
        unknown = 0
        for _ in range(TRIES if self._known else 0):
            status, deleted = self._ask()
            if status in (FOUND, NOT_FOUND):
                return deleted or status == NOT_FOUND
            unknown += status in UNKNOWN
            if unknown == AGREED:
                return True
            time.sleep(PAUSE_S)
        return False

    def _ask(self) -> tuple[int, bool]:
        """The status, 0 where there is no answer; and whether the object is being deleted."""
        try:
            trusted = ssl.create_default_context(cafile=str(self._token / "ca.crt"))
            held = (self._token / "token").read_text(encoding="ascii")
            asked = urllib.request.Request(self._url, headers={"Authorization": f"Bearer {held}"})  # noqa: S310
            with urllib.request.urlopen(asked, timeout=SILENT_S, context=trusted) as answer:  # noqa: S310
                return answer.status, "deletionTimestamp" in json.load(answer)["metadata"]
        except urllib.error.HTTPError as refused:
            return refused.code, False
        except OSError:
            return 0, False
