"""Where no class or id names the layout, links and places tell content from frame."""

from __future__ import annotations

import pytest

from helpers.pages import prose, words
from scrapy_simdedup.page.classify import BlockClass
from scrapy_simdedup.page.page import read_page
from scrapy_simdedup.page.roles import ASIDE, BY_SHAPE, NAV

BOILERPLATE, UNMARKED, CONTENT = BlockClass
ARTICLE = f"<div><h1>Tides</h1>{prose('article', 200)}</div>"
GROUP = "<div><h3>Target</h3><ul>" + "".join(f"<li><a href=/{n}>About {n}</a></li>" for n in range(6)) + "</ul></div>"
SIDE = "<div><p>Target is beside the text.</p></div>"


def kind_of(html: str, text: str = "Target") -> BlockClass:
    """The kind of the block that begins with the text."""
    return next(block.block_class for block in read_page(html).blocks if block.text.startswith(text))


def test_a_group_of_links_is_frame_with_its_heading() -> None:
    """It is navigation, or it leads to related pages."""
    assert kind_of(ARTICLE + GROUP) is BOILERPLATE
    assert {
        block.boilerplate_roles for block in read_page(ARTICLE + GROUP).blocks if block.block_class is BOILERPLATE
    } == {NAV | BY_SHAPE}


def test_links_that_are_the_page_are_content() -> None:
    """A list of results has little else."""
    assert kind_of(GROUP * 9 + "<p>Found much.</p>") > BOILERPLATE


def test_a_group_with_a_text_is_no_group_of_links() -> None:
    """Someone wrote it for this page."""
    text = f"<p>{' '.join(words('text', 60))}</p>"
    assert kind_of(f"<div><h1>Tides</h1>{prose('article', 400)}{GROUP.replace('<ul>', text + '<ul>')}</div>") is CONTENT


def test_what_stands_beside_the_headline_and_its_text_counts_less() -> None:
    """By one step, since it may be content."""
    assert kind_of(ARTICLE + SIDE) is UNMARKED
    assert kind_of(ARTICLE + SIDE.replace("<p>", "").replace("</p>", "")) is BOILERPLATE
    assert read_page(ARTICLE + "<div>Beside</div>").blocks[-1].boilerplate_roles == ASIDE | BY_SHAPE


def test_a_page_without_a_headline_has_a_root_where_nearly_all_of_its_prose_is() -> None:
    """Half of it is not enough."""
    plain = f"<div>{prose('article', 200)}</div>"
    assert kind_of(plain + SIDE) is UNMARKED
    assert kind_of(plain + SIDE + f"<div>{prose('other', 100)}</div>") is CONTENT


@pytest.mark.parametrize("text", ["<ul><li>{}</li><li>Of 1921</li></ul>", "<div><p>{}</p><p>Of 1921</p></div>"])
def test_a_heading_right_before_the_text_is_its_headline_though_it_is_a_link(text: str) -> None:
    """On a page without an h1; a heading before links is none."""
    text = text.format(" ".join(words("text", 90)))
    page = f"<div><h3><a href=/all>All of them</a></h3>{GROUP}</div><div><h2><a href=/1>A storm</a></h2>{text}</div>"
    assert kind_of(page, "A storm") is UNMARKED
    assert kind_of(page, "All of them") is BOILERPLATE


def test_what_is_outside_of_the_main_part_counts_less() -> None:
    """Unless the main part holds less than half of the text."""
    html = f"{SIDE}<main>{prose('main', 100)}</main>"
    assert kind_of(html) is UNMARKED
    assert kind_of(f"{html}<div>{prose('other', 200)}</div>") is CONTENT


@pytest.mark.parametrize("name", ["sidebar", "site-footer", "main-menu", "widget"])
def test_where_names_speak_shape_is_silent(name: str) -> None:
    """A name is the better witness, and one witness is enough."""
    named = f'<div class="{name}">Named</div>'
    assert kind_of(ARTICLE + SIDE + named) is CONTENT
    assert kind_of(ARTICLE + GROUP + named) is CONTENT


@pytest.mark.parametrize("name", ["x3ad9f", "cookie-banner", "share-buttons", "ad-slot"])
def test_names_that_come_with_other_peoples_widgets_do_not_speak_for_the_layout(name: str) -> None:
    """They are on sites that hash their own."""
    assert kind_of(ARTICLE + SIDE + f'<div class="{name}">Named</div>') is UNMARKED


def test_a_headline_beside_the_text_does_not_move_the_root() -> None:
    """What holds the headline must hold two fifths of the prose, too."""
    assert kind_of(f"<div><h1>Tides</h1><p>By Ada.</p></div><div><p>Target</p>{prose('article', 200)}</div>") is CONTENT


NAMELESS = {
    "above": "<div><div>Target bell</div><div>29 EUR</div><div>{}</div></div>",
    "below": "<div><div>{}</div><div>29 EUR</div><div>Target bell</div></div>",
    "in bold print": "<table><tr><td><a href=/>Home</a><td><b>Target bell</b><br>29 EUR<ul>{}</ul></tr></table>",
}
FRAME = "<div><a href=/>Home</a></div><div>Made by hand</div>{}<div>All rights reserved</div>"


@pytest.mark.parametrize("where", NAMELESS)
def test_the_name_that_stands_with_the_text_in_one_box_belongs_to_it(where: str) -> None:
    """On a page without a heading, which a shop may be."""
    html = FRAME.format(NAMELESS[where].format(prose("bell", 120)))
    assert kind_of(html) is kind_of(html, "29 EUR") is UNMARKED
    assert kind_of(html, "All rights") is BOILERPLATE


def test_links_part_the_text_from_the_lines_around_it() -> None:
    text = f"<div><div>Target of the day</div><a href=/>Home</a><div>{prose('text', 120)}</div></div>"
    assert kind_of(FRAME.format(text)) is BOILERPLATE
