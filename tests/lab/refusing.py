"""In a store's place, a server that says no to everything, with the store's certificate.

usage: python3 refusing.py ADDRESS PORT CODE FOLDER      FOLDER: of s3.crt and s3.key
"""

from __future__ import annotations

import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


def refusing(address: str, port: int, code: int, folder: Path) -> ThreadingHTTPServer:
    """The server, bound and not yet serving."""

    class Refusal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(code)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer((address, port), Refusal)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "s3.crt", folder / "s3.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


if __name__ == "__main__":
    where, port, code, folder = sys.argv[1:]
    refusing(where, int(port), int(code), Path(folder)).serve_forever()
