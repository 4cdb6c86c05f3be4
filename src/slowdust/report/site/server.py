"""The pages of a results folder over HTTP, for this machine alone; nothing is ever written."""

from __future__ import annotations

import errno
import re
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markupsafe import Markup

from slowdust.errors import SlowdustError, UsageError
from slowdust.report.site.index import Pairs
from slowdust.report.site.site import INDEX, Page, Site

_MOST_RENDERED = 50
"""Pages that are kept in memory, those that were asked for last."""
LOOPBACK = "127.0.0.1"
_DIFF = re.compile(r"diff/([^/]+)/([^/]+)\.html")


class Server(ThreadingHTTPServer):
    """A server of the pages, bound to the loopback address.

    Raises UsageError where the port is in use or may not be used.
    """

    daemon_threads = True

    def __init__(self, results: Path, port: int) -> None:
        self._site = Site(results, Pairs.ANY)
        # An analysis takes a whole CPU; pages in memory are shared by all threads.
        self._lock = threading.Lock()
        self._rendered: dict[str, tuple[str, str]] = {}
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                what = "is in use" if error.errno == errno.EADDRINUSE else "is the system's"
                raise UsageError(f"port {port} {what}: choose another --port") from None
            raise
        except OverflowError:
            raise UsageError(f"{port} is not a port: choose one up to 65535") from None

    def handle_error(self, request: object, client_address: object) -> None:
        """Print what fails while a request is answered, except that the browser has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/"

    def read_all(self) -> None:
        """Make the index, for which all experiments are read, so that no browser waits for it."""
        self.page(INDEX)

    def page(self, path: str) -> tuple[str, str] | None:
        """Return fingerprint and content of a page; None if there is no such page.

        Raises:
            SlowdustError: an experiment cannot be read.
        """
        with self._lock:
            page = self._find(path)
            if page is None:
                return None
            rendered = self._rendered.get(path)
            if rendered is None or rendered[0] != page.fingerprint:
                rendered = (page.fingerprint, page.render())
            self._rendered.pop(path, None)
            self._rendered[path] = rendered
            if len(self._rendered) > _MOST_RENDERED:
                del self._rendered[next(iter(self._rendered))]
            return rendered

    def _find(self, path: str) -> Page | None:
        if (pair := _DIFF.fullmatch(path)) is not None:
            return self._site.diff(*pair.groups())
        return self._site.pages().get(path)

    def names(self) -> set[str]:
        """Return what a browser may call this server: others would be another site's trick."""
        return {f"{host}:{self.server_port}" for host in (LOOPBACK, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "slowdust"
    sys_version = ""

    def do_GET(self) -> None:
        status, fingerprint, content = self._answer()
        body = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-cache")
        if fingerprint:
            self.send_header("ETag", f'"{fingerprint}"')
        self.end_headers()
        if self.command != "HEAD" and status != HTTPStatus.NOT_MODIFIED:
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _answer(self) -> tuple[HTTPStatus, str, str]:
        if self.headers.get("Host", "") not in self.server.names():
            return HTTPStatus.FORBIDDEN, "", "This server is for this machine alone.\n"
        try:
            path = unquote(urlsplit(self.path).path).lstrip("/") or INDEX
        except ValueError:
            return HTTPStatus.BAD_REQUEST, "", _message("This is not the address of a page.")
        try:
            page = self.server.page(path)
        except SlowdustError as error:
            return HTTPStatus.INTERNAL_SERVER_ERROR, "", _message(str(error))
        if page is None:
            return HTTPStatus.NOT_FOUND, "", _message(f"There is no page {path}.")
        fingerprint, content = page
        if self.headers.get("If-None-Match") == f'"{fingerprint}"':
            return HTTPStatus.NOT_MODIFIED, fingerprint, ""
        return HTTPStatus.OK, fingerprint, content

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: a terminal with a line for each request hides the address."""


def _message(text: str) -> str:
    return str(Markup("<!doctype html><title>Slowdust</title><p>{}</p>\n").format(text))
