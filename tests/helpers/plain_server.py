"""A server that speaks HTTP/1.0 and declares no length: the end of a page is the end of its connection."""

from __future__ import annotations

import socketserver
import threading


class PlainServer:
    """Serves pages by their paths, on a free loopback port; those of ``cut`` end after so many bytes."""

    def __init__(self, pages: dict[str, str], cut: dict[str, int] | None = None) -> None:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                path = self.rfile.readline().split()[1].decode()
                while self.rfile.readline().strip():
                    pass
                body = pages[path].encode()
                body = body[: (cut or {}).get(path, len(body))]
                self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
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
