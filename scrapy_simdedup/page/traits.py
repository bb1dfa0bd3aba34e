"""What the walk over a page asks about a tag, in one look-up: its roles, whether it is a block, a link, or no text."""

from __future__ import annotations

from scrapy_simdedup.page.parse import NOT_TEXT
from scrapy_simdedup.page.roles import FRAME_ROLES, MAIN, MAIN_TAG, SLUG_TAGS, TAG_ROLES, UNNAMED_TAGS

BLOCK_TAGS = frozenset(
    {
        *("html", "body", "main", "article", "section", "div", "header", "footer", "nav", "aside", "center"),
        *(
            "p",
            "pre",
            "xmp",
            "blockquote",
            "address",
            "figure",
            "figcaption",
            "details",
            "summary",
            "dialog",
            "br",
            "hr",
        ),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "ul", "ol", "menu", "li", "dl", "dt", "dd"),
        *("form", "fieldset", "legend", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"),
    }
)
"""Elements that begin and end a block of text; all others, unknown ones too, stand inside a line."""

BLOCK, BOX, SKIPPED, LINK, UNNAMED, SLUG = (1 << bit for bit in range(24, 30))
"""Bits above all roles. A box has an inside; of what is skipped no text is read."""

TRAITS = {
    tag: TAG_ROLES.get(tag, 0)
    | sum(
        trait
        for trait, tags in (
            *((BLOCK, BLOCK_TAGS), (BOX, BLOCK_TAGS - {"br", "hr"}), (SKIPPED, NOT_TEXT), (LINK, {"a"})),
            *((UNNAMED, UNNAMED_TAGS), (SLUG, SLUG_TAGS)),
        )
        if tag in tags
    )
    for tag in (*TAG_ROLES, *BLOCK_TAGS, *NOT_TEXT, *UNNAMED_TAGS, *SLUG_TAGS)
}
"""The roles of a tag and its bits; any other tag has none."""

NODE_ROLES = FRAME_ROLES | MAIN | MAIN_TAG
"""Roles that an element gives to all it holds."""
