"""Sites as common programs make them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from helpers.simulated_crawl import Page, in_crawl_order, same, token, word


@in_crawl_order
def wiki(rng: random.Random) -> Iterator[list[Page]]:
    """MediaWiki: ``useskin``, ``printable`` and ``redirect=no`` change nothing, but 5 % of the titles are redirects."""
    root = "https://wiki.example/index.php"
    for number in range(500):
        title = word(rng, 9).capitalize()
        article = f"article {title}"
        url = f"{root}?title={title}"
        is_redirect = rng.random() < 0.05
        own = same(article, url, f"{url}&useskin=vector", f"{url}&printable=yes", f"{url}&useskin=mono&printable=yes")
        own.append(Page(f"{url}&redirect=no", article + " is a redirect" if is_redirect else article))
        own.append(Page(f"{url}&action=history", article + " history"))
        own.append(Page(f"{url}&action=history&limit={rng.choice((20, 50, 100))}", article + f" history {number % 3}"))
        own += [Page(f"{url}&oldid={number * 10 + n}", f"{article} version {n}") for n in range(2)]
        own.append(Page(f"{url}&oldid={number * 10 + 9}", article))
        yield own


@in_crawl_order
def blog(rng: random.Random) -> Iterator[list[Page]]:
    """WordPress: share and reply links, AMP, feeds, permalinks by number, trailing slashes."""
    root = "https://blog.example"
    for number in range(600):
        url = f"{root}/2023/{rng.randint(1, 12):02d}/{word(rng)}-{word(rng)}-{word(rng)}"
        post = f"post {number}"
        own = same(post, f"{url}/", url, f"{url}/?share=twitter", f"{url}/?share=facebook&nb=1", f"{root}/?p={number}")
        own += same(post, *(f"{url}/?replytocom={rng.randrange(9999)}" for _ in range(rng.randint(0, 4))))
        own += same(post, f"{url}/amp/", f"{url}/?utm_source=feed", f"{url}/?fbclid={token(rng)}")
        own.append(Page(f"{url}/feed/", post + " feed"))
        if rng.random() < 0.08:
            own += same(post + " comments 2", f"{url}/comment-page-2/", f"{url}/comment-page-2/?replytocom={number}")
        yield own
    for tag in range(40):
        url = f"{root}/tag/{word(rng)}"
        yield [
            p for n in range(1, 6) for p in same(f"tag {tag} {n}", f"{url}/page/{n}/", f"{url}/page/{n}/?share=twitter")
        ]


@in_crawl_order
def answers(rng: random.Random) -> Iterator[list[Page]]:
    """Questions: the sort order matters where there are several answers (one question in five has more than one)."""
    root = "https://ask.example"
    for number in range(700):
        slug = f"{word(rng)}-{word(rng)}"
        url = f"{root}/questions/{number}/{slug}"
        several = rng.random() < 0.2
        question = f"question {number}"
        own = same(
            question, url, f"{root}/questions/{number}", f"{url}?noredirect=1", f"{url}?lq=1", f"{url}?rq=1&lq=1"
        )
        own += [
            Page(f"{url}?answertab={tab}", f"{question} {tab}" if several and tab != "votes" else question)
            for tab in ("votes", "active", "oldest")
        ]
        own += same(question, *(f"{root}/a/{number * 20 + n}/{rng.randrange(500)}" for n in range(2)))
        own += [Page(f"{root}/posts/{number}/revisions", f"{question} revisions")]
        yield own
    for tag in range(50):
        for tab in ("newest", "frequent", ""):
            url = f"{root}/questions/tagged/{word(rng)}?page={rng.randint(1, 9)}"
            yield same(
                f"{tag} {tab} {url}",
                url + (f"&tab={tab}" if tab else ""),
                url + (f"&tab={tab}" if tab else "") + "&pagesize=15",
            )


@in_crawl_order
def gallery(rng: random.Random) -> Iterator[list[Page]]:
    """Photos: session ids in the path, a size that never matters, comments that matter for 3 % of the photos."""
    root = "http://photos.example"
    for number in range(800):
        photo = f"photo {number}"
        url = f"{root}/gallery/image.php?album={number % 20}&pos={number}"
        own = same(photo, url, f"{url}&size=large", f"{url}&size=small", f"{url}&PHPSESSID={token(rng, 26)}")
        own += same(photo, f"{url}&slideshow={rng.choice((2000, 4000, 5000))}", url.replace("http:", "https:"))
        has_comments = rng.random() < 0.03
        own.append(Page(f"{url}&comments=all", photo + " comments" if has_comments else photo))
        yield own


@in_crawl_order
def jobs(rng: random.Random) -> Iterator[list[Page]]:
    """Job adverts: tracking, language that matters for 6 % of the adverts, and two tokens that change together."""
    root = "https://jobs.example"
    for number in range(600):
        url = f"{root}/job/{number}/{word(rng)}-{word(rng)}"
        job = f"job {number}"
        own = same(job, url, f"{url}/", f"{url}?src=list{rng.randrange(30)}", f"{url}?utm_medium=mail&utm_source=alert")
        own += same(job, *(f"{url}?ts={rng.randrange(10**9, 2 * 10**9)}&sig={token(rng)}" for _ in range(3)))
        translated = rng.random() < 0.06
        own += [Page(f"{url}?lang={lang}", f"{job} {lang}" if translated else job) for lang in ("de", "fr")]
        own.append(Page(f"{root}/apply/{number}", f"{job} apply"))
        yield own


@in_crawl_order
def documentation(rng: random.Random) -> Iterator[list[Page]]:
    """Manuals: index files, highlight terms, a version parameter that changes 2.5 % of the pages."""
    root = "https://docs.example"
    for number in range(600):
        url = f"{root}/{rng.choice(('guide', 'api', 'howto'))}/{word(rng)}-{number}"
        doc = f"doc {number}"
        own = same(
            doc, f"{url}/", f"{url}/index.html", f"{url}/?highlight={word(rng)}", f"{url}/?highlight={word(rng)}&q=1"
        )
        own.append(Page(f"{url}/?v=2", doc + " v2" if rng.random() < 0.025 else doc))
        own.append(Page(f"{url}/?v=3", doc + " v3" if rng.random() < 0.025 else doc))
        yield own


@in_crawl_order
def board(rng: random.Random) -> Iterator[list[Page]]:
    """A bulletin board with paths: pages, post anchors by number, print pages, sort orders of member lists."""
    root = "https://board.example"
    for topic in range(500):
        own = []
        for page in range(rng.choice((1, 1, 1, 2, 3))):
            url = f"{root}/showthread.php?t={topic}" + (f"&page={page + 1}" if page else "")
            content = f"topic {topic} {page}"
            own += same(
                content,
                url,
                f"{url}&s={token(rng, 32)}",
                f"{url}&s={token(rng, 32)}",
                f"{url}&pp=10",
                f"{url}&mode=linear",
            )
            own += same(content, f"{url}&highlight={word(rng)}", f"{url}&goto=newpost")
            own.append(Page(f"{root}/printthread.php?t={topic}&page={page + 1}", f"{content} print"))
        own += same(f"topic {topic} 0", f"{root}/showthread.php?t={topic}&page=1")
        yield own
