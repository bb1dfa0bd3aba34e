"""Footnotes come with the text that points to them, whatever the software calls them."""

from __future__ import annotations

import pytest

from scrapy_simdedup.page.block_tree import build_block_tree
from scrapy_simdedup.page.content import MAX_NOTE_LENGTH, notes_of
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS

LIST = """<p>The bridge was opened in May<sup id="r1"><a href="#n1">1</a></sup>.</p><p>It has two lanes.</p>
<svg><g><path/></g></svg><select><option>a</option></select><ul><li>Menu</li></ul>
<ol><li id="n1"><p>By the mayor. <a href="#r1">back</a></p></li>
<li id="n2"><p>Of nothing. <a href="#r2">back</a></p></li></ol>"""
ASIDE = """<p>The bridge was opened in May<a id="r1" href="#n1">1</a>.</p><p>It has two lanes.</p><p>Menu</p>
<aside id="n1"><span><a href="#r1">1</a></span><p>By the mayor.</p></aside><p>Imprint</p>"""
NAMED = """<p>The bridge was opened in May<a name="r1" href="#n1">1</a>.</p><p>It has two lanes.</p><p>Menu</p>
<p><a name="n1" href="#r1">1</a> By the mayor.</p><p>Imprint</p>"""
ONE_WAY = LIST.replace('href="#r1"', 'href="#top"')
ABOVE = '<p id="n1">By the mayor. <a href="#r1">down</a></p><p id="r1">It was opened<a href="#n1">1</a>.</p>'
LONG = "word " * MAX_NOTE_LENGTH
A_PART = f'<p id="r1">See <a href="#n1">below</a>.</p><div id="n1"><p>{LONG}<a href="#r1">up</a></p></div>'
NOWHERE = '<p id="r1">See <a href="#n1">below</a> and <a href="#n2">there</a>.</p>'


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param(LIST, ["By the mayor. back"], id="items of a list"),
        pytest.param(ASIDE, ["1", "By the mayor."], id="boxes with a label"),
        pytest.param(NAMED, ["1 By the mayor."], id="anchors with names"),
        pytest.param(ONE_WAY, [], id="no way back"),
        pytest.param(ABOVE, [], id="above the text"),
        pytest.param(A_PART, [], id="a part of the page"),
        pytest.param(NOWHERE, [], id="links that lead nowhere"),
    ],
)
def test_a_note_belongs_to_the_text_that_it_points_back_to(html: str, expected: list[str]) -> None:
    root = parse(f"<html><body>{html}</body></html>").root
    assert root is not None
    tree = build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
    chosen = ["opened" in text or "See" in text for text in tree.texts]
    assert [tree.texts[block] for block in sorted(notes_of(root, tree, chosen))] == expected
    assert notes_of(root, tree, [False] * len(chosen)) == set()
