"""A better copy is kept and takes the place of the one that came before it."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from helpers.methods import METHODS
from helpers.on_asyncio import on_asyncio
from helpers.pages import page, prose, words
from helpers.prints import edited
from scrapy_simdedup import DedupSettings, NearDuplicateDetector, SettingError, Verdict
from scrapy_simdedup.detect import copy_check
from scrapy_simdedup.detect.copy_check import PREFERENCES, CopyFacts
from scrapy_simdedup.settings import Criterion
from scrapy_simdedup.store import store_by_url
from scrapy_simdedup.store.base import FingerprintStore, Record
from scrapy_simdedup.store.memory import MemoryStore

LONG, SHORT = "https://shop.example/a?from=home", "https://shop.example/a"
SHORTER = "https://shop.example/"
WWW, OTHER_HOST = "https://www.example.com/a", "https://mallory.example.com/a"


async def opened(store: FingerprintStore | None = None, **settings: Any) -> NearDuplicateDetector:
    detector = NearDuplicateDetector(store, **settings)
    await detector.open()
    return detector


async def added(detector: NearDuplicateDetector, *urls: str) -> list[Verdict]:
    """The verdicts on one content under these URLs, one after the other, each confirmed if it is kept."""
    return [await detector.add(page("a", number), url=url) for number, url in enumerate(urls)]


async def records(store: MemoryStore) -> dict[str, Record]:
    return {record.url: record async for _, record in store.records()}


def by_last_letter(url: str, facts: CopyFacts) -> str:
    """A key of the user's own."""
    assert facts.length > 0
    return url[-1]


def claiming(url: str) -> str:
    return page("a").replace("<title>", f'<link rel="canonical" href="{url}"><title>')


LONGER = page("a", body=prose("a") + f"<p>{' '.join(words('more', 6))}</p>")


class TestWhatIsBetter:
    @pytest.mark.parametrize(
        ("better", "first", "then"),
        [
            (["shorter_url"], (LONG, page("a")), (SHORT, page("a"))),
            (["https"], ("http://shop.example/a", page("a")), ("https://shop.example/a?long", page("a"))),
            (["longer"], (SHORT, page("a")), (LONG, LONGER)),
            (["canonical"], (SHORT, claiming(LONG)), (LONG, claiming(LONG + "#top"))),
            (["canonical", "shorter_url"], (LONG, page("a")), (SHORT, page("a"))),
            (["https", "shorter_url"], ("http://shop.example/a", page("a")), (LONG, page("a"))),
            (f"{__name__}:by_last_letter", ("https://shop.example/a", page("a")), (LONG, page("a"))),
        ],
    )
    @on_asyncio
    async def test_a_copy_supersedes_by_the_key_and_never_the_other_way(
        self, better: Any, first: tuple[str, str], then: tuple[str, str]
    ) -> None:
        """The other way round it is a repeat as any."""
        detector = await opened(prefer=better)
        await detector.add(first[1], url=first[0])
        verdict = await detector.add(then[1], url=then[0])
        assert (verdict.kind, verdict.is_duplicate, verdict.reason) == ("identical", False, "better")
        assert verdict.supersedes == verdict.original == first[0]
        detector = await opened(prefer=better)
        await detector.add(then[1], url=then[0])
        verdict = await detector.add(first[1], url=first[0])
        assert (verdict.is_duplicate, verdict.supersedes, verdict.original) == (True, None, then[0])

    @on_asyncio
    async def test_of_equals_the_first_stays(self) -> None:
        detector = await opened(prefer=["https", "shorter_url"])
        _, verdict = await added(detector, "https://shop.example/a", "https://shop.example/b")
        assert verdict.is_duplicate

    @on_asyncio
    async def test_unless_asked_for_the_first_stays(self) -> None:
        _, verdict = await added(await opened(), LONG, SHORT)
        assert (verdict.is_duplicate, verdict.supersedes) == (True, None)

    @on_asyncio
    async def test_a_site_may_have_a_key_of_its_own(self) -> None:
        detector = await opened(site_settings={"shop.example": {"prefer": ["shorter_url"]}})
        _, verdict = await added(detector, LONG, SHORT)
        assert verdict.supersedes == LONG
        _, verdict = await added(detector, LONG.replace("shop", "news"), SHORT.replace("shop", "news"))
        assert verdict.is_duplicate

    @on_asyncio
    async def test_nobody_supersedes_a_page_of_another_domain(self) -> None:
        """However short its URL is: it is dropped, as without a key."""
        detector = await opened(scope="all", prefer=["shorter_url"])
        _, verdict = await added(detector, LONG, "https://x.example/")
        assert (verdict.is_duplicate, verdict.supersedes) == (True, None)

    @pytest.mark.parametrize(
        ("first", "supersedes"),
        [
            (page("a"), True),
            (claiming(WWW), True),
            (claiming(f"{WWW}#top"), True),
            (claiming(OTHER_HOST), False),
            (claiming("https://www.example.com/b"), False),
        ],
        ids=["claims nothing", "agrees", "agrees with a fragment", "claims itself", "claims another"],
    )
    @on_asyncio
    async def test_a_page_of_another_host_is_canonical_if_the_first_one_has_nothing_against_it(
        self, first: str, supersedes: bool
    ) -> None:
        """Else whoever has a host of a domain could take the places of all pages of the other hosts."""
        detector = await opened(prefer=["canonical"])
        await detector.add(first, url=OTHER_HOST)
        verdict = await detector.add(claiming(WWW), url=WWW)
        assert (verdict.supersedes == OTHER_HOST, verdict.is_duplicate) == (supersedes, not supersedes)

    @on_asyncio
    async def test_a_page_of_another_host_may_say_that_it_is_not_the_canonical_one(self) -> None:
        """Then no other criterion is asked."""
        detector = await opened(prefer=["canonical", "shorter_url"])
        await detector.add(claiming(f"{WWW}?long"), url=f"{WWW}?long")
        verdict = await detector.add(claiming(f"{WWW}?long"), url="https://example.com/a")
        assert (verdict.is_duplicate, verdict.supersedes) == (True, None)

    @on_asyncio
    async def test_what_a_page_of_another_run_declared_is_not_known(self, sqlite_store: str) -> None:
        for run, url in (("monday", OTHER_HOST), ("tuesday", WWW)):
            detector = await opened(store_by_url(sqlite_store), prefer=["canonical"], against="history", run=run)
            verdict = await detector.add(claiming(WWW), url=url)
            await detector.close()
        assert (verdict.is_duplicate, verdict.supersedes) == (True, None)

    @on_asyncio
    async def test_the_claims_that_are_remembered_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(copy_check, "MAX_PAGES", 2)
        detector = await opened(prefer=["canonical"])
        await detector.add(page("a"), url=OTHER_HOST)
        for number in range(2):
            await detector.add(page(number), url=f"{WWW}?{number}")
        assert (await detector.add(claiming(WWW), url=WWW)).is_duplicate

    @on_asyncio
    async def test_a_near_page_supersedes_where_near_ones_are_dropped(self) -> None:
        detector = await opened(drop="near", prefer=["shorter_url"], secret="tide")
        await detector.add(page("a"), url=LONG)
        verdict = await detector.add(edited("a"), url=SHORT)
        assert (verdict.kind, verdict.supersedes) == ("near", LONG)

    def test_criteria_that_can_be_named_are_those_that_there_are(self) -> None:
        assert set(get_args(Criterion)) == set(PREFERENCES)

    @pytest.mark.parametrize("value", ["https, longer", ["https", "longer"], ("https", "longer")])
    def test_criteria_are_a_list_or_on_the_command_line_a_text(self, value: Any) -> None:
        assert DedupSettings.from_keywords(prefer=value).prefer == ("https", "longer")

    @pytest.mark.parametrize("value", ["", [], None])
    def test_no_criteria_are_no_key(self, value: Any) -> None:
        assert DedupSettings.from_keywords(prefer=value).prefer is None

    @pytest.mark.parametrize("value", ["nowhere.at.all", "https,nicer", ["nicer"], 7, "scrapy_simdedup.__version__"])
    def test_what_is_no_key_is_refused_with_what_to_write(self, value: Any) -> None:
        with pytest.raises(SettingError, match=r"SIMDEDUP_PREFER.*'canonical', 'https', 'longer', 'shorter_url'"):
            DedupSettings.from_keywords(prefer=value)


class TestItsPlace:
    @pytest.mark.parametrize("name", METHODS)
    @on_asyncio
    async def test_later_copies_repeat_the_newest_better_one(self, name: str) -> None:
        detector = await opened(prefer=["shorter_url"], **METHODS[name])
        urls = [LONG, SHORT, LONG + "&n=1", SHORTER, SHORT + "?n=2"]
        verdicts = [await detector.add(page("a"), url=url) for url in urls]
        assert [verdict.supersedes for verdict in verdicts] == [None, LONG, None, SHORT, None]
        assert [verdict.is_duplicate for verdict in verdicts] == [False, False, True, False, True]
        assert (verdicts[2].original, verdicts[4].original) == (SHORT, SHORTER)
        assert len({verdict.original_key for verdict in verdicts[1:]}) == 1, "it is one content all the time"

    @on_asyncio
    async def test_one_that_was_not_delivered_takes_no_place(self) -> None:
        detector = await opened(prefer=["shorter_url"])
        await added(detector, LONG)
        verdict = await detector.judge(page("a"), url=SHORT)
        (repeat,) = await added(detector, LONG + "&n=1")
        assert (repeat.is_duplicate, repeat.original) == (True, LONG), (
            "the first was delivered, so nobody needs to wait"
        )
        await detector.release(verdict.page)
        (repeat,) = await added(detector, LONG + "&n=2")
        assert (repeat.is_duplicate, repeat.original) == (True, LONG)

    @on_asyncio
    async def test_another_better_one_waits_for_one_that_is_in_work(self) -> None:
        """So that of two the better one stays, whichever is delivered first."""
        detector = await opened(prefer=["shorter_url"])
        await added(detector, LONG)
        best = await detector.judge(page("a"), url=SHORTER)
        waiting = await detector.judge(page("a"), url=SHORT)
        assert waiting.pending == best.page
        await detector.confirm(best.page)
        verdict = await detector.judge(page("a"), url=SHORT)
        assert (verdict.is_duplicate, verdict.original) == (True, SHORTER)

    @on_asyncio
    async def test_a_page_unlike_the_better_copy_is_not_dropped_for_the_one_before(self) -> None:
        """Who overwrites the first with the better copy must not lose what only resembled the first."""
        detector = await opened(drop="near", prefer=["shorter_url"], secret="tide")
        await detector.add(edited("a", share=0.1), url=LONG)
        assert (await detector.add(page("a"), url=SHORT)).supersedes == LONG
        text = words("a", 240)
        text[:24] = words("another edit", 24)
        text[-24:] = words("edit of a", 24)
        both = page("a", body="\n".join(f"<p>{' '.join(text[i : i + 40])}.</p>" for i in range(0, 240, 40)))
        assert (await detector.add(both, url=LONG + "&n=1")).kind == "new"

    @pytest.mark.parametrize("against", ["run", "history"])
    @on_asyncio
    async def test_in_a_recrawl_it_keeps_its_place_in_any_order(self, against: str) -> None:
        store = MemoryStore()
        settings: dict[str, Any] = {"prefer": ["shorter_url"], "against": against}
        await added(await opened(store, run="monday", **settings), LONG, SHORT)
        for run, urls in {"tuesday": (SHORT, LONG), "wednesday": (LONG, SHORT)}.items():
            detector = await opened(store, run=run, **settings)
            verdicts = dict(zip(urls, await added(detector, *urls), strict=True))
            assert not verdicts[SHORT].is_duplicate
            repeat = (await added(detector, LONG + "&n=1"))[0]
            assert (repeat.is_duplicate, repeat.original) == (True, SHORT)
            if against == "history":
                assert verdicts[SHORT].kind == "unchanged"
                assert verdicts[LONG].original == SHORT

    @on_asyncio
    async def test_another_worker_knows_of_it(self) -> None:
        store = MemoryStore()
        one, other = [await opened(store, run="monday", prefer=["shorter_url"]) for _ in range(2)]
        await added(other, LONG)
        await added(one, SHORT)
        (verdict,) = await added(other, LONG + "&n=1")
        assert verdict.original == SHORT

    @on_asyncio
    async def test_a_page_that_changed_is_searched_again(self) -> None:
        """Then it stands for its new content, and the better copy for the old one."""
        store = MemoryStore()
        settings: dict[str, Any] = {"prefer": ["shorter_url"], "against": "history"}
        await added(await opened(store, run="monday", **settings), LONG, SHORT)
        detector = await opened(store, run="tuesday", **settings)
        assert (await detector.add(page("b"), url=LONG)).kind == "changed"
        assert (await detector.add(page("a"), url=SHORT)).kind == "unchanged"
        detector = await opened(store, run="wednesday", **settings)
        verdicts = [await detector.add(page(seed), url=f"{LONG}&{seed}") for seed in ("a", "b")]
        assert [verdict.original for verdict in verdicts] == [SHORT, LONG]
        assert all(verdict.is_duplicate for verdict in verdicts)

    @on_asyncio
    async def test_a_budget_is_kept_with_it(self) -> None:
        """A better copy comes on top of what the budget keeps, and takes the place of one of these."""
        detector = await opened(prefer=["shorter_url"], max_copies=2)
        urls = [LONG, LONG + "&n=1", SHORT, LONG + "&n=2", LONG + "&n=3"]
        verdicts = await added(detector, *urls)
        assert [verdict.reason for verdict in verdicts] == [None, "within_budget", "better", None, None]
        assert [verdict.is_duplicate for verdict in verdicts] == [False, False, False, True, True]

    @on_asyncio
    async def test_each_is_compared_with_those_that_stand_however_many_there_were(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In the thread of the event loop."""
        compared: list[Record] = []
        is_like = copy_check._is_still_a_copy
        monkeypatch.setattr(
            copy_check, "_is_still_a_copy", lambda fp, other: (compared.append(other), is_like(fp, other))[1]
        )
        detector = await opened(prefer=["shorter_url"], stubs="keep")
        verdicts = await added(detector, *(f"{SHORT}?{'x' * length}" for length in range(60, 0, -1)))
        assert [verdict.reason for verdict in verdicts] == [None] + ["better"] * 59
        (last,) = await added(detector, LONG)
        assert last.original == f"{SHORT}?x"
        assert len(compared) == 59

    @on_asyncio
    async def test_the_record_names_the_first_page_of_its_cluster(self) -> None:
        store = MemoryStore()
        await added(await opened(store, prefer=["shorter_url"]), LONG, SHORT, SHORTER)
        found = await records(store)
        assert found[LONG].original is None
        assert found[SHORT].original == found[SHORTER].original == found[LONG].key


@on_asyncio
async def test_a_page_that_changed_is_not_displaced_by_a_repeat_of_what_it_was() -> None:
    """The repeat then stands for the old content, in a cluster of its own."""
    store = MemoryStore()
    detector = await opened(store, against="history", run="monday")
    for url in (LONG, SHORT):
        await detector.add(page("a"), url=url)
    detector = await opened(store, against="history", run="tuesday")
    assert (await detector.add(edited("a"), url=LONG)).kind == "changed"
    assert (await detector.add(page("a"), url=SHORT)).kind == "unchanged"
    for number, (html, original) in enumerate([(edited("a"), LONG), (page("a"), SHORT)]):
        verdict = await detector.add(html, url=f"{LONG}&n={number}")
        assert (verdict.is_duplicate, verdict.original) == (True, original)
    assert (await records(store))[SHORT].original is None
