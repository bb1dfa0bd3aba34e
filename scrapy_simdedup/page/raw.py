"""What a parser must not be given as it came: what ends a page early, stops the parser, or costs it quadratic time.

Where the package was installed with its compiled part, :mod:`scrapy_simdedup.page._raw` does the same.
"""

from __future__ import annotations

import re


def harmless(raw: bytes) -> tuple[bytes, int, int]:
    """What may be parsed of a page, how many control characters became spaces in it, and how often it has ``<``.

    It goes without the ends of ``<html>`` and ``<body>``, behind which libxml2 drops all that browsers show; without
    references to control characters; without the data of images. libxml2 lets control characters through, but lxml
    does not let a text that has any be moved in the tree.
    """
    raw = _DATA_ADDRESS.sub(b"data:,", _CONTROL_REFERENCE.sub(b" ", _HTML_END.sub(b"", raw.replace(b"\0", b""))))
    text = raw.translate(_CONTROLS_AS_SPACES)
    controls = 0 if text == raw else len(raw) - len(raw.translate(None, _CONTROLS))
    return text, controls, text.count(b"<")


def long_tags(raw: bytes, longer: int) -> list[bytes]:
    """The attributes of the tags, outside of comments and scripts, that have more bytes of them. Linear."""
    return [attributes for _, attributes in _TAG.findall(raw) if len(attributes) > longer]


_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r")) + b"\x7f"

_CONTROLS_AS_SPACES = bytes.maketrans(_CONTROLS + b"\f", b" " * (len(_CONTROLS) + 1))

_HTML_END = re.compile(rb"</(?:html|body)\b[^<>]*>?", re.IGNORECASE)

_DATA_ADDRESS = re.compile(rb"data:[\w/+.;=-]{0,60},[A-Za-z0-9+/=%]{200,}")

_CONTROL_REFERENCE = re.compile(
    rb"&#(?:x0*(?:[1-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])|0*(?:[1-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)

_ATTRIBUTES = rb"""[^>=]*(?:=\s*(?:"[^"]*"|'[^']*'|[^\s>"'][^\s>]*|(?=>))[^>=]*)*"""
_TAG = re.compile(
    rb"<(?:!--[^-]*(?:-(?!->)[^-]*)*|(?=[a-z])(s(?:cript|tyle)\b)?(%b)(?(1)[^<]*(?:<(?!/s(?:cript|tyle))[^<]*)*))"
    % _ATTRIBUTES,
    re.IGNORECASE,
)
