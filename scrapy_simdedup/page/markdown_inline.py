"""The inside of lines as Markdown, and code blocks, whose inside is not laid out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from scrapy_simdedup.page.content_tree import Addresses, Child, ContentNode, single_spaced

MAX_INLINE_DEPTH = 100
"""Levels of inline elements; deeper ones become plain text."""
_CODE_TAGS = frozenset({"code", "kbd", "samp", "tt"})
_MARKS = {"b": "**", "strong": "**", "em": "_", "i": "_", "del": "~~", "s": "~~", "strike": "~~"}
_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|`+|<(?=[a-zA-Z/!?]|$)|&(?=#?\w{0,32}(?:;|$))|(?<!\s)\*|\*(?!\s)"
    r"|(?<![^\W_])_+|_+(?![^\W_])|\](?=[(\[:]|$)|~(?=~|$)|(?<=~)~|^~|!$"
)
"""What Markdown would read as markup in the middle of a text."""
_MARKUP_SIGNS = tuple("\\`<&*_]~!")
_BRACKETS = re.compile(r"[\[\]]")
_LINE_STARTS = frozenset("#>=-*+")
_BLOCK_START = re.compile(r"(?:#{1,6}(?=\s|$)|[>=]|[*+](?=\s|$)|-+(?=\s|$)|-{3})")
_MARK_SIGNS = frozenset("*_~`")
_UNKNOWN = "x"
"""Stands for a sign that may be a letter, beside which marks mean less."""
_TICKS = re.compile(r"(?:\\`){3,}")
_ITEM_START = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_IN_ADDRESS = re.compile(r"[\\\[\]()]")
_ESCAPED = r"\\\g<0>"
_NOT_IN_ADDRESS = re.compile(r"[\s<>\x00-\x1f]")
_WORD = re.compile(r"\w")


class Inline:
    """Makes the Markdown of lines, with the addresses of one page."""

    def __init__(self, addresses: Addresses) -> None:
        self._addresses = addresses

    def line(self, children: Sequence[Child], link: str = "") -> str:
        """The Markdown of texts and inline elements; "" for those without any.

        A line break becomes a hard one, two of them an empty line. ``link`` is the address of a link around the line,
        "" without one.
        """
        if len(children) == 1 and isinstance(children[0], str) and not link:  # as most lines
            return _escaped_start(single_spaced(escape_text(children[0])))
        text = self._inline(children, 0, "", in_link=bool(link))
        made = [_escaped_start(single_spaced(line)) for line in text.split("\n")]
        if link:
            made = [f"[{line}]({_address(link)})" if line else "" for line in made]
        if len(made) == 1:
            return made[0]
        return _EMPTY_LINES.sub("\n\n", "  \n".join(made).strip(" \n")) if any(made) else ""

    def _inline(self, children: Sequence[Child], depth: int, edge: str, *, in_link: bool) -> str:
        """The Markdown of texts and inline elements, with ``edge`` as the sign before and behind them."""
        parts: list[str] = []
        last = len(children) - 1
        for place, child in enumerate(children):
            if isinstance(child, str):
                parts.append(escape_text(child, in_link=in_link))
                continue
            tag = child.tag
            if tag in _CODE_TAGS:
                code = "" if place and _is_code(children[place - 1]) else _code_text_from(children, place)
                follows_code = parts and parts[-1].endswith("`")  # two codes in a row would be one
                made = escape_text(code, in_link=in_link) if follows_code else _code_span(code)
            elif tag == "br":
                made = "\n"
            elif tag == "img":
                made = self._image(child)
            elif tag == "input":
                made = _checkbox(child, children[place + 1] if place < last else "")
            elif depth > MAX_INLINE_DEPTH:
                made = escape_text(child.text(), in_link=in_link)
            elif tag == "a" and not in_link and (address := self._addresses.of_link(child.element)):
                self._add_link(parts, child, address, depth)
                continue
            else:
                inner = self._inside(child, parts, depth, in_link=in_link)
                if tag in _MARKS:
                    before = parts[-1][-1] if parts else edge
                    behind = _first_sign(children[place + 1]) if place < last else edge
                    _add_marked(parts, inner, _MARKS[tag], before, behind)
                    continue
                made = f" {inner} " if child.is_block else inner  # a block as a part of the line, as in a heading
            if made:
                parts.append(made)
        return "".join(parts)

    def _inside(self, node: ContentNode, before: Sequence[str], depth: int, *, in_link: bool) -> str:
        """The Markdown of what is in an inline element."""
        inner = self._inline(node.children, depth + 1, _UNKNOWN, in_link=in_link)
        if node.tag == "a" and node.element.get("href", "").startswith("#") and not _WORD.search(inner):
            return " "  # in place of the sign of a heading's own address
        if inner[:1] in _MARK_SIGNS and before and before[-1].endswith(inner[0]):  # would be one mark
            return escape_text(node.text(), in_link=in_link)
        return inner

    def _image(self, image: ContentNode) -> str:
        address = self._addresses.of_image(image.element)
        alt = " ".join(image.element.get("alt", "").split())
        return f"![{_IN_ADDRESS.sub(_ESCAPED, alt)}]({_address(address)})" if address else ""

    def _add_link(self, parts: list[str], link: ContentNode, address: str, depth: int) -> None:
        inner = self._inline(link.children, depth + 1, "[", in_link=True)
        if inner.isspace():
            parts.append(" ")
        elif address == link.text().strip() and "://" in address and not _NOT_IN_ADDRESS.search(address):
            parts.append(f"<{address}>")
        elif inner:
            if parts and parts[-1].endswith("!") and not parts[-1].endswith("\\!"):
                parts[-1] = parts[-1][:-1] + "\\!"  # else a picture
            target = _address(address)
            for number, line in enumerate(inner.split("\n")):
                lead, text, tail = _stripped(line)
                made = ("\n" if number else "") + (f"{lead}[{text}]({target}){tail}" if text else "")
                if made:
                    parts.append(made)


def _checkbox(box: ContentNode, following: Child) -> str:
    mark = "[ ]" if box.element.get("checked") is None else "[x]"
    return mark if isinstance(following, str) and following[:1].isspace() else mark + " "


_EMPTY_LINES = re.compile(r"[ \n]*\n[ \n]*\n[ \n]*")


def escape_text(text: str, *, in_link: bool = False) -> str:
    """A text in which nothing is read as markup, but at the beginning of a line; white space becomes spaces."""
    for sign in _MARKUP_SIGNS:  # to look for one after the other is faster than a set of them
        if sign in text:
            text = _MARKUP.sub(_escape, text)
            break
    if in_link and ("[" in text or "]" in text):
        text = _BRACKETS.sub(_ESCAPED, text.replace("\\]", "]"))
    return text.replace("\n", " ")


def _escape(found: re.Match[str]) -> str:
    signs = found[0]
    return "\\" + ("\\".join(signs) if signs[0] in "_`" else signs)


def _address(address: str) -> str:
    return _NOT_IN_ADDRESS.sub(lambda sign: f"%{ord(sign[0]):02X}", _IN_ADDRESS.sub(_ESCAPED, address))


def _escaped_start(line: str) -> str:
    first = line[:1]
    if first not in _LINE_STARTS and not first.isdecimal():
        ticks = _TICKS.match(line) if first == "\\" else None
        if ticks and line.count("`") == len(ticks[0]) // 2:  # no code span begins where there are no others
            return "\\" + line[: ticks.end()].replace("\\", "") + line[ticks.end() :]
        return line
    found = _ITEM_START.match(line)
    if found:
        return f"{found[1]}\\{line[found.end(1) :]}"
    return "\\" + line if _BLOCK_START.match(line) else line


def _stripped(line: str) -> tuple[str, str, str]:
    """A line without the white space around it, and a space for that before it and behind it."""
    text = line.strip()
    return (" " if line[:1].isspace() else ""), text, (" " if line[-1:].isspace() else "")


def _first_sign(child: Child) -> str:
    """The sign that a text or an element begins with, as far as it is known."""
    for _ in range(MAX_INLINE_DEPTH):
        if isinstance(child, str):
            return child[:1]
        if child.tag == "br" or child.is_block:
            return "\n"
        if child.tag in _CODE_TAGS or child.tag in _MARKS or child.tag == "a" or not child.children:
            break
        child = child.children[0]
    return _UNKNOWN


def _add_marked(parts: list[str], inner: str, mark: str, before: str, behind: str) -> None:
    """Add a text between marks of emphasis, where Markdown reads them as such.

    ``before`` and ``behind`` are the signs beside it, "" at an end of the line.
    """
    lines = inner.split("\n")
    for number, line in enumerate(lines):
        if number:
            parts.append("\n")
        lead, text, tail = _stripped(line)
        if not text:
            parts.extend(filter(None, [lead]))
            continue
        follows_word = not (number or lead) and _is_word_sign(before)
        precedes_word = not (tail or number < len(lines) - 1) and _is_word_sign(behind)
        used = "*" if mark == "_" and (follows_word or precedes_word or "_" in text) else mark
        last = parts[-1] if parts and not lead else ""
        merges = len(last) > 2 * len(used) and last.startswith(used) and last.endswith(used)
        merges = merges and not (used == "*" and last.startswith("**"))
        is_read = (
            (text[0].isalnum() or not follows_word)
            and (text[-1].isalnum() or not precedes_word)
            and used not in (text.replace("**", "") if used == "*" else text)
            and (merges or lead or before != used[0])
            and not (used[0] in (text[0], text[-1]) and (follows_word or precedes_word or len(used) == 1))
        )
        made = f"{parts.pop()[: -len(used)] if merges else used}{text}{used}" if is_read else text
        parts.extend(filter(None, (lead, made, tail)))


def _is_word_sign(sign: str) -> bool:
    """Whether Markdown may take a sign for a part of a word; ``""`` is none."""
    return sign.isalnum() or sign == "_" or sign > "\x7f"


def _is_code(child: Child) -> bool:
    return isinstance(child, ContentNode) and child.tag in _CODE_TAGS


def _code_text_from(children: Sequence[Child], place: int) -> str:
    """The text of the inline code at a place, together with that right behind it."""
    texts = []
    while place < len(children):
        child = children[place]
        if isinstance(child, str) or child.tag not in _CODE_TAGS:
            break
        texts.append(child.text())
        place += 1
    return "".join(texts)


def _code_span(code: str) -> str:
    lead, code, tail = _stripped(code)
    code = " ".join(code.split())
    if not code:
        return lead
    ticks = "`" * (_longest_run_of_ticks(code) + 1)
    pad = " " if code.startswith("`") or code.endswith("`") else ""
    return f"{lead}{ticks}{pad}{code}{pad}{ticks}{tail}"


_LINES = ("div", "p", "li")
_LANGUAGE = re.compile(r"(?:^|\s)(?:(?:lang(?:uage)?|hljs|highlight(?:-source)?)-|hljs\s+(?!lang))([\w+#.-]+)")
_NO_LANGUAGE = frozenset({"default", "none", "plain", "plaintext", "text"})


def fenced_code(pre: ContentNode) -> str:
    """A ``<pre>`` between fences of more backticks than it holds in a row; "" if it is empty."""
    code = _code_text(pre).strip("\n").rstrip()
    if not code:
        return ""
    fence = "`" * max(3, _longest_run_of_ticks(code) + 1)
    return f"{fence}{_language(pre)}\n{code}\n{fence}"


def _longest_run_of_ticks(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _code_text(pre: ContentNode) -> str:
    """The text of a code block, with a line of its own for each block element inside."""
    text: list[str] = []
    waiting: list[Child | None] = list(reversed(pre.children))
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            text.append(child)
            continue
        if (child is None or child.tag in _LINES) and text and not text[-1].endswith("\n"):
            text.append("\n")
        if child is not None:
            if child.tag == "br":
                text.append("\n")
            elif child.tag in _LINES:
                waiting.append(None)  # behind its last text
            waiting.extend(reversed(child.children))
    return "".join(text)


def _language(pre: ContentNode) -> str:
    """The language that the classes of a code block, or of the elements around it, name."""
    inside = [node.element for node in pre.nodes("code")]
    for element in (*inside, pre.element, *islice(pre.element.iterancestors("div", "figure"), 2)):
        for language in _LANGUAGE.findall(element.get("class", "")):
            if language not in _NO_LANGUAGE:
                return str(language)
    return ""
