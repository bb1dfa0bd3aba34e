"""How far a page goes to its verdict: files and functions of the package that it passes, and hops between files.

    python benchmarks/page_way.py
    python benchmarks/page_way.py --list

Five generated pages are crawled on the loopback, one after the other, with the add-on and nothing else. The way of a
page is the calls of the package's Python functions, from the downloader middleware's ``process_request`` until a
spider middleware is handed the page. Then

* a *file* is one that any of these calls is into,
* a *function* is one that any of them is of, generator expressions and comprehensions among them,
* a *hop* is a call into another file than the call before it. A return is none: where a function of one file calls
  two of another, one hop leads there.

A coroutine or generator that goes on is called again. What is compiled is not seen. The first page also imports what is
imported late, so the figures are those of the four after it.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy_simdedup
from measure import arguments, finish
from pages import generated

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(scrapy_simdedup.__file__).parent) + "/"
PAGES = 5
SETTINGS = {
    "ADDONS": {"scrapy_simdedup.Addon": 500},
    "CONCURRENT_REQUESTS": 1,
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}


class Way:
    """Takes down the calls of one page after the other."""

    def __init__(self) -> None:
        self.pages: list[list[tuple[str, str]]] = []
        """For each page its calls, as file and function."""
        self._is_judged = True

    def see(self, frame: FrameType, event: str, _: Any) -> None:
        """For :func:`sys.setprofile`."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name == "process_request":
            self.pages.append([])
            self._is_judged = False
        elif code.co_name == "process_spider_input":
            self._is_judged = True
        if self.pages and not self._is_judged:
            file = code.co_filename.removeprefix(PACKAGE)
            self.pages[-1].append((file, f"{code.co_name}:{code.co_firstlineno}"))


def figures(calls: list[tuple[str, str]]) -> dict[str, int]:
    """What the way of a page comes to."""
    files = [file for file, _ in calls]
    return {
        "files": len(set(files)),
        "functions": len(set(calls)),
        "hops": sum(one != other for one, other in pairwise(files)),
        "calls": len(calls),
    }


def serve(bodies: list[bytes]) -> str:
    """Serve pages from a thread, which is not looked at; the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = bodies[int(self.path.removeprefix("/"))]
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def crawl() -> Way:
    """Crawl the pages in this process."""
    import scrapy
    from scrapy.crawler import CrawlerProcess

    way = Way()
    base = serve([page.html.encode() for page in generated(PAGES, repeats=0.4)])

    class Walk(scrapy.Spider):
        name = "walk"

        async def start(self) -> Any:
            sys.setprofile(way.see)
            for number in range(PAGES):
                yield scrapy.Request(f"{base}/{number}", priority=-number)

        def parse(self, response: Any) -> Any:
            yield {"url": response.url}

        def closed(self, _: str) -> None:
            sys.setprofile(None)

    process = CrawlerProcess(SETTINGS)
    process.crawl(Walk)
    process.start()
    return way


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--list", action="store_true", help="show where the last page went, call by call")
    options = parser.parse_args()
    ways = crawl().pages[1:]
    found = [figures(calls) for calls in ways]
    rows = [["page", *found[0]], *([str(number), *map(str, row.values())] for number, row in enumerate(found, 1))]
    if options.list:
        before = ""
        for file, function in ways[-1]:
            print(f"{'' if file == before else file:<34}{function}")
            before = file
        for file, count in Counter(file for file, _ in ways[-1]).most_common():
            print(f"{count:>5} {file}")
    finish({"pages": found}, rows, options.json)


if __name__ == "__main__":
    main()
