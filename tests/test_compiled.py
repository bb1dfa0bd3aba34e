"""What is compiled does what its twin in Python does: an index filled with one can be read with the other."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml.html import HtmlElement

from helpers.hostile import HOSTILE
from helpers.pages import page
from helpers.soup import SIGNS, markup, soup
from scrapy_simdedup import fingerprint_page, page_markdown
from scrapy_simdedup.fingerprint import features, hashing, similarity, sketch, text_units
from scrapy_simdedup.fingerprint.hashing import MAX_NFKC_GROWTH, WordHasher, split_words, word_hasher
from scrapy_simdedup.fingerprint.worker import write_units
from scrapy_simdedup.page import block_tree, boilerplate_texts, classify, content_features, content_model, content_tree
from scrapy_simdedup.page import page as pages_room
from scrapy_simdedup.page import parse as parsing
from scrapy_simdedup.page.block_tree import BlockTree
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import Block
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import (
    AD,
    BY_SHAPE,
    COMMENT,
    COOKIE,
    DEFAULT_ROLE_WORDS,
    FORM,
    NAV,
    ROLE_WORDS,
    WIDGET,
    RoleWords,
    leads_to_no_page,
)

COMPILED = [
    *("page._raw", "page._walk", "page._classify", "page._content_model", "page._content_tree"),
    *("fingerprint._hashing", "fingerprint._features", "fingerprint._text_units", "fingerprint._comparison"),
]

try:
    from scrapy_simdedup.fingerprint import _comparison, _features, _hashing, _text_units
    from scrapy_simdedup.page import _classify, _content_model, _content_tree, _raw, _walk
except ImportError:
    was_compiled = any(find_spec(f"scrapy_simdedup.{name}") for name in COMPILED)
    if was_compiled or ("CI" in os.environ and "SCRAPY_SIMDEDUP_PURE" not in os.environ):
        raise
    pytest.skip("installed without its compiled part", allow_module_level=True)

law = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

MISLEADING = (
    *(b"<", b">", b"/", b"<p a=1 ", b"</html", b"</BODY", b"<!--", b"-->", b"-", b"<script", b"<STYLE", b"</Script"),
    *(b"=", b'"', b"'", b" ", b"\n", b"x", b"&", b"&#", b"x0", b"0", b"1", b"f", b"31", b"65535", b"FFFF", b";"),
    *(b"data:", b"image/png;base64", b",", b"A" * 30, b"A" * 199, b"\0", b"\f", b"\v", b"\x7f", b"\xc3\xa9"),
)

SECRETS = [WordHasher(b"one"), WordHasher()]


IN_USE = """
import importlib, sys
importlib.import_module(sys.argv[1])
import scrapy_simdedup
for name, module in sorted(sys.modules.items()):
    if name.startswith(("scrapy_simdedup.page.", "scrapy_simdedup.fingerprint.")) and "._" not in name:
        for twin in vars(module):
            if twin.startswith("python_") and vars(module)[twin].__module__ == name:
                function = vars(module)[twin.removeprefix("python_")]
                print(twin) if function is vars(module)[twin] else None
"""


@pytest.mark.parametrize(
    "first",
    [
        "",
        *(".page.page", ".page.classify", ".page.block_tree", ".page.content_model"),
        *(".page._classify", ".fingerprint._features", ".fingerprint._text_units", ".fingerprint._comparison"),
        *(".fingerprint.sketch", ".fingerprint.similarity"),
    ],
)
def test_it_is_in_use_whichever_module_is_imported_first(first: str) -> None:
    """Modules that import each other found their twins in Python."""
    done = subprocess.run(
        [sys.executable, "-c", IN_USE, f"scrapy_simdedup{first}"], capture_output=True, text=True, check=True
    )
    is_old = etree.LIBXML_VERSION < (2, 14)
    assert done.stdout.split() == (["python_drop_idle_attributes"] if is_old else [])


@settings(max_examples=1_000)
@given(st.lists(st.sampled_from(MISLEADING), max_size=14).map(b"".join))
@example(b"a&#</html>1; dat</body>a:,")
@example(b"<" + b"</html>" * 3 + b"/html>")
def test_it_takes_the_same_out_of_a_page(page: bytes) -> None:
    """Also where one thing to be taken out is hidden in another."""
    assert _raw.sanitise(page) == parsing.python_sanitise(page)
    assert _raw.long_tags(page, 0) == parsing.python_long_tags(page, 0)
    for mark in (b"<", b"</html", b"at</", page[len(page) // 2 :][:4] or b"<"):
        assert _raw.mentions(page, mark) == parsing.python_mentions(page, mark)


@law
@given(soup.map(lambda html: html.encode("utf-8", "replace")))
def test_it_takes_the_same_out_of_long_pages(page: bytes) -> None:
    """Tags with more attributes than a parser can bear."""
    assert _raw.sanitise(page) == parsing.python_sanitise(page)
    assert _raw.long_tags(page, 1_000) == parsing.python_long_tags(page, 1_000)


READ = {"class", "download", "id", "itemprop", "role", "shadowrootmode", "type"}
TAG_PIECES = (
    *(b"<", b">", b"/", b"=", b'"', b"'", b" ", b"\n", b"\r", b"-", b"!", b"?", b"</", b"/>", b" =", b"x='", b'y="'),
    *(b"<!--", b"-->", b"--!>", b"<!-->", b"<!", b"<?", b"<![CDATA[", b"]]>", b"<a ", b"<p class=a b =c>", b"<p id"),
    *(b"<b c='1' d=2>", b"<i CLASS=x hidden>", b"<br type=1/ e/>", b"</b f='>'>", b"class", b"id", b"b", b"\xc3\xa9"),
    *(b"<script", b"<script>", b"</script ", b"</SCRIPT>", b"<title>", b"</title>", b"<textarea ", b"</textarea"),
    *(b"<style>", b"<iframe>", b"<noscript>", b"<plaintext>", b"<xmp", b"</xmp", b"<svg><title/>", b"<body/>"),
    *(b"<a href=#b>", b"<a HREF = '#'>", b"href", b"#", b"<a href='tel:1", b".pdf", b".zip?", b"&#46;gz", b"download"),
)


def is_read(tag: str, name: str, value: str) -> bool:
    """Names of links and of bold and italic text give no role; some links lead to a place of the page, or to a file."""
    is_own = name == "href" and (value.startswith("#") or leads_to_no_page(value))
    return is_own or (name in READ and not (tag in {"a", "b", "i"} and name in {"class", "id"}))


def nodes_of(page: bytes) -> list[object]:
    """The elements that are made of a page, with their texts and the attributes that are read."""
    try:
        root = etree.fromstring(page + b"<end>", etree.HTMLParser(encoding="utf-8", huge_tree=True))
    except etree.LxmlError:
        return []
    nodes = [] if root is None else root.iter(etree.Element)
    return [
        (node.tag, node.text, node.tail, len(node), [pair for pair in node.attrib.items() if is_read(node.tag, *pair)])
        for node in nodes
    ]


@settings(max_examples=1_000)
@given(st.lists(st.sampled_from(TAG_PIECES), max_size=25).map(b"".join))
@example(b"<p class a=b =c>")
@example(b"<a class=x id=y role=z><A CLASS=x><ab id=x>")
@example(b"<script><!--<script></script><p style='</script>'>--></script><p style>")
def test_it_drops_attributes_and_nothing_else(page: bytes) -> None:
    """Also in comments and scripts, and where tags and quotations are never closed."""
    assert nodes_of(_raw.drop_idle_attributes(page)) == nodes_of(page)


def test_it_drops_the_names_of_links() -> None:
    """Most names of a page are theirs, and they give no role."""
    made = _raw.drop_idle_attributes(b"<a class=x id=y role=z href=/><b class=x><abbr class=v id=w>")
    assert made.split() == [b"<a", b"role=z", b"><b", b"><abbr", b"class=v", b"id=w>"]


@law
@given(soup.map(lambda html: _raw.sanitise(html.encode("utf-8", "replace"))[0]))
def test_it_drops_nothing_else_from_long_pages(page: bytes) -> None:
    """Thousands of levels deep."""
    assert nodes_of(_raw.drop_idle_attributes(page)) == nodes_of(page)


def walks_alike(root: HtmlElement) -> bool:
    """For the fingerprint, and with the details that the content model asks for."""
    return all(
        _walk.walk(root, DEFAULT_ROLE_WORDS, detailed) == block_tree.python_walk(root, DEFAULT_ROLE_WORDS, detailed)
        for detailed in (False, True)
    )


ROLE_NAME = st.sampled_from([word for words in ROLE_WORDS.values() for word in words.split()])
NAME_PIECES = ROLE_NAME | st.sampled_from(
    [*" -_:3AXéß", "has", "views", "view", "block", "node", "promoted", "elementor", "widget", "b", "xyz", "x" * 1990]
)
NAMES = st.lists(NAME_PIECES | ROLE_NAME.map(str.title) | ROLE_NAME.map(str.upper), max_size=8).map("".join)


@settings(max_examples=2_000)
@given(NAMES, NAMES)
@example("elementor-widgetfooter", "x" * 1994 + "footernote")
def test_names_give_the_same_roles(classes: str, identity: str) -> None:
    """Whether they are passed over without a look-up or not."""
    root = etree.fromstring("<html><body><p>One</p></body></html>", etree.HTMLParser())
    root[0][0].attrib.update({"class": classes, "id": identity})
    assert walks_alike(root)


def classifies_alike(root: HtmlElement) -> bool:
    """By roles, and by what the trees around the blocks hold."""
    tree = block_tree.build_block_tree(root, DEFAULT_ROLE_WORDS)
    boxes, lengths = tree.boxes, [len(text) for text in tree.texts]
    marked = [roles > 0 for roles in tree.box_roles]
    return (
        _classify.classify_by_roles(tree) == classify.python_classify_by_roles(tree)
        and _classify.subtree_totals(tree.box_parents, boxes, lengths)
        == block_tree.python_subtree_totals(tree.box_parents, boxes, lengths)
        and _classify.mark_ancestors(tree.box_parents, boxes[::3])
        == block_tree.python_mark_ancestors(tree.box_parents, boxes[::3])
        and _classify.mark_descendants(tree.box_parents, marked)
        == block_tree.python_mark_descendants(tree.box_parents, marked)
    )


NAMED = RoleWords({NAV: ("content",), FORM: ("comment",)})
PROSE = "<p>The tide rises and falls twice a day, as the moon draws the water of the sea after it.</p>" * 3
CELLS = "".join(f"<td><a href=/>{text}</a>" for text in ("2:1", "9 EUR", "7", "Ashford", "Dover"))
FIELDS = "".join(
    f"<tr>{label}<td><a href=/>Ann Miller</a><td><a href=/>Dover</a>"
    for label in (
        "<th>By",
        "<th><a href=/>By</a>",
        "<td>By:",
        "<td>作者：",
        "<td>By",
        "<td><a href=/>By:</a>",
        "<p>By:<td>",
    )
)
TERMS = "<dl><dt>By<dd><a href=/>Ann</a><dd><a href=/>Ben</a><dt><a href=/>In</a><dd><a href=/>Dover</a></dl>"
COOKIES = "<p>Cookies! We use a cookie.</p>"


def values_alike(root: HtmlElement, words: RoleWords) -> bool:
    """The blocks, and what the boxes around them contradict or make insets."""
    tree = block_tree.build_block_tree(root, words)
    classes, roles = classify.classify_blocks(tree)
    _, of_names = classify.classify_by_roles(tree)
    insets = _classify.find_insets(tree, classes, roles)
    same = pages_room.python_make_blocks(Block, tree, classes, roles, insets)
    return (
        insets == pages_room.python_find_insets(tree, classes, roles)
        and _classify.make_blocks(Block, tree, classes, roles, insets) == same
        and _classify.unlinked_navigation(tree, of_names) == classify.python_unlinked_navigation(tree, of_names)
        and _classify.find_consent_notices(tree, of_names)
        == boilerplate_texts.python_find_consent_notices(tree, of_names)
    )


@law
@given(markup, st.sampled_from([DEFAULT_ROLE_WORDS, NAMED]))
@example(f"<main>{PROSE}<aside>A note.</aside><aside><form>$ 5</form><form>{PROSE}</form></aside></main>", NAMED)
@example(f"<div>{PROSE}<aside><p>£5</aside><div class=sidebar>A note.</div></div><form>9 kr</form>", NAMED)
@example(f"<div class=menu>{PROSE}<a href=/>Dish</a><div>\u0663 \u20ac</div></div><nav>{PROSE}</nav>", NAMED)
@example(f"<div class='menu content'>{PROSE}<p>1</div>{PROSE * 3}", NAMED)
@example(f"<div>{COOKIES}<p>Yes</div><main><h1>Tides</h1>{PROSE * 3}</main><div><b>{COOKIES}</b></div>", NAMED)
@example(f"<div>{COOKIES}</div>{PROSE * 3}<div><div>{COOKIES}</div>{COOKIES}</div>{PROSE * 3}", NAMED)
@example(f"<div><h1>A</h1>{COOKIES}</div>{PROSE * 3}<div class=footer>{COOKIES}</div>", NAMED)
@example(f"<main>{PROSE * 3}<table><tr>{CELLS}<td><div>{CELLS}</table></main><table><tr>{CELLS}</table>", NAMED)
@example(f"<main>{PROSE * 3}<table>{FIELDS}</table>{TERMS}</main><table>{FIELDS}</table>{TERMS}", NAMED)
def test_it_makes_the_same_blocks(html: str, words: RoleWords) -> None:
    """Also where a box is not what its name says, and where a setting named it."""
    root = parse(html, with_html_methods=False).root
    if root is not None:
        assert values_alike(root, words)


@law
@given(
    st.lists(
        st.lists(st.sampled_from((*boilerplate_texts.COOKIE_WORDS, *"cCoOkк ッו키", "rookie ")), max_size=9).map(
            "".join
        )
    )
)
def test_it_counts_the_same_mentions_of_cookies(texts: list[str]) -> None:
    """In any language, and in words that hold another."""
    assert _classify.count_mentions(texts) == boilerplate_texts.python_count_mentions(texts)


@law
@given(markup)
@example(
    "<p hidden>a<a><img></a></p><div aria-hidden=true style='display: none' class='x \xe9'>b<td itemprop='a text'>c"
)
@example("<p>a<svg><g><text>drawn</text></g></svg>b <a href=/>c\xa0</a></p><nav id=footer>\u3000d</nav>")
@example("<a href='#'>a</a><a href=#b>c</a><a href=#d> 1 2\x0b</a><a href='#&#32;'>3<b>e</b></a><a href='' >f</a>")
@example("<a href=#g>\t<i>4</i></a><a href=#h>\xa05</a><a href='#i'>\u0663</a><a href=#j><!--k-->6</a>")
@example("<template shadowrootmode=open class='sidebar section' id=menu><a>\xa0x</a></template>\x85<p role=banner>y")
def test_it_walks_over_a_page_the_same_way(html: str) -> None:
    """Text by text, and role by role."""
    root = parse(html, with_html_methods=False).root
    if root is not None:
        assert walks_alike(root)
        assert classifies_alike(root)


@pytest.mark.parametrize(
    "xml",
    [
        "<html><body>a<!-- b -->c<p>d<?e f?>g</p>h<![CDATA[ i ]]>j &#160;<a> k<b>l</b> </a></body></html>",
        "<html xmlns:s='urn:s'><s:p>a</s:p><p s:class='nav' class='nav'>b</p><x s:role='main'>c</x></html>",
        "<html>" + "<div>a" * 250 + "</div>" * 250 + "</html>",
        "<html/>",
    ],
)
def test_it_walks_the_same_way_over_trees_of_any_origin(xml: str) -> None:
    """With comments and instructions between the texts, names of another vocabulary, and nothing at all."""
    root = etree.fromstring(xml)
    assert walks_alike(root)
    assert classifies_alike(root)


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_it_finds_the_same_in_hostile_pages(name: str) -> None:
    html = HOSTILE[name].page(0)
    page = html.encode("utf-8", "replace")
    assert _raw.sanitise(page) == parsing.python_sanitise(page)
    assert _raw.long_tags(page, 1_000) == parsing.python_long_tags(page, 1_000)
    root = parse(html, with_html_methods=False).root
    if root is not None:
        assert walks_alike(root)
        assert classifies_alike(root)
        tree = block_tree.build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        assert not tree.texts or model_computes_alike(tree)
        assert keeps_alike(root, [number % 5 > 0 for number in range(len(tree.texts))])


def model_computes_alike(tree: BlockTree) -> bool:
    """Features, what is asked of them, the sums of the leaves, the features of the second round, and the choice."""
    one, other = _content_model.counted_features(tree), content_features.python_counted_features(tree)
    model = content_model.content_model()
    values = np.ascontiguousarray(other.matrix(model.first.names).T)
    trees = (values, model.first.columns, model.first.borders, model.first.leaves)
    sums = content_model.python_sum_leaves(*trees)
    said = content_model.probability(sums)
    around, same_around = _content_model.what_was_said(said, one), content_model.python_what_was_said(said, other)
    lengths = [len(text) for text in tree.texts]
    rows = content_features.rows_of(model.second.names, other)
    gathered, same_gathered = np.zeros((2, len(rows), len(tree.texts)), np.float32)
    numbers = (rows, other.blocks, other.boxes, other.page, other.places)
    _content_model.gather(gathered, *numbers)
    content_features.python_gather(same_gathered, *numbers)
    return (
        all(np.array_equal(*both) for both in zip(one, other, strict=True))
        and np.array_equal(_content_model.sum_leaves(*trees), sums)
        and np.array_equal(around, same_around)
        and np.array_equal(
            _content_model.choose_blocks(said, lengths), content_model.python_choose_blocks(said, lengths)
        )
        and np.array_equal(gathered, same_gathered)
    )


@law
@given(markup)
@example("<title>ǅ İs ß? Straße x_1 x</title><h1>STRASSE x_1</h1><p>İs a ΑΣ ß</p><p>x x x</p><p>\u0130\u0307s</p>")
@example("<p>1 a</p><p>٣ 2 a</p><p>22 ٣٣ a</p><p>19٣٣</p><p>2019</p><p>1:30</p><p>12345</p><p>$ 5</p><p>5 ₽</p><p>₹٣1")
@example("<p>© 2026</p><p>東京。</p><p>é!</p><p>»</p><p>\xaa</p><h2>b</h2><div hidden><p itemprop=text>a</p></div>" * 9)
def test_it_computes_the_same_content_model(html: str) -> None:
    """To the last bit, in any script."""
    root = parse(html, with_html_methods=False).root
    if root is not None:
        tree = block_tree.build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        assert not tree.texts or model_computes_alike(tree)


def test_it_computes_nothing_of_a_tree_without_details() -> None:
    """It looks at no list again while it reads them."""
    root = parse("<p>a</p>").root
    assert root is not None
    with pytest.raises(ValueError, match="detailed"):
        _content_model.counted_features(block_tree.build_block_tree(root, DEFAULT_ROLE_WORDS))


def shape(node: object) -> object:
    """A content tree as tuples."""
    if not isinstance(node, content_tree.ContentNode):
        return node
    return node.tag, node.element, node.holds_block, [shape(child) for child in node.children]


def keeps_alike(root: HtmlElement, chosen: list[bool]) -> bool:
    made = _content_tree.build_content_tree(root, chosen)
    return shape(made) == shape(content_tree.python_build_content_tree(root, chosen))


@law
@given(markup, st.data())
@example(
    "<p>a<img><hr><input type=CheckBox>b</p><hr><img>\xa0<table><tr><td><td>c</table><pre> \n<br>d</pre><br>e", None
)
def test_it_keeps_the_same_of_a_page(html: str, data: st.DataObject | None) -> None:
    """Whatever blocks are chosen."""
    root = parse(html, with_html_methods=False).root
    if root is not None:
        count = len(block_tree.build_block_tree(root, DEFAULT_ROLE_WORDS).texts)
        few = st.lists(st.booleans(), min_size=count, max_size=count)
        some = [data.draw(few)] if data else [[n % 3 == k for n in range(count)] for k in range(3)]
        assert all(keeps_alike(root, chosen) for chosen in ([True] * count, [False] * count, *some))


_places = st.sampled_from(
    ["a href=#b", "a href='#'", "a href=#é name=b", "a id='' name=é", "p id=b", "li id=é", "b", "svg"]
)


@given(st.lists(_places, max_size=9), st.integers(0, content_tree.MAX_INSIDE + 3))
@example(["a href=#b", "p", "a href=#é", "p id=b", "li id=b", "a name=é"], content_tree.MAX_INSIDE)
def test_it_finds_the_same_links_inside_of_a_page(tags: list[str], inside: int) -> None:
    html = "".join(f"<{tag}>text{'' if number % 3 else '</' + tag.split()[0] + '>'}" for number, tag in enumerate(tags))
    root = parse(f"<!DOCTYPE html><body>{html}{'<i></i>' * inside}", with_html_methods=False).root
    assert root is None or _content_tree.inner_links(root) == content_tree.python_inner_links(root)


_words = st.one_of(st.text(max_size=30), st.text(SIGNS, max_size=9), st.text("ab+#\u0301\xb2\x1eé東", max_size=90))


@law
@given(st.lists(_words), st.sampled_from(SECRETS))
@example(["\xbd" * (MAX_NFKC_GROWTH + more) for more in (-1, 0, 1)] * 2, SECRETS[0])
@example(["\xbd", "\xbd" * MAX_NFKC_GROWTH], SECRETS[0])
@example(["ab" * 9_000, *["\ufdfa" * 60] * 20, "a\ufdfa"], SECRETS[0])
@example(["\ufdfa" * 200, "a\ufdfa"], SECRETS[0])
@example(["e\u0301+\u3099l"], SECRETS[0])
@example(["हिन्दी में ́ é ﷺ", "한국어 한"] * 200, SECRETS[0])
def test_it_finds_the_same_words(texts: list[str], hashes: WordHasher) -> None:
    """In any script, in any normal form, and however long."""
    words, counts = _hashing.hash_words(texts, hashes.keys, hashes.digest)
    same_words, same_counts = hashing.hash_words(texts, hashes.keys, hashes.digest)
    assert words.tolist() == same_words.tolist()
    assert counts.tolist() == same_counts.tolist()
    assert [*map(_hashing.split_words, texts)] == [*map(split_words, texts)]
    assert [*map(_content_tree.single_spaced, texts)] == [*map(content_tree.python_single_spaced, texts)]


@given(st.lists(st.integers(0, 7)), st.integers(1, 6))
def test_it_joins_words_to_the_same_shingles(counts: list[int], size: int) -> None:
    """In texts shorter than one shingle, too."""
    words = hashing.fmix64(np.arange(sum(counts), dtype=np.uint64))
    made = _hashing.hash_shingles(words, np.array(counts, np.intp), size)
    expected = hashing.hash_shingles(words, np.array(counts, np.intp), size)
    assert [part.tolist() for part in made] == [part.tolist() for part in expected]


_classes = st.sampled_from(list(BlockClass))
_hashes = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 40).map(lambda bits: bits << 40))
_features_of_a_page = st.dictionaries(_hashes, _classes, max_size=900).map(
    lambda found: (np.array(sorted(found), np.uint64), np.array([found[key] for key in sorted(found)], np.uint8))
)
_texts = st.one_of(
    st.lists(st.sampled_from("a b c d 12 4,50 € # \0 é 東 ٣".split(" ")), max_size=40).map(" ".join),
    st.text(max_size=120),
)
_blocks = st.lists(
    st.builds(
        Block,
        _texts,
        _classes,
        st.sampled_from([0, NAV, AD, COOKIE, WIDGET, COMMENT, AD | BY_SHAPE]),
        st.booleans(),
        st.booleans(),
        st.integers(0, 3).map(lambda number: number * 0x55555555),
        st.booleans(),
    ),
    max_size=30,
)


@law
@given(_features_of_a_page)
@example((np.arange(600, dtype=np.uint64) << np.uint64(50), np.full(600, BlockClass.BOILERPLATE, np.uint8)))
def test_it_makes_the_same_digests_of_features(found: tuple[np.ndarray, np.ndarray]) -> None:
    """Also where more than a byte can count have one bit."""
    assert _features.majority_bits(*found) == features.python_majority_bits(*found)
    assert _features.sketch(*found) == sketch.python_sketch(*found)
    assert _features.odd_sketch(found[0], 512) == sketch.python_odd_sketch(found[0], 512)
    row = found[0][:9].tobytes() + sketch.python_sketch(*found)
    packed, marks = sketch.python_pack_row(row), len(row) - sketch.BINS // 2
    assert _features.pack_row(row) == packed
    assert _features.unpack_row(packed, marks) == sketch.python_unpack_row(packed, marks) == row


@law
@given(_blocks, st.integers(1, 4), st.integers(1, 300))
def test_it_finds_the_same_features_signatures_and_text_units(blocks: list[Block], size: int, repeats: int) -> None:
    """In short pages and in long ones, where neighbours share a row."""
    blocks = [block._replace(text=f"{block.text} {number}" * number) for number in {1, repeats} for block in blocks]
    found = features.find_shingles(blocks, word_hasher(), size)
    for made, expected in (
        (_features.distinct_features(found, blocks), features.python_distinct_features(found, blocks)),
        (_features.find_block_signatures(found, blocks), features.python_find_block_signatures(found, blocks)),
    ):
        assert [part.tolist() for part in made] == [part.tolist() for part in expected]
    assert _features.numbers_of(blocks) == features.python_numbers_of(blocks)
    units, same = (make(found, blocks, size) for make in (_text_units.page_units, text_units.python_page_units))
    assert write_units(units) == write_units(same)
    assert units.samples == same.samples
    for clocks in ((), same.places[::3].tolist()):
        assert _text_units.keep_units(units, clocks) == text_units.python_keep_units(same, clocks)
    units, same = units._replace(is_unlisted=True), same._replace(is_unlisted=True)
    assert _text_units.keep_units(units) == text_units.python_keep_units(same)


def compared_rows(seed: int, count: int) -> np.ndarray:
    """Rows of pages of which each two share about a half, such as their titles, or their h1s and most of their text."""
    random = np.random.default_rng(seed)
    row = similarity.COMPARISON_DTYPE
    first = np.zeros(1, row)
    first["signatures"], first["headings"] = random.choice([0, 3, 40, 1_024, 1_025, 60_000]), random.integers(0, 9)
    first["odd_signatures"] = random.integers(0, 2**64, 8, np.uint64)
    first["cells"] = random.integers(0, 256, sketch.BINS // 2, np.uint8)
    made = np.repeat(first, count)
    for name in ("title", "numbers", "h1", "identity", "data", "exact"):
        made[name] = random.choice([0, 5, 6], count, p=[0.3, 0.5, 0.2])
    for one in made:
        one["signatures"] += random.integers(0, 9)
        one["headings"] += random.integers(0, 4)
        one["odd_headings"] ^= np.uint64((1 << int(random.integers(0, 64))) - 1)
        for place in random.integers(0, 512, random.integers(0, 60)).tolist():
            one["odd_signatures"][place // 64] ^= np.uint64(1 << place % 64)
        others = random.integers(0, sketch.BINS // 2, random.integers(0, 200))
        one["cells"][others] = random.integers(0, 256, len(others), np.uint8)
    return made


@law
@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 30), st.integers(1, 9))
def test_it_gives_the_same_scores_and_resemblances(seed: int, count: int, sampled: int, least: int) -> None:
    """Of pages that may be copies, to the last bit: a verdict may hang on it."""
    one, many = compared_rows(seed, 1 + count)[0], compared_rows(seed, 1 + count)[1:]
    cells, sample = (one["cells"], many["cells"]), compared_rows(seed, 1 + count + sampled)["cells"][1 + count :]
    pairs = [
        (_comparison.score(one, many), similarity.python_score(one, many)),
        (_comparison.score(one, many, found := np.linspace(0, 1, count)), similarity.python_score(one, many, found)),
        (_comparison.estimate_resemblance(*cells), sketch.estimate_resemblance(*cells)),
        (
            _comparison.estimate_own_resemblance(*cells, sample, least),
            sketch.estimate_own_resemblance(*cells, sample, least),
        ),
    ]
    for made, expected in pairs:
        assert type(made) is type(expected)
        assert [part.tolist() for part in made] == [part.tolist() for part in expected]


def test_the_package_works_without_it() -> None:
    """As where nobody could compile it: the same fingerprints, to the last bit, and the same Markdown."""
    html = page("tides", "sidebar")
    script = f"""
import sys
for name in {COMPILED}:
    sys.modules["scrapy_simdedup." + name] = None
from scrapy_simdedup import fingerprint_page, page_markdown
print(bytes(fingerprint_page({html!r})).hex() + page_markdown({html!r}).encode().hex())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == bytes(fingerprint_page(html)).hex() + page_markdown(html).encode().hex()
