"""Small web servers for tests, on free loopback ports."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = str | bytes | tuple[int, dict[str, str], bytes]


class PatientServer(ThreadingHTTPServer):
    """Has room for connections that wait. Five fill it by default, and the next try of a sixth comes in a second."""

    request_queue_size = 128
    daemon_threads = True


class Site:
    """Serves what it is given: ``site["/a"] = "<html>..."``, bytes, ``(status, headers, body)``, or a callable."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | Callable[[str], Answer]] = {}
        self.requested: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each answer to a crawler that waits for it takes 40 ms

            def do_GET(self) -> None:
                site.answer(self)

            do_HEAD = do_GET
            do_POST = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self.server = PatientServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Site:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def __setitem__(self, path: str, answer: Answer | Callable[[str], Answer]) -> None:
        self.answers[path] = answer

    def url(self, path: str) -> str:
        return self.root + path

    def urls(self, *paths: str) -> list[str]:
        return [self.root + path for path in paths]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        if length:
            handler.rfile.read(length)
        self.requested.append(handler.path)
        found = self.answers.get(handler.path, (404, {"Content-Type": "text/html"}, b"<h1>Not found</h1>"))
        if callable(found):
            found = found(handler.path)
        if isinstance(found, str):
            found = found.encode()
        if isinstance(found, bytes):
            found = (200, {"Content-Type": "text/html; charset=utf-8"}, found)
        status, headers, body = found
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)


class PlainServer:
    """Speaks HTTP/1.0 and declares no length: the end of a page is the end of its connection.

    Pages are served by their paths; those of ``cut`` end after so many bytes. Both may change while it runs.
    """

    def __init__(self, pages: dict[str, str], cut: dict[str, int] | None = None) -> None:
        self.pages, self.cut = pages, cut or {}
        site = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                path = self.rfile.readline().split()[1].decode()
                while self.rfile.readline().strip():
                    pass
                body = site.pages[path].encode()
                body = body[: site.cut.get(path, len(body))]
                self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.urls = [self._root + path for path in pages]

    def url(self, path: str) -> str:
        return self._root + path

    def __enter__(self) -> PlainServer:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
