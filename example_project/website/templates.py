"""The HTML of a page: three layouts as different kinds of sites use them, and a print and an AMP view."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from website.addresses import labelled_addresses, some_address
from website.pages import all_pages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from website.noise import Noise
    from website.pages import Page

    Layout: TypeAlias = Callable[[Page, Noise, list[tuple[str, str]]], str]


def render(page: Page, view: str, noise: Noise, links: Iterable[tuple[str, str]] = ()) -> str:
    """The whole document.

    Args:
        page: What it is about.
        view: "print", "amp", or anything else for the page's usual layout.
        noise: What surrounds it in this response.
        links: More links, as label and address.
    """
    layout = layout_of(page, view)
    title = "Harbour Street Stores" if layout is filled_by_script else page.title
    return (
        f'<!DOCTYPE html>\n<html lang="{page.language}">\n<head><meta charset="utf-8">'
        f'<title>{escape(title)}</title><meta name="csrf-token" content="{noise.token}">'
        f"<script>var visit = {{made: '{noise.stamp}', token: '{noise.token}'}};</script></head>\n"
        + layout(page, noise, [*own_links(page), *links])
        + "\n</html>\n"
    )


# ------------------------------------------------------------------ the layouts


def layout_of(page: Page, view: str) -> Layout:
    if page.kind == "workshop":
        return filled_by_script
    if view == "amp" and page.kind == "recipe":
        return unmarked
    return {"print": printed, "amp": amp}.get(view) or LAYOUTS[crc32(page.id.encode()) % len(LAYOUTS)]


def semantic(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """HTML5 elements say what is what."""
    return f"""<body>
<header><nav>{anchors(noise.menu)}</nav><form action="/search"><input name="q"></form></header>
<main><article {marks(page)}>
<header><h1>{escape(page.title)}</h1></header>
{content(page, "p")}
</article></main>
<nav>{anchors(links)}</nav>
<section class="comments">{comments(noise, "p")}</section>
<aside>{related(page, noise)}{"".join(f"<p>{ad}</p>" for ad in ads(noise))}</aside>
<footer><p>Harbour Street Stores. This page was made at {noise.stamp}.</p></footer>
</body>"""


def named(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """Only classes say what is what."""
    above, below = ads(noise)
    return f"""<body class="skin-harbour">
<div class="site-header"><div class="main-menu">{anchors(noise.menu)}</div></div>
<div class="ad-slot wide">{above}</div>
<div class="content"><div class="post" {marks(page)}>
<h1 class="post-title">{escape(page.title)}</h1>
<div class="post-meta">Seen {int(noise.token[:3], 16)} times, last at {noise.stamp}</div>
{content(page, "p")}
</div></div>
<div class="share-bar">{anchors(links)}</div>
<div class="comment-list">{comments(noise, "div")}</div>
<div class="sidebar">{related(page, noise)}<div class="ad-slot">{below}</div></div>
<div class="site-footer">Harbour Street Stores</div>
</body>"""


def soup(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """Nested boxes, some with a name, as old systems make them."""
    return f"""<body><div id="w"><div><div><table id="topnav"><tr><td>{anchors(noise.menu)}</td></tr></table></div>
<div><div {marks(page)}><h1>{escape(page.title)}</h1>
{content(page, "div")}
</div></div>
<div><ul class="pager">{"".join(f"<li>{anchors([link])}</li>" for link in links)}</ul></div>
<div id="ad_{noise.token[:4]}">{ads(noise)[0]}</div>
<div id="related-items">{related(page, noise)}</div></div>
<div><font size="1">{noise.stamp[-8:]}</font></div></div></body>"""


def printed(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """For paper: no menu, no ads."""
    return f"""<body onload="print()"><div {marks(page)}><h1>{escape(page.title)}</h1>
{content(page, "p")}</div>
<div class="footer">Printed at {noise.stamp}. {anchors(links)}</div></body>"""


def amp(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """For small screens, after the fashion of AMP."""
    return f"""<body><header class="amp-header">{anchors(noise.menu[:2])}</header>
<article {marks(page)}><h1>{escape(page.title)}</h1>{content(page, "p")}</article>
<amp-ad type="box" class="ad">{ads(noise)[0]}</amp-ad>
<footer>{anchors(links)}</footer></body>"""


def unmarked(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """For small screens as well, by a template that forgot the marks."""
    return amp(page, noise, links).replace(marks(page), "")


def filled_by_script(page: Page, noise: Noise, links: list[tuple[str, str]]) -> str:
    """All pages look the same until a script has run; what they say is in the script's data."""
    data = {
        "props": {"page": {"id": page.id, "kind": page.kind, "title": page.title, "text": page.texts}},
        "buildId": noise.token,
        "generated": noise.stamp,
    }
    return f"""<body><header><nav>{anchors(noise.menu)}</nav></header>
<div id="root"><noscript>Please enable JavaScript to see our evenings.</noscript></div>
<div class="box"><p>Evenings in the workshop begin at seven and end when the kettle is empty. Places are booked at the
counter, by telephone, or by a card in the letter box. Whoever cannot come sends somebody else.</p></div>
<footer>{anchors(links)}<p>Harbour Street Stores, on the corner, behind the third bollard.</p></footer>
<script id="__NEXT_DATA__" type="application/json">{json.dumps(data)}</script></body>"""


LAYOUTS = (semantic, named, soup)


# ------------------------------------------------------------------ their parts


def marks(page: Page) -> str:
    """The attributes by which the spider knows a page of its own kind; pages that are no content have none."""
    return f'data-id="{page.id}" data-kind="{page.kind}"' if page.id else ""


def content(page: Page, tag: str) -> str:
    if page.entries:
        entries = [all_pages()[entry] for entry in page.entries]
        return "\n".join(
            f'<h2>{anchors([(entry.title, some_address(entry, page))])}</h2><{tag} class="text">{escape(text)}</{tag}>'
            for entry, text in zip(entries, page.texts, strict=True)
        )
    return "\n".join(f'<{tag} class="text">{escape(text)}</{tag}>' for text in page.texts)


def own_links(page: Page) -> list[tuple[str, str]]:
    """The ways to the other addresses of the page, and to the tags it has."""
    aliases = labelled_addresses(page).items() if page.id else ()
    tags = [(f"#{tag}", f"/en/tags/{tag}") for tag in page.tags if page.language == "en"]
    return [*aliases, *tags]


def comments(noise: Noise, tag: str) -> str:
    return "".join(f"<{tag}><b>{escape(name)}</b> {escape(text)}</{tag}>" for name, text in noise.comments)


def related(page: Page, noise: Noise) -> str:
    pages = [(other.title, some_address(other, page)) for other in noise.related]
    return f"<ul>{''.join(f'<li>{anchors([link])}</li>' for link in pages)}</ul>"


def ads(noise: Noise) -> list[str]:
    return [anchors([(text, f"https://ads.example/{noise.token}")]) for text in noise.ads]


def anchors(links: Iterable[tuple[str, str]]) -> str:
    return " ".join(f'<a href="{escape(address)}">{escape(label)}</a>' for label, address in links)
