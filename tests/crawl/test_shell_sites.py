"""Crawls of sites whose pages scripts build: what cannot be told apart by its text is kept, and repeats still go."""

from __future__ import annotations

import json
import random

from helpers.crawling import PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import prose, words
from helpers.site_server import Site

FRAME = (
    f"<header><p>{' '.join(words('header', 30))}</p></header><footer><p>{' '.join(words('footer', 90))}</p></footer>"
)


def shell(number: int, build: str) -> str:
    """A product page whose text is data; the build differs each time that it is fetched."""
    state = {"buildId": build, "product": {"name": f"Shoe {number}", "text": " ".join(words(number, 80))}}
    return f"""<title>Shop</title>{FRAME}<div id=app><p>{" ".join(words("loading", 30))}</p></div>
    <script id=__NEXT_DATA__ type=application/json>{json.dumps(state)}</script>"""


@on_asyncio
async def test_different_pages_in_one_shell_are_kept_and_no_stub(site: Site) -> None:
    """However many there are, under URLs that have nothing in common; the same page under another URL is dropped."""
    paths = [f"/{''.join(words(('path', number), 3))}/{number}" for number in range(30)]
    for number, path in enumerate(paths):
        site[path] = shell(number, f"build-{number}")
        site[path + "?ref=home"] = shell(number, f"build-{number + 1}")
    made = await crawl(PathsSpider, urls=site.urls(*paths, *(path + "?ref=home" for path in paths)))
    assert made.urls == site.urls(*paths)
    assert made.stat("pages/stub") == 0
    assert made.stat("pages/dropped") == len(paths)


@on_asyncio
async def test_pages_whose_main_part_is_empty_are_kept_unjudged(site: Site) -> None:
    paths = ["/", "/delivery", "/returns", "/contact", "/imprint"]
    for path in paths:
        site[path] = f"<title>Shop</title>{FRAME}<main id=content></main>"
    made = await crawl(PathsSpider, urls=site.urls(*paths))
    assert made.urls == site.urls(*paths)
    assert made.stat("pages/unjudged_reason_count/empty") == len(paths)


@on_asyncio
async def test_a_forum_in_noscript_is_judged(site: Site) -> None:
    """Its topics are kept, and the same topic under another URL is dropped."""
    for number in (1, 2):
        html = f"<section></section><noscript><main><h1>Topic {number}</h1>{prose(number, 120)}</main></noscript>"
        site[f"/t/{number}"] = site[f"/t/{number}?u=anna"] = html
    made = await crawl(PathsSpider, urls=site.urls("/t/1", "/t/2", "/t/1?u=anna", "/t/2?u=anna"))
    assert made.urls == site.urls("/t/1", "/t/2")
    assert made.stat("pages/dropped") == 2


@on_asyncio
async def test_files_that_are_labelled_as_pages_are_no_wall(site: Site) -> None:
    """None of them says the same, as far as anybody knows."""
    paths = [f"/{' '.join(words(('file', number), 3)).replace(' ', '/')}" for number in range(100)]
    for number, path in enumerate(paths):
        site[path] = b"%PDF-1.7 " + random.Random(number).randbytes(500)
    made = await crawl(PathsSpider, urls=site.urls(*paths))
    assert made.stat("pages/unjudged_reason_count/binary") == len(made.urls) == len(paths)
    assert made.stat("walls_suspected") == 0
