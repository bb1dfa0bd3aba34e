"""Pages of six kinds, as sites write them, and what the guide shows of each.

``python tests/helpers/page_kinds.py`` writes the guide anew.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

from scrapy_simdedup import page_content
from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.content_features import PLACES, block_features
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import BODY_PROPERTIES, DEFAULT_ROLE_WORDS, ROLE_WORDS, TAG_FLAGS

GOLDEN = Path(__file__).resolve().parents[1] / "fingerprint" / "golden.json"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "content.md"
URL = "https://site.example/a/page"

_FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} | The Lantern</title>
<meta property="og:site_name" content="The Lantern">{head}</head>
<body>
<header class="site-header"><a href="/"><img src="/logo.svg" alt="The Lantern"></a>
<nav class="main-menu"><ul><li><a href="/news">News</a></li><li><a href="/shop">Shop</a></li><li><a
href="/board">Board</a></li>
<li><a href="/manual">Manual</a></li><li><a href="/about">About us</a></li></ul></nav></header>
<main>{main}</main>
<aside class="sidebar"><h3>Most read</h3><ul><li><a href="/1">How a wick is trimmed</a></li>
<li><a href="/2">Ten lamps for the harbour</a></li><li><a href="/3">A night with the keeper</a></li></ul></aside>
<footer class="site-footer"><p>Copyright The Lantern. All rights reserved.</p>
<ul><li><a href="/imprint">Imprint</a></li><li><a href="/privacy">Privacy</a></li><li><a
href="/contact">Contact</a></li></ul></footer>
</body></html>"""

_HARBOUR = """<article><h1>The harbour lamp burns again</h1>
<p class="byline">By Ada Obst, <time datetime="2026-11-22">22 November 2026</time></p>
<figure><img src="/lamp.jpg" alt="The lamp at dusk"><figcaption>The lamp on the mole, lit for the first time in nine
years.</figcaption></figure>
<p>The lamp on the north mole was lit on Saturday, for the first time since the storm that broke its glass. Some four
hundred people
came to see it, and the pilot boat sounded its horn.</p>
<p>The glass is the work of a <a href="/people/lund">workshop in the old ropery</a>, which cast each of the
<strong>forty-two prisms</strong> by hand. It took them two winters, and the third of the moulds had to be made
twice.</p>
<h2>What it cost</h2>
<p>The port paid for the tower and for the electrics. The glass was paid for by people of the town, most of whom gave
less than
twenty pounds.</p>
<blockquote><p>Nobody here wanted a light that could be any light.</p></blockquote>
<p>The lamp will be lit each night from now on, and on the first Sunday of the month the tower is open to
visitors.</p></article>
<section class="related-articles"><h3>You may also like</h3><ul><li><a href="/4">Fog over the estuary</a></li>
<li><a href="/5">A new boat for the pilots</a></li></ul></section>"""

_THREAD = """<h1>Which oil for a hand lantern?</h1>
<div class="posts">
<div class="post" id="p1"><div class="post-author"><a href="/u/mira">mira</a></div><div class="post-body">
<p>I was given an old hand lantern, and I do not know what it was made for. Can I burn rapeseed oil in it, or will
that clog
the wick? It has a flat wick of about two centimetres.</p></div></div>
<div class="post" id="p2"><div class="post-author"><a href="/u/tom">tom_h</a></div><div class="post-body">
<blockquote><p>Can I burn rapeseed oil in it</p></blockquote>
<p>Not with a flat wick. Rapeseed oil is too thick to climb more than a few centimetres, so the flame starves.
Lanterns with a flat
wick were made for paraffin, and you can tell by the tank below the burner.</p></div></div>
<div class="post" id="p3"><div class="post-author"><a href="/u/mira">mira</a></div><div class="post-body">
<p>That was it, thank you. With paraffin it burns for six hours, and it does not smoke as long as I keep the wick
trimmed straight.</p>
</div></div></div>"""

_PRODUCT = """<div class="product"><h1>Hand lantern, brass</h1>
<img src="/img/lantern.jpg" alt="Brass lantern with a handle">
<p class="price">48.00 EUR</p>
<div class="description"><p>A lantern for the hand or the hook, made of brass that is not lacquered and darkens with
the years. The tank holds a
third of a litre, which is enough for a long evening.</p>
<ul><li>burns paraffin or lamp oil</li><li>flat wick of 22 mm, two of them included</li><li>glass can be replaced
without
tools</li></ul></div>
<h2>Details</h2>
<table><tr><th>Height</th><td>31 cm</td></tr><tr><th>Weight</th><td>1.2 kg</td></tr><tr><th>Burns for</th><td>9
hours</td></tr></table></div>
<div class="cross-sell"><h3>Others also bought</h3><a href="/p/7">Spare glass</a> <a href="/p/8">Lamp oil, 1
litre</a></div>"""

_LISTING = """<h1>Walks after dark</h1>
<p>Guided walks along the coast, from dusk on. All of them begin at the harbour office, and lanterns are lent
there.</p>
<ul class="results">
<li><h2><a href="/walks/mole">To the end of the mole</a></h2><p>An easy hour on level ground, with the lamp at the end
of it. Children can come.</p></li>
<li><h2><a href="/walks/cliffs">Along the cliffs</a></h2><p>Three hours with two steep steps, for people who are sure
of their feet. Not in
strong wind.</p></li>
<li><h2><a href="/walks/marsh">Through the marsh</a></h2><p>Two hours on planks, in spring with nightingales. Wear
boots, and bring something
against midges.</p></li></ul>
<div class="pagination"><a href="?page=1">1</a> <a href="?page=2">2</a> <a href="?page=3">3</a></div>"""

_MANUAL = """<article><h1>Reading the light sensor<a class="headerlink" href="#reading">¶</a></h1>
<p>The sensor answers with two bytes, the higher one first. Call <code>read()</code> not more than ten times a second:
in between it gives
the value from before.</p>
<div class="highlight-python"><div class="highlight"><pre><span class="kn">from</span> lantern <span
class="kn">import</span> Sensor

sensor = Sensor(port=<span class="mi">3</span>)
<span class="k">if</span> sensor.read() &lt; 40:
    print(<span class="s">"dusk"</span>)
</pre></div></div>
<h2>When nothing comes back</h2>
<ol><li>Check that the cable is in the port that you named.</li><li>Run <kbd>lantern ports</kbd>, which lists what
answers:<pre>port 3  light sensor
port 4  -</pre></li><li>If the port is missing there, see <a href="../wiring">Wiring</a>.</li></ol></article>"""

_TABLE = """<h1>Tides at the harbour</h1>
<p>Times are those of the harbour office, heights are in metres above chart datum. They are computed, and wind can
change both.</p>
<table><caption>Week 48</caption><thead><tr><th>Day</th><th>High water</th><th>Height</th><th>Low
water</th></tr></thead><tbody>
<tr><td>Monday</td><td>04:12<br>16:37</td><td>5.1</td><td>10:24</td></tr><tr><td>Tuesday</td><td>05:01<br>17:25</td><td>5.4</td><td>11:13</td></tr>
<tr><td>Wednesday</td><td>05:47<br>18:10</td><td>5.6</td><td>11:59</td></tr></tbody></table>
<p>On Wednesday evening the water reaches the foot of the mole, and the path to the lamp is closed for an hour before
and after.</p>"""

KINDS = {
    "An article": ("The harbour lamp burns again", '<meta name="author" content="Ada Obst">', _HARBOUR),
    "A thread of a forum": ("Which oil for a hand lantern?", "", _THREAD),
    "A product": ("Hand lantern, brass", "", _PRODUCT),
    "A listing": ("Walks after dark", "", _LISTING),
    "Documentation with code": ("Reading the light sensor", "", _MANUAL),
    "A table": ("Tides at the harbour", "", _TABLE),
}
"""The title, what is in the head, and the main part of a page of each kind."""

_SHOWN = re.compile(
    r"^### (?P<kind>.+)\n(?P<between>(?:\n|[^#`\n].*\n)*)`{4,}text\n(?P<shown>(?:.*\n)*?)`{4,}$", re.MULTILINE
)


def kind_of_page(kind: str) -> str:
    """The HTML of a page of a kind, with the site around it."""
    title, head, main = KINDS[kind]
    return _FRAME.format(title=title, head=head, main=main)


def reader_digest() -> str:
    """What the reader says of these pages and of the golden ones, and the names it knows.

    The content model is trained on both, and its file says with which.
    """
    digest = sha256(repr((ROLE_WORDS, sorted(TAG_FLAGS.items()), sorted(BODY_PROPERTIES))).encode())
    golden = [case["html"] for case in json.loads(GOLDEN.read_text("utf-8")).values()]
    for html in (*map(kind_of_page, KINDS), *golden):
        root = parse(html, with_html_methods=False).root
        tree = None if root is None else build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        if tree is None or not tree.texts:
            continue
        features = block_features(tree)
        asked = (
            *(f"block.{name}" for name in features.block_names),
            *(f"page.{name}" for name in features.page_names),
            *(f"{place}.{name}" for place in PLACES for name in features.box_names),
        )
        digest.update("\n".join((*asked, *tree.texts)).encode())
        digest.update(features.matrix(asked).tobytes())
    return digest.hexdigest()


def shown_in_guide() -> dict[str, str]:
    """The Markdown of each kind that the guide shows."""
    return {found["kind"]: found["shown"] for found in _SHOWN.finditer(GUIDE.read_text(encoding="utf-8"))}


def write_guide() -> None:
    """Write what comes out now into the guide."""

    def renewed(found: re.Match[str]) -> str:
        made = page_content(kind_of_page(found["kind"]), url=URL).markdown
        return f"### {found['kind']}\n{found['between']}````text\n{made}\n````"

    GUIDE.write_text(_SHOWN.sub(renewed, GUIDE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_guide()
