"""What class and id names mean."""

from __future__ import annotations

import pytest

from scrapy_simdedup.page.roles import (
    AD,
    ASIDE,
    BOILERPLATE_ROLES,
    BY_SETTING,
    COMMENT,
    DEFAULT_ROLE_WORDS,
    FOOTER,
    MAIN,
    META,
    NAV,
    RELATED,
    ROLE_NAMES,
    ROLE_WORDS,
    SOCIAL,
    WIDGET,
    RoleWords,
    role_words,
)


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("site-footer", FOOTER),
        ("siteFooter", FOOTER),
        ("SITE_FOOTER wide", FOOTER),
        ("main-nav sidebar", NAV | ASIDE),
        ("left-side-bar", ASIDE),
        ("sideBoxContent", ASIDE),
        ("inside-box", 0),
        ("side", 0),
        ("boxSide", 0),
        ("js-advert2", AD),
        ("werbung oben", AD),
        ("commentaires", COMMENT),
        ("artículos relacionados", RELATED),
        ("compartilhar", SOCIAL),
        ("reklama", AD),
        ("コメント", COMMENT),
        ("content", 0),
        ("header", 0),
        ("padding-bottom", 0),
        ("download", 0),
        ("canvas", 0),
        ("", 0),
    ],
)
def test_a_name_has_the_roles_of_its_words(name: str, role: int) -> None:
    """Words are parted by signs and by capitals, and count only as a whole."""
    assert DEFAULT_ROLE_WORDS[name] == role


@pytest.mark.parametrize(
    "name",
    [
        *("no-footer", "has-sidebar", "layout--with-sidebar", "withoutNav", "hasComments", "NO_BANNER", "non-modal"),
        *("hasSideBar", "no-side-bar"),
    ],
)
def test_what_an_element_holds_or_lacks_is_not_what_it_is(name: str) -> None:
    assert DEFAULT_ROLE_WORDS[name] == 0


@pytest.mark.parametrize(("name", "role"), [("has footer", FOOTER), ("footer-no-border", FOOTER), ("no-js nav", NAV)])
def test_such_a_word_says_nothing_of_other_names(name: str, role: int) -> None:
    assert DEFAULT_ROLE_WORDS[name] == role


@pytest.mark.parametrize("name", ["x3ad9f", "css-1ad2", "a9nav", "_7share", "x12date", "ad3f0"])
def test_letters_between_the_digits_of_a_hash_are_no_word(name: str) -> None:
    """CSS modules append hashes to their names, and three letters of a hash spell anything."""
    assert DEFAULT_ROLE_WORDS[name] == 0


@pytest.mark.parametrize(("name", "role"), [("footer2", FOOTER), ("comments-3", COMMENT), ("sidebar1", ASIDE)])
def test_a_long_word_may_be_numbered(name: str, role: int) -> None:
    """A second footer is a footer."""
    assert DEFAULT_ROLE_WORDS[name] == role


def test_what_a_page_builder_writes_on_everything_says_nothing() -> None:
    """Elementor calls all content a widget; a widget of another make is one."""
    assert DEFAULT_ROLE_WORDS["elementor-element elementor-widget elementor-widget-text-editor"] == 0
    assert DEFAULT_ROLE_WORDS["widget_recent_posts"] == WIDGET


@pytest.mark.parametrize(
    "name",
    [
        *(
            "views-row",
            "views-field views-field-title",
            "block-views",
            "block-views-promoted-list",
            "view-id-promoted_list",
        ),
        *("node-promoted", "node node--promoted node--view-mode-teaser"),
    ],
)
def test_what_drupal_writes_on_lists_says_nothing(name: str) -> None:
    """Views makes its lists, and they are no counters; what is promoted to its front page is no advertisement."""
    assert DEFAULT_ROLE_WORDS[name] == 0


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *(
            ("post-views", META),
            ("views", META),
            ("views-count", META),
            ("viewsCount", META),
            ("views-exposed-form", 0),
        ),
        *(("promoted-post", AD), ("card--promoted", AD), ("views-field-comments", COMMENT)),
    ],
)
def test_other_names_with_these_words_have_their_roles(name: str, role: int) -> None:
    assert DEFAULT_ROLE_WORDS[name] == role


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *(
            ("event-date", 0),
            ("startDate", 0),
            ("field--name-field-date", 0),
            ("post-date", META),
            ("field-meta", META),
        ),
        *(
            ("eventitem-meta", 0),
            ("events__date", 0),
            ("event-meta-date", 0),
            ("product_meta", 0),
            ("job-listing-meta", 0),
            ("recipeMeta", 0),
            ("production-news meta", META),
            ("meta event", META),
            ("event-share", SOCIAL),
        ),
    ],
)
def test_the_date_of_an_event_and_the_facts_of_a_thing_are_not_the_date_of_a_text(name: str, role: int) -> None:
    assert DEFAULT_ROLE_WORDS[name] == role


def test_words_can_be_added() -> None:
    """A site's own names extend those that come with the package, and leave them as they are."""
    words = RoleWords({META: ["Impressum", "left-box"], AD: ["footer"]})
    assert words["impressum"] == words["leftBox2"] == META | BY_SETTING
    assert words["footer"] == FOOTER | AD | BY_SETTING
    assert DEFAULT_ROLE_WORDS["impressum"] == 0


def test_a_class_of_megabytes_is_not_read_to_its_end() -> None:
    """Time is bounded, and nothing that long is kept but the names in it."""
    words = RoleWords()
    assert words["x " * 2_000_000 + "footer"] == 0
    assert words == {}
    assert words["menu " + "x " * 2_000_000 + "footer"] == NAV
    assert words == {"menu": NAV, "x": 0}


def test_memory_is_bounded() -> None:
    """Names made up by the million do not fill it."""
    words = RoleWords()
    for number in range(60_000):
        assert words[f"c-{number}"] == 0
    assert len(words) <= 50_000


def test_every_frame_role_has_a_name() -> None:
    """Reports can name what they show, and no word gives a role that is no frame."""
    assert sum(ROLE_NAMES) == BOILERPLATE_ROLES
    assert set(ROLE_WORDS) <= set(ROLE_NAMES)


def test_every_word_is_found_by_its_own_look_up() -> None:
    """A word that the look-up would part could never match."""
    missed = [
        word for role, words in ROLE_WORDS.items() for word in words.split() if not DEFAULT_ROLE_WORDS[word] & role
    ]
    assert missed == []


def test_a_component_is_no_notice() -> None:
    """One content management system begins all its names with ``cmp``."""
    assert DEFAULT_ROLE_WORDS["cmp-text cmp-container"] == 0


def test_words_of_a_site_can_name_its_content() -> None:
    assert role_words((("content", ("lesson",)), ("footer", ("imprint",))))["lesson-body"] == MAIN
