"""The shop's web server: `python -m website.server` prints its address and serves until it is stopped."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from website import trouble
from website.addresses import VIEWS
from website.noise import noise_of_response
from website.pages import Page, all_pages, listings
from website.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PORT = 8077

responses = count(1)


class Shop(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        match url.path.strip("/").split("/"):
            case ["robots.txt"]:
                self.answer(b"User-agent: *\nAllow: /\n", "text/plain")
            case ["reviews", _]:
                self.page(trouble.CAPTCHA)
            case ["issues", *_]:
                self.page(trouble.SOFT_404)
            case ["news"]:
                self.page(trouble.LAST_NEWS, links=[("More", f"/news?after={int(query.get('after', 0)) + 20}")])
            case ["calendar", month]:
                first = date.fromisoformat(f"{month}-01")
                self.page(trouble.calendar(first), links=[("Next month", trouble.next_month(first))])
            case ["everything"]:
                self.stream(trouble.endless_scroll())
            case ["en", "guestbook"]:
                # The header promises UTF-8 and the bytes are something else.
                self.page(trouble.GUESTBOOK, encoding="cp1252")
            case ["files", "prices"]:
                self.answer(trouble.price_list(), "application/pdf")
            case [view, *path] if view in VIEWS and (page := all_pages().get("/".join(path))):
                self.page(page, view)
            case path if page := all_pages().get("/".join(path) or "en/index"):
                self.page(by_title(page) if query.get("sort") == "title" else page)
            case _:
                self.answer(b"<h1>Not found</h1>", "text/html", status=404)

    def page(self, page: Page, view: str = "", links: Sequence[tuple[str, str]] = (), encoding: str = "utf-8") -> None:
        noise = noise_of_response(next(responses), page)
        all_links = [*links, *trouble.links_to_trouble(page), *pages_after(page)]
        body = render(page, view, noise, all_links).encode(encoding, "replace")
        if page.kind == "post":
            self.stream([body])
        else:
            self.answer(body, "text/html; charset=utf-8")

    def answer(self, body: bytes, content_type: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, parts: Iterable[bytes]) -> None:
        """A page of no announced length: the end of the connection is the end of the page."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        with suppress(ConnectionError):  # the reader may have had enough
            for part in parts:
                self.wfile.write(part)

    def log_message(self, *_: object) -> None:
        """Stay quiet: the crawler's log is the one to read."""


def by_title(page: Page) -> Page:
    """A listing in another order."""
    pairs = sorted(zip(page.entries, page.paragraphs, strict=True), key=lambda pair: all_pages()[pair[0]].title)
    return replace(page, entries=tuple(entry for entry, _ in pairs), paragraphs=tuple(text for _, text in pairs))


def pages_after(page: Page) -> list[tuple[str, str]]:
    """From a front page to the sections and the tags, from a listing to its next page."""
    if page.kind != "listing":
        return []
    if page.id.endswith("/index"):
        return [(other.title, f"/{other.id}") for other in listings().values() if "/page-" not in other.id]
    name, _, number = page.id.partition("/page-")
    following = f"{name}/page-{int(number or 1) + 1}"
    return [("Next page", f"/{following}")] if following in listings() else []


def open_server() -> ThreadingHTTPServer:
    """At the same address each time, so that a crawl meets URLs of the crawl before; at a free one if that is taken."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
    except OSError:
        return ThreadingHTTPServer(("127.0.0.1", 0), Shop)


def main() -> None:
    with open_server() as server, suppress(KeyboardInterrupt):
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
