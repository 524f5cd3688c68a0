"""Opens a page in headless Chromium, by the DevTools protocol over a pipe, and asks it what it has drawn where."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import packages

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-pipe --window-size=1100,2400"
)
TIMEOUT_S = 30


class Page:
    """An open page."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        """Speaks by two pipes."""
        self._out, self._in = os.fdopen(to_browser, "wb", 0), os.fdopen(from_browser, "rb", 0)
        self._number, self._session, self._rest = 0, "", b""

    def open(self, path: Path) -> None:
        """Loads a file and waits until it is there."""
        target = self._call("Target.createTarget", url=path.resolve().as_uri())["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        deadline = time.monotonic() + TIMEOUT_S
        while self.evaluate("document.readyState + document.querySelectorAll('h1').length") != "complete1":
            assert time.monotonic() < deadline, f"{path} has not loaded"
            time.sleep(0.1)

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def prefer(self, scheme: str) -> None:
        """`light` or `dark`."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = self._in.read(1 << 16)
            assert chunk, "the browser has ended"
            self._rest += chunk
        one, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message


@contextmanager
def chromium() -> Iterator[Page]:
    """A browser with a profile of its own; Debian's package is installed where it is missing."""
    packages.need("chromium")
    browser_in, to_browser = os.pipe()
    from_browser, browser_out = os.pipe()
    with tempfile.TemporaryDirectory() as profile:
        command = f"exec chromium {FLAGS} --user-data-dir={profile} about:blank 3<&{browser_in} 4>&{browser_out}"
        process = subprocess.Popen(
            ["bash", "-c", command], pass_fds=(browser_in, browser_out), stderr=subprocess.DEVNULL
        )
        os.close(browser_in)
        os.close(browser_out)
        try:
            yield Page(to_browser, from_browser)
        finally:
            process.terminate()
            process.wait(timeout=TIMEOUT_S)
