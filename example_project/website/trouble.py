"""What makes crawls difficult: a captcha, soft 404s, endless pages, a broken encoding, a PDF."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from website.pages import Page

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTCHA = Page(
    id="",
    kind="captcha",
    title="One moment, please",
    paragraphs=(
        "Before we show you what other customers think of this product, we would like to be sure that you are a "
        "person. Please type the five letters that you see in the picture below and press the button. If you cannot "
        "read them, ask for another picture, or write to the shop and we will send you the reviews by post.",
    ),
)
SOFT_404 = Page(
    id="",
    kind="soft 404",
    title="We looked everywhere",
    paragraphs=(
        "The page you asked for is not here any more, or it never was. Perhaps the address was copied without its "
        "last letters. Perhaps somebody tidied up. Try the magazine or the shelves in the menu above, or ring us "
        "between nine and six and we will look for it together.",
    ),
)
LAST_NEWS = Page(
    id="",
    kind="endless",
    title="Older news",
    paragraphs=(
        "The oldest news we have is that the shop opened, on a windy Saturday in 1998, with eleven kettles, a borrowed "
        "till and a ladder. Forty people came, of whom thirty wanted to know what had become of the chandler. The "
        "ladder is still in use.",
        "Behind that there is only the button below, which was meant to disappear at this point and never has.",
    ),
)
GUESTBOOK = Page(
    id="en/guestbook",
    kind="guestbook",
    title="Guestbook of the café",
    paragraphs=(
        "The crème brûlée was excellent, the déjà vu on the cellar stairs less so. Two naïve visitors from Besançon.",
        "Grüße aus Köln! We stayed all afternoon because of the rain and the Gugelhupf, and left with a kettle.",
        "My fiancée proposed to me between the shelves. I said yes and bought the whetstone. Zoë, Málaga, 2003.",
        "Your sign says “open”, your door said otherwise. We waited on the bench with a señor who told us his life.",
    ),
)


def calendar(month: date) -> Page:
    """One month of a calendar that has no end."""
    after = (month.replace(day=28) + timedelta(days=4)).replace(day=1)
    days = " ".join(str(day) for day in range(1, (after - month).days + 1))
    return Page(
        id="",
        kind="endless",
        title=f"What is on in {month:%B %Y}",
        paragraphs=(
            f"Nothing has been entered for {month:%B %Y} yet. Would you like to give a talk about kettles?",
            days,
        ),
    )


def next_month(month: date) -> str:
    return f"/calendar/{month.replace(day=28) + timedelta(days=4):%Y-%m}"


def endless_scroll() -> Iterator[bytes]:
    """A page that goes on for as long as somebody listens, 16 MB at most."""
    yield b"<!DOCTYPE html><html><head><title>Everything at once</title></head><body><h1>Everything at once</h1>"
    for number in range(160_000):
        yield (
            b"<p>Number %d of the things we have, followed by the next of the things we have, which is:</p>\n" % number
        )


def price_list() -> bytes:
    """A small PDF."""
    drawing = b"BT /F1 18 Tf 72 720 Td (Prices on request, at the counter.) Tj ET"
    return (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1<</Type/Font"
        b"/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n4 0 obj<</Length %d>>stream\n%s\nendstream endobj\n"
        b"trailer<</Root 1 0 R>>\n%%%%EOF\n"
    ) % (len(drawing), drawing)


def links_to_trouble(page: Page) -> list[tuple[str, str]]:
    """Where a page leads into trouble."""
    name = page.id.rpartition("/")[2]
    if page.id == "en/index":
        return [
            ("Calendar", "/calendar/2024-06"),
            ("Older news", "/news?after=20"),
            ("Everything", "/everything"),
            ("Guestbook", "/en/guestbook"),
            ("Opening hours", "/en/notices/opening-hours"),
            ("Parking", "/en/notices/parking"),
            ("Prices", "/files/prices"),
            ("Prices (to print)", "/files/prices?download=1"),
        ]
    if page.id.startswith("en/products/"):
        return [("Reviews", f"/reviews/{name}")]
    if page.language == "en" and page.date.startswith("2023"):
        return [("As printed in 2023", f"/issues/2023/{name}")]
    return []
