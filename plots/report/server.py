"""The page on loopback while a study runs: made anew from the results on every reload.

`python -m benchmark report --serve`; only this machine can connect, and there is nothing but the page.
"""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmark.errors import UserError
from plots.report.builder import build
from plots.report.collection import Pictures

HOST = "127.0.0.1"


def serve(root: Path, scales: list[str], port: int, data: Path) -> None:
    """Serves until it is stopped with Ctrl-C."""
    drawn: Pictures = {}
    turn = threading.Lock()  # matplotlib draws one figure at a time

    def page() -> bytes:
        with turn:
            made = time.strftime("%H:%M:%S")
            return build(root, scales, f"As of {made}; reload for the latest results.", drawn, data).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # A page from elsewhere must not read results through a name that it points to this machine.
            if (self.headers.get("Host") or "").rpartition(":")[0] not in (HOST, "localhost"):
                return self._answer(403, b"only on this machine")
            if self.path.partition("?")[0] not in ("/", "/index.html"):
                return self._answer(404, b"there is only one page: /")
            try:
                self._answer(200, page(), "text/html")
            except UserError as problem:
                self._answer(500, str(problem).encode())

        def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads a line per reload."""

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as problem:
        raise UserError(f"cannot use port {port} ({problem.strerror}); try --port 0 for any free one") from None
    with server:
        print(f"http://{HOST}:{server.server_address[1]}/ (Ctrl-C to stop)", flush=True)
        server.serve_forever()
