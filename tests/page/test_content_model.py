"""Which blocks of a page are its main content."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from helpers.hostile import HOSTILE
from helpers.page_kinds import reader_digest
from helpers.soup import soup
from scrapy_simdedup import page_content
from scrapy_simdedup.page import block_tree, content_model
from scrapy_simdedup.page.block_tree import BlockTree, build_block_tree
from scrapy_simdedup.page.content_features import SAID_NAMES, block_features, rows_of
from scrapy_simdedup.page.content_model import (
    MODEL_DIGEST,
    MODEL_FILE,
    choose_blocks,
    content_probabilities,
    load_model,
    main_content,
    take_blocks,
)
from scrapy_simdedup.page.parse import parse
from scrapy_simdedup.page.roles import DEFAULT_ROLE_WORDS

WORDS = """
    the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one
    you were all her she there would their we him been has when who will no more if out so up said what its about than
    into them can only other time new some could these two may first then do any like my now over such our man me even
    most made after also did many off before must well back through years where much your way down should because long
    each house garden water engine paper morning window village river letter answer question picture number weather
""".split()


def sentences(seed: str, count: int) -> str:
    rng = random.Random(seed)
    made = (rng.choices(WORDS, k=rng.randint(8, 19)) for _ in range(count))
    return " ".join(f"{' '.join(words).capitalize()}." for words in made)


def paragraphs(seed: str, count: int) -> list[str]:
    return [sentences(f"{seed} {number}", 4) for number in range(count)]


MENU = [f"Menu entry {name}" for name in "one two three four five six seven eight".split()]
LEGAL = ["Imprint of this site", "Privacy of visitors", "Terms for everybody", "Help and contact"]
FRAME_TOP = f"<div><ul>{''.join(f'<li><a href=/m>{entry}</a></li>' for entry in MENU)}</ul></div>"
FRAME_END = (
    f"<div><ul>{''.join(f'<li><a href=/l>{entry}</a></li>' for entry in LEGAL)}</ul><p>© 2026 The site</p></div>"
)


def site(title: str, body: str) -> str:
    return f"<!DOCTYPE html><title>{title} | The site</title><body>{FRAME_TOP}{body}{FRAME_END}</body>"


POSTS = paragraphs("posts", 10)
TITLE = "How to mend an old engine in the garden"


def discourse() -> tuple[str, list[str]]:
    """Posts with an avatar, a name and buttons beside each, as Discourse shows them."""
    posts = "".join(
        f"<article><div><a href=/u/{n}><img src=a.png></a></div><div><div><span><a href=/u/{n}>member{n}</a></span>"
        f"<a href=#{n}><span>{n + 1}d</span></a></div><div><p>{text}</p></div><nav><button>Like</button></nav></div>"
        "</article>"
        for n, text in enumerate(POSTS)
    )
    topics = "".join(f"<tr><td><a href=/t/{n}>Another topic {n}</a></td><td>{n * 7}</td></tr>" for n in range(6))
    suggested = f"<div><h3>Suggested topics</h3><table>{topics}</table></div>"
    return site(TITLE, f"<div><h1><a href=/t>{TITLE}</a></h1></div><div>{posts}</div>{suggested}"), POSTS


def phpbb() -> tuple[str, list[str]]:
    """Posts with a profile of the member beside each, as phpBB shows them."""
    posts = "".join(
        f"<div><div><dl><dt><a href=/m{n}>member{n}</a></dt><dd>Posts: {n * 31}</dd><dd>Joined: 2019-0{n % 9 + 1}</dd>"
        f"</dl></div><div><h3><a href=#p{n}>Re: {TITLE}</a></h3><p>by <a href=/m{n}>member{n}</a> » 11 Mar 2024</p>"
        f"<div>{text}</div></div></div>"
        for n, text in enumerate(POSTS)
    )
    return site(TITLE, f"<h2><a href=/t>{TITLE}</a></h2><div>{posts}</div>"), POSTS


def stack_exchange() -> tuple[str, list[str]]:
    """A question and answers, with votes beside them and links to other questions."""
    posts = "".join(
        f"<div><div><button>Up</button><div>{n * 3}</div><button>Down</button></div><div><div><p>{text}</p></div>"
        f"<div><a href=/share>Share</a> <a href=/edit>Improve this answer</a></div><div>answered Mar 3 at 1{n}:20"
        f" <a href=/u>member{n}</a></div></div></div>"
        for n, text in enumerate(POSTS)
    )
    others = "".join(
        f"<div><a href=/q/{n}><div>{n}</div></a><a href=/q/{n}>Another question {n}?</a></div>" for n in range(7)
    )
    body = (
        f"<div><h1><a href=/q>{TITLE}?</a></h1></div><div><div>{posts}</div><div><h4>Related</h4>{others}</div></div>"
    )
    return site(f"{TITLE}?", body), POSTS


def dotdash() -> tuple[str, list[str]]:
    """An article whose paragraphs and headings lie in boxes of their own, with teasers below."""
    text = paragraphs("news", 12)
    blocks = "".join(
        f"<h2>Part {n} of the story</h2><p>{block}</p>" if n % 3 == 0 else f"<p>{block}</p><div><div></div></div>"
        for n, block in enumerate(text)
    )
    teasers = "".join(
        f"<a href=/{n}><div><img src=t.png></div><div><span>Another story about thing {n}</span></div></a>"
        for n in range(8)
    )
    body = (
        f"<main><article><div><h1>{TITLE}</h1><div>By <a href=/by>A Writer</a></div><div>Published on March 3, 2026"
        f"</div></div><div><div>{blocks}</div></div></article><div><div>More from the site</div>{teasers}</div></main>"
    )
    return site(TITLE, body), text


def product() -> tuple[str, list[str]]:
    """The text of a product, with others that go well with it."""
    text = paragraphs("product", 4)
    others = "".join(
        f"<li><a href=/p{n}><img src=p.png><span>Other thing {n}</span></a><span>${n}9.00</span></li>" for n in range(8)
    )
    body = (
        f"<div><div><img src=1.png><img src=2.png></div><div><h1>{TITLE}</h1><div>$49.00</div><form><button>Add to cart"
        f"</button></form></div></div><div><h2>Description</h2>{''.join(f'<p>{block}</p>' for block in text)}</div>"
        f"<div><h2>You may like these too</h2><ul>{others}</ul></div>"
    )
    return site(TITLE, body), text


def listing() -> tuple[str, list[str]]:
    """Entries with a headline, a date and a few sentences each."""
    entries = [sentences(f"entry {n}", 2) for n in range(12)]
    items = "".join(
        f"<li><h2><a href=/e{n}>Entry number {n} about mending</a></h2><span>1{n % 9} March 2026</span><p>{entry}</p>"
        for n, entry in enumerate(entries)
    )
    pages = "".join(f"<a href=?p={n}>{n}</a>" for n in range(2, 9))
    return site(TITLE, f"<div><h1>All entries</h1><ul>{items}</ul><div>{pages}</div></div>"), entries


def tree_of(html: str) -> BlockTree:
    root = parse(html, with_html_methods=False).root
    assert root is not None
    return build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)


def content_of(html: str) -> list[str]:
    tree = tree_of(html)
    return [text for text, taken in zip(tree.texts, main_content(tree), strict=True) if taken]


@pytest.mark.parametrize("make", [discourse, phpbb, stack_exchange, dotdash, product, listing])
def test_a_page_without_any_names_comes_out_whole(make: Callable[[], tuple[str, list[str]]]) -> None:
    """All that was written is there, and the menus, links and legal lines of the site are not."""
    html, wanted = make()
    assert not re.search(r"\b(?:class|id)=", html)
    found = content_of(html)
    assert [text for text in wanted if text not in found] == []
    assert [text for text in found if text in MENU or text in LEGAL] == []


def test_every_block_has_a_probability() -> None:
    html, wanted = dotdash()
    tree = tree_of(html)
    found = dict(zip(tree.texts, content_probabilities(tree), strict=True))
    assert all(0 <= probability <= 1 for probability in found.values())
    assert min(found[text] for text in wanted) > max(found[text] for text in MENU)


@pytest.mark.parametrize("html", ["<p>", "<nav></nav>", "<title>x</title>", "<script>a()</script><img src=a.png>"])
def test_a_page_without_text_has_no_content(html: str) -> None:
    tree = tree_of(html)
    assert content_probabilities(tree).tolist() == main_content(tree).tolist() == []


@pytest.mark.parametrize("html", ["a", "<p>a", "<h1>a</h1>", "<a href=/>a</a>", "<p>a<p>b", "<div hidden>东京</div>"])
def test_a_page_of_one_word_is_read(html: str) -> None:
    tree = tree_of(html)
    assert len(main_content(tree)) == len(tree.texts)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(soup)
def test_no_page_is_too_strange(html: str) -> None:
    root = parse(html, with_html_methods=False).root
    if root is not None:
        tree = build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        assert np.isfinite(content_probabilities(tree)).all()


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_no_page_is_too_hostile(name: str) -> None:
    root = parse(HOSTILE[name].page(0), with_html_methods=False).root
    if root is not None:
        tree = build_block_tree(root, DEFAULT_ROLE_WORDS, detailed=True)
        assert len(main_content(tree)) == len(tree.texts)


def asked_for() -> tuple[str, ...]:
    """The features that the model asks for, but for what its first round said."""
    model = content_model.content_model()
    return tuple(sorted({*model.first.names, *model.second.names} - set(SAID_NAMES)))


def test_the_features_do_not_depend_on_the_compiled_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the Python walk says gives the same numbers, to the last bit."""
    for make in (discourse, phpbb, dotdash, product):
        html, _ = make()
        one = block_features(tree_of(html))
        with monkeypatch.context() as patched:
            patched.setattr(block_tree, "walk", block_tree.python_walk)
            other = block_features(tree_of(html))
        assert np.array_equal(one.matrix(asked_for()), other.matrix(asked_for()))


def test_each_feature_that_is_asked_for_is_a_number_of_the_page() -> None:
    """What the first round says of the page is all that the second may ask for besides."""
    names, features = asked_for(), block_features(tree_of(discourse()[0]))
    rows = {tuple(row) for row in rows_of(names, features).tolist()}
    assert len(rows) == len(names)
    assert tuple(rows_of(("said",), features)[0]) not in rows
    assert content_model.content_model().first.columns.max() < len(names)


def test_the_second_copy_of_a_text_is_told_from_the_first() -> None:
    """Pages have a part for phones and another for desktops: a long text that stands above already is not news."""
    text = sentences("copied", 3)
    features = block_features(tree_of(f"<div><p>{text}</p><p>Ann</p></div><div><p>{text}</p><p>Ben</p></div>"))
    own, around = features.matrix(("block.copies", "up1.copies")).T
    assert own.tolist() == [0, -1, 1, -1]
    assert around.tolist() == pytest.approx([0, 0, len(text) / (len(text) + 3), len(text) / (len(text) + 3)])


def test_a_text_is_told_by_the_description_that_begins_as_it_does() -> None:
    """Or that has its beginning, such as that of a later paragraph. White space of the template does not matter."""
    first, second, other = (sentences(name, 2) for name in ("first", "second", "other"))
    description = (
        f'<meta name=description content="{first[:60]}..."><meta property=og:description content="{first} {second}">'
    )
    blocks = f"<p>{other}</p><p>{first.replace(' ', chr(10), 1)}</p><div>Short</div><p>{second}</p>"
    for head, expected in ((description, [0, 1, -1, 1]), ("", [-1, -1, -1, -1])):
        features = block_features(tree_of(f"<head>{head}</head><body>{blocks}</body>"))
        described, behind = features.matrix(("block.described", "block.from_description")).T
        assert described.tolist() == expected
        assert behind.tolist() == ([-1, 0, 1, 2] if head else [-999] * 4)


def test_the_kind_that_a_page_declares_is_known_of_each_of_its_blocks() -> None:
    data = '<script type="application/ld+json">{"@type": "QAPage"}</script>'
    features = block_features(tree_of(f"<head>{data}</head><body><p>Why?</p><p>So that it burns.</p></body>"))
    assert features.matrix(("page.questions", "page.product", "page.og_none")).tolist() == [[1, 0, 1]] * 2


ARTICLE = "<meta property=og:type content=article>"
THREAD = f'{ARTICLE}<script type="application/ld+json">{{"@type": "DiscussionForumPosting"}}</script>'


@pytest.mark.parametrize(
    ("head", "text", "is_content"),
    [
        (ARTICLE, f"<p>{sentences('lamp', 3)}</p>", False),
        (THREAD, f"<p>{sentences('lamp', 3)}</p>", True),
        ("", f"<p>{sentences('lamp', 3)}</p>", True),
        (ARTICLE, "<p><a href=https://lamps.example>lamps.example</a></p>", True),
    ],
    ids=["an article", "a thread", "not said", "no text beside them"],
)
def test_comments_on_what_calls_itself_an_article_are_none_of_its_content(
    head: str, text: str, *, is_content: bool
) -> None:
    said = paragraphs("reader", 8)
    comments = "".join(
        f"<li class=comment><cite>Ann {n}</cite><div><p>{text}</p></div></li>" for n, text in enumerate(said)
    )
    article = f"<main><article><h1>Lamps</h1>{text}</article><ol class=comment-list>{comments}</ol></main>"
    found = page_content(f"<html><head><title>Lamps</title>{head}</head><body>{FRAME_TOP}{article}</body></html>").text
    assert [comment in found for comment in said] == [is_content] * 8


def test_a_short_post_goes_with_the_posts_beside_it() -> None:
    """Blocks whose boxes have the same tags and classes are likely together; what stands elsewhere is as it was."""
    features = block_features(tree_of(f"<p>{'x' * 500}</p><p>Same here</p><div>Reply</div>"))
    long, short, other = content_model._with_groups(np.array([300.0, -100.0, -100.0]), features)
    assert short > 0
    assert 290 < long < 300
    assert other == -100


def test_the_cut_takes_what_the_expected_f1_is_highest_with() -> None:
    """On a page of likely blocks the unlikely ones go; where nothing is likely, the best there is stays."""
    lengths = np.array([600, 600, 600, 600])
    assert choose_blocks(np.array([0.9, 0.95, 0.3, 0.1]), lengths).tolist() == [True, True, False, False]
    assert choose_blocks(np.array([0.3, 0.28, 0.02, 0.02]), lengths).tolist() == [True, True, False, False]
    assert choose_blocks(np.array([1.0, 1.0, 0.0, 0.0]), lengths).tolist() == [True, True, False, False]


def test_what_is_doubtful_beside_an_article_goes() -> None:
    """In a list, where nothing is certain, it stays."""
    lengths = np.array([2400, 2400, 600, 600])
    assert choose_blocks(np.array([0.95, 0.9, 0.5, 0.5]), lengths).tolist() == [True, True, False, False]
    assert choose_blocks(np.array([0.7, 0.7, 0.5, 0.5]), lengths).tolist() == [True, True, True, True]


@pytest.mark.parametrize(("probability", "is_taken"), [(0.55, True), (0.45, False)])
@pytest.mark.parametrize("is_link", [False, True])
def test_what_stands_between_two_blocks_of_the_content_and_is_likely_is_content(
    monkeypatch: pytest.MonkeyPatch, probability: float, is_taken: bool, is_link: bool
) -> None:
    text = "<a href=/ann>{}</a>" if is_link else "{} EUR"
    light = " ".join(["light"] * 400)
    tree = tree_of(f"<h1>Lantern</h1><p>{text.format(48)}</p><p>{light}</p><p>{text.format(9)}</p>")
    monkeypatch.setattr(content_model, "content_probabilities", lambda _: np.array([0.95, probability, 0.95, 0.35]))
    assert main_content(tree).tolist() == [True, is_taken and not is_link, True, False]


def test_what_follows_on_the_content_is_content_up_to_what_is_not() -> None:
    """But no links, nothing that stands elsewhere on the page, too, and nothing in a box that is named."""
    facts = "<p>9 hours</p><p>22 mm</p><p><a href=/u>Us</a></p><div class=ad>New</div><p>1.2 kg</p><p>Oil</p><p>2 l</p>"
    tree = tree_of(f"<div class=ads><p>22 mm</p><p>{sentences('light', 9)}</p>{facts}</div>")
    taken = take_blocks(tree, np.array([0.1, 0.95, 0.45, 0.45, 0.45, 0.45, 0.45, 0.35, 0.45]))
    assert [text for text, is_taken in zip(tree.texts[2:], taken[2:], strict=True) if is_taken] == ["9 hours", "1.2 kg"]
    assert take_blocks(tree_of("<p>a</p>"), np.array([0.05])).tolist() == [False]


def test_a_price_below_the_headline_comes_out_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """However unlikely both are; the price of another thing is a link."""
    html = f"<h1>Lantern</h1><p>48.00 EUR</p><p><a href=/p>Oil, 9 EUR</a></p><p>{sentences('light', 9)}</p>"
    monkeypatch.setattr(content_model, "content_probabilities", lambda _: np.array([0.2, 0.2, 0.2, 0.95]))
    assert page_content(html).markdown.startswith("# Lantern\n\n48.00 EUR\n\n")
    assert "Oil" not in page_content(html).markdown


@pytest.mark.parametrize("probability", [0.35, 0.25])
def test_facts_between_texts_are_content(probability: float) -> None:
    """The times of a recipe come out as those of a table do; not the line above an advertisement, and no links."""
    text = f"<p>{sentences('soup', 3)}</p>"
    facts = [f"<div>{fact}</div>" for fact in ("Prep time", "10 minutes", "Cook time", "10 minutes")]
    advertisement, author = "<div>Advertisement</div>", "<div>By <a href=/ann>Ann</a></div>"
    blocks = [advertisement, text, *facts, text, advertisement, text, author, text, "<div>Serves 4</div>"]
    tree = tree_of("".join(blocks))
    said = np.array([0.95 if block == text else probability for block in blocks])
    taken = take_blocks(tree, said)
    assert taken.tolist() == [block == text or (block in facts and probability > 0.3) for block in blocks]


def test_what_is_unlikely_in_a_list_goes_with_it_if_there_is_much_of_it() -> None:
    """The model is right about all entries of a list or about none: so they count more than each by itself."""
    lengths = np.array([600] * 30)
    assert choose_blocks(np.array([0.5] * 5 + [0.3] * 25), lengths).all()
    assert choose_blocks(np.array([0.97] * 25 + [0.3] * 5), lengths).tolist() == [True] * 25 + [False] * 5


def test_a_file_of_another_version_is_not_loaded() -> None:
    raw = files("scrapy_simdedup.page").joinpath(MODEL_FILE).read_bytes()
    assert load_model(raw, MODEL_DIGEST).first.names
    with pytest.raises(ValueError, match="is not the content model of this version"):
        load_model(raw + b" ", MODEL_DIGEST)


def test_the_model_was_trained_with_this_reader() -> None:
    """Where this fails, the reader says something else of pages by now: `make model` makes the file anew."""
    with np.load(BytesIO(files("scrapy_simdedup.page").joinpath(MODEL_FILE).read_bytes())) as arrays:
        assert str(arrays["reader"]) == reader_digest()


def test_the_model_is_small() -> None:
    """It is read in every process that asks for main content, and lies in every wheel."""
    assert len(files("scrapy_simdedup.page").joinpath(MODEL_FILE).read_bytes()) < 32_000


def test_a_term_comes_out_with_its_definition() -> None:
    """The signatures of an interface have few words, and are what its pages are read for."""
    told = " ".join(["text"] * 60)
    functions = "".join(
        f"<dt><code>lamp.{name}(oil: str, *, hours: int = 6) -> Lamp</code></dt>"
        f"<dd><p>{told}</p><dl><dt>Returns</dt><dd>{name}</dd></dl></dd>"
        for name in ("light", "fill", "trim")
    )
    menu = "".join(f"<dt><a href=/{n}>Chapter {n}</a></dt><dd><a href=/{n}#b>Begin</a></dd>" for n in range(9))
    body = f"<dl>{menu}</dl><main><h1>Lamps</h1><p>{told}</p><dl>{functions}</dl><p>{told}</p></main>"
    found = page_content(f"<html><body>{body}</body></html>").markdown
    for name in ("light", "fill", "trim"):
        assert f"lamp.{name}(oil: str, *, hours: int = 6) -> Lamp" in found
    assert found.count("Returns") == 3
    assert "Chapter 3" not in found


def thread_with_comments(answers: int) -> str:
    """A question and answers, with short comments below each."""
    comments = "".join(
        f"<li><span>{n}</span><div>{text} – <a href=/u/{n}>member{n}</a> <a href=#c{n}>Mar 3 at 10:2{n}</a></div></li>"
        for n, text in enumerate(
            ("Is the cap of the tank tight?", "It is, and <a href=/q/7>so is the other</a> of mine.")
        )
    )
    posts = "".join(
        f"<div class=post><div><div><p>{text}</p></div><div><a href=/s>Share</a></div></div>"
        f"<div class='comments js-comments'><ul>{comments.replace('tank', f'tank {n}')}</ul></div></div>"
        for n, text in enumerate(POSTS[: answers + 1])
    )
    return site(TITLE, f"<div class=meta>Asked today</div><h1>{TITLE}</h1><div>{posts}</div>")


def test_comments_on_posts_come_out_with_them() -> None:
    """Without the menus beside them; those on the last post, too."""
    found = page_content(thread_with_comments(3)).markdown
    assert [n for n in range(4) if f"Is the cap of the tank {n} tight?" not in found] == []
    assert found.count("so is the other") == 4
    assert "Share" not in found


def test_comments_below_an_article_do_not_come_out() -> None:
    html, text = dotdash()
    comments = "".join(f"<li><b>Ann {n}</b><p>{sentences(f'comment {n}', 2)}</p></li>" for n in range(4))
    found = page_content(html.replace("</article>", f"</article><div class=comments><ul>{comments}</ul></div>")).text
    assert text[-1] in found
    assert sentences("comment 1", 2) not in found
