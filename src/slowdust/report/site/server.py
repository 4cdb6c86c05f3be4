"""A site over HTTP, for this machine only."""

from __future__ import annotations

import errno
import io
import re
import sys
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from slowdust.errors import SlowdustError, UsageError
from slowdust.report.site.index import Pairs
from slowdust.report.site.site import INDEX, Site, diff_path, publish
from slowdust.store.folder import experiments
from slowdust.store.storage import replace_file
from slowdust.temporary import temporary_folder
from slowdust.wording import counted

LOOPBACK = "127.0.0.1"
_PAGE = re.compile(r"/(?:(?:index|dates|versions)|experiments/[^/]+|diff/[^/]+/[^/]+)\.html")
_DIFF = re.compile(r"/diff/([^/]+)/([^/]+)\.html")


class Server(ThreadingHTTPServer):
    """A server of the pages in a folder, bound to the loopback address.

    Raises UsageError if the port is in use or not permitted.
    """

    daemon_threads = True

    def __init__(self, site: Site, folder: Path, port: int) -> None:
        self.site, self.folder = site, folder
        try:
            super().__init__((LOOPBACK, port), partial(_Handler, directory=str(folder)))
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                what = "is in use" if error.errno == errno.EADDRINUSE else "is not permitted"
                raise UsageError(f"port {port} {what}: choose another --port") from None
            raise

    def handle_error(self, request: object, client_address: object) -> None:
        """Print errors of a request, except for closed connections."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"


class _Handler(SimpleHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "slowdust"
    sys_version = ""

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Open the requested page; answer anything else with an error."""
        refusal = self._refusal()
        if refusal is not None:
            self.send_error(*refusal)
            return None
        return super().send_head()

    def _refusal(self) -> tuple[HTTPStatus, str] | None:
        """Return the error of a request; write a page of differences if it does not exist yet."""
        names = {f"{host}:{self.server.server_port}" for host in (LOOPBACK, "localhost")}
        if self.headers.get("Host", "") not in names:  # protects from DNS rebinding
            return HTTPStatus.FORBIDDEN, "This server answers only requests from this machine"
        try:
            path = unquote(urlsplit(self.path).path, errors="strict")
        except ValueError:
            return HTTPStatus.BAD_REQUEST, "The address is malformed"
        if path == "/":
            path = self.path = f"/{INDEX}"
        if not _PAGE.fullmatch(path) or "\0" in path:
            return HTTPStatus.NOT_FOUND, "No such page"
        pair = _DIFF.fullmatch(path)
        if pair is None or pair[1] == pair[2] or not {*pair.groups()} <= {*self.server.site.names}:
            return None
        target = self.server.folder / diff_path(pair[1], pair[2])
        try:
            if not target.exists():
                content = self.server.site.diff_page(pair[1], pair[2]).encode()
                target.parent.mkdir(parents=True, exist_ok=True)
                replace_file(target, content)
        except SlowdustError as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, str(error).splitlines()[0]
        return None

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: lines for requests would scroll the address away."""


def serve(results: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve the pages of a results folder until Ctrl-C."""
    with temporary_folder() as folder, Server(Site(results, Pairs.ANY), folder, port) as server:
        try:
            say(f"reading {counted(len(experiments(results)), 'experiment')} from {results}")
            publish(results, folder, Pairs.ANY)
            say(f"serving at {server.url}; stop with Ctrl-C")
            server.serve_forever()
        except KeyboardInterrupt:
            say("\nstopped")
