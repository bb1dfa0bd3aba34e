"""Pages of a list whose entries are a link and a line below it, as an archive of messages by a few authors has them."""

from __future__ import annotations

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import prose, words
from scrapy_simdedup import NearDuplicateDetector

ENTRIES = {
    "ul": ("<ul>{}</ul>", "<li><b><a href=/{0}.html>{1}</a></b><ul><li>From: {2}</li></ul></li>"),
    "dl": ("<dl>{}</dl>", "<dt><a href=/{0}.html>{1}</a></dt><dd>From: {2}</dd>"),
    "table": ("<table>{}</table>", "<tr><td><a href=/{0}.html>{1}</a></td><td>From: {2}</td><td>open</td></tr>"),
    "hashed names": ("{}", "<div class=x3d><a href=/{0}.html>{1}</a><p>From: {2}</p></div>"),
}
AUTHORS = [" ".join(words(f"author {number}", 8)).title() for number in range(4)]


def list_page(form: str, number: int) -> str:
    """The thirty messages of one page, of which the subjects differ, and hardly the lines below them."""
    around, entry = ENTRIES[form]
    subjects = words(("subjects", number), 30)
    rows = (entry.format(30 * number + at, subjects[at], AUTHORS[(at + number) % 4]) for at in range(30))
    return f"<title>Messages by date</title><h1>Messages by date</h1>{around.format(''.join(rows))}<p>Made at night</p>"


@pytest.mark.parametrize("form", ENTRIES)
@on_asyncio
async def test_pages_of_one_list_are_no_copies_though_the_same_few_authors_are_on_each(form: str) -> None:
    """Short links in longer lines are what such a page says."""
    async with NearDuplicateDetector(secret="list") as detector:
        for number in range(12):
            message = f"<title>Message</title><h1>{' '.join(words(number, 4))}</h1>{prose(number, 120)}"
            await detector.add(message, url=f"https://list.example/{number}.html")
        verdicts = [
            await detector.add(list_page(form, number), url=f"https://list.example/list{number}.html")
            for number in range(12)
        ]
        again = await detector.add(list_page(form, 3), url="https://list.example/all.html?page=4")
    assert {verdict.is_duplicate for verdict in verdicts} == {False}
    assert again.is_duplicate
