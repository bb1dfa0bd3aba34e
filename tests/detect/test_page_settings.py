"""A site can have settings of its own, and so can each kind of its pages."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.prints import edited
from scrapy_simdedup import DedupSettings, NearDuplicateDetector, SettingError
from scrapy_simdedup.detect.names import PageSettings


def settings_of(url: str, site_settings: dict[str, Any], **settings: Any) -> DedupSettings:
    """The settings of the page with this URL."""
    return PageSettings(DedupSettings.from_keywords(site_settings=site_settings, **settings)).of(url)


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "url", "fits"),
        [
            ("shop.example/product/", "https://shop.example/product/1", True),
            ("shop.example/product/", "https://www.shop.example/product/1?colour=red", True),
            ("shop.example/product/", "http://SHOP.example:8080/Product/1#top", True),
            ("Shop.Example/Product/", "https://shop.example/product/1", True),
            ("shop.example/product/", "https://shop.example/products", False),
            ("shop.example/product/", "https://blog.shop.example/product/1", False),
            ("shop.example/product/", "https://other.example/product/1", False),
            ("shop.example/product|", "https://shop.example/product/1", False),
            ("shop.example/*/review", "https://shop.example/product/1/review", True),
            ("shop.example?id=*", "https://shop.example/view?id=7", True),
            ("shop.example?id=*", "https://shop.example/view?page=7", False),
            ("/product/", "https://any.example/product/1", True),
            ("127.0.0.1/product/", "http://127.0.0.1:8000/product/1", True),
            ("[::1]/product/", "http://[::1]:8000/product/1", True),
            ("shop.example/8000", "https://shop.example/8000:9/", True),
            ("shop.example/a:5/", "https://shop.example/a:5/b", True),
        ],
    )
    def test_is_of_the_pages_whose_urls_it_fits_on_any_port(self, pattern: str, url: str, fits: bool) -> None:
        assert (settings_of(url, {pattern: {"near": 0.5}}).near == 0.5) == fits

    @pytest.mark.parametrize("url", ["", "no url", "http://[", "data:,page", "https://shop.example/" + 3_000 * "a"])
    def test_is_not_of_what_is_no_address_of_a_page(self, url: str) -> None:
        assert settings_of(url, {"/": {"near": 0.5}}).near == 0.85

    @pytest.mark.parametrize(
        ("url", "near"),
        [
            ("https://shop.example/", 0.6),
            ("https://shop.example/product/1", 0.7),
            ("https://shop.example/product/new/1", 0.8),
            ("https://other.example/product/1", 0.5),
            ("https://other.example/", 0.85),
        ],
    )
    def test_is_the_most_specific_that_fits(self, url: str, near: float) -> None:
        """One of the host before one of any, then the longest path; the order in which they are written is nothing."""
        keys = {
            "/product/": {"near": 0.5},
            "shop.example": {"near": 0.6},
            "shop.example/product/": {"near": 0.7},
            "shop.example/product/*/*****": {"near": 0.75},
            "shop.example/product/new": {"near": 0.8},
        }
        for order in (keys, dict(reversed(keys.items()))):
            assert settings_of(url, order).near == near

    def test_changes_what_the_site_has(self) -> None:
        """And leaves the rest of it."""
        keys = {
            "shop.example": {"drop": "near", "near": 0.8, "stubs": "drop"},
            "shop.example/product/": {"near": 0.9},
        }
        product, other = (settings_of(f"https://shop.example/{path}", keys) for path in ("product/1", "news/1"))
        assert (product.drop, product.near, product.stubs) == ("near", 0.9, "drop")
        assert (other.drop, other.near, other.stubs) == ("near", 0.8, "drop")

    def test_changes_what_the_host_has_where_the_domain_has_something_else(self) -> None:
        keys = {"shop.co.uk": {"drop": "near"}, "www.shop.co.uk": {"identical": 0.9}, "/a": {"near": 0.7}}
        found = settings_of("https://www.shop.co.uk/a", keys)
        assert (found.drop, found.identical, found.near) == ("identical", 0.9, 0.7)

    def test_is_written_as_json_on_the_command_line(self) -> None:
        made = DedupSettings.from_keywords(site_settings='{"shop.example/product/": {"near": 0.9}}')
        assert PageSettings(made).of("https://shop.example/product/1").near == 0.9

    def test_counts_for_what_is_searched(self) -> None:
        made = DedupSettings.from_keywords(site_settings={"shop.example/product/": {"near": 0.4}})
        assert made.lowest_near == 0.4


class TestKeyThatMatchesNoPage:
    @pytest.mark.parametrize(
        ("key", "usable"),
        [
            ("https://shop.example/product/", "shop.example/product/"),
            ("//shop.example", "shop.example"),
            ("shop.example:8080", "shop.example"),
            ("shop.example:8080/product/", "shop.example/product/"),
            ("shop.example/product/#top", "shop.example/product/"),
            ("user@shop.example", "shop.example"),
            ("*.shop.example", "shop.example"),
            ("shop.example.", "shop.example"),
            (" shop.example", "shop.example"),
            ("[::1]:80", "::1"),
        ],
    )
    def test_is_refused_with_the_one_to_write(self, key: str, usable: str) -> None:
        with pytest.raises(SettingError, match="SIMDEDUP_SITE_SETTINGS") as caught:
            settings_of("", {key: {"near": 0.5}})
        assert caught.value.value == key
        assert f"write {usable!r}" in caught.value.remedy
        settings_of("", {usable: {"near": 0.5}})

    @pytest.mark.parametrize(
        "key", ["", "*", "https://", "any page", "shop.example/a page", "shop.*.example", "mailto:a"]
    )
    def test_is_refused_with_an_example_where_nobody_can_tell_what_was_meant(self, key: str) -> None:
        with pytest.raises(SettingError, match=r"shop\.example/product/"):
            settings_of("", {key: {"near": 0.5}})

    def test_does_not_show_its_password(self) -> None:
        with pytest.raises(SettingError) as caught:
            settings_of("", {"https://user:hunter2@shop.example/": {"near": 0.5}})
        assert "hunter2" not in str(caught.value)


class TestOverrideThatCannotBe:
    @pytest.mark.parametrize(
        ("key", "site"),
        [("shop.example/product/", "shop.example"), ("a.example?id=*", "a.example"), ("/a", "shop.example")],
    )
    def test_of_a_whole_site_is_refused_for_a_kind_of_pages(self, key: str, site: str) -> None:
        with pytest.raises(SettingError, match=rf"'stubs' .* per site only, under a key such as '{site}'"):
            settings_of("", {key: {"stubs": "drop"}})

    @pytest.mark.parametrize("key", ["shop.example", "shop.example/product/"])
    def test_of_the_whole_crawl_is_refused_with_those_that_can(self, key: str) -> None:
        with pytest.raises(SettingError, match=r"'max_pages_per_site' .*: a site can override drop, identical, near"):
            settings_of("", {key: {"max_pages_per_site": 5}})

    def test_is_refused_with_the_nearest_that_can(self) -> None:
        with pytest.raises(SettingError, match=r"'max_copy' .*did you mean max_copies\?"):
            settings_of("", {"shop.example": {"max_copy": 2}})

    @pytest.mark.parametrize("pattern", ["shop.co.uk/a", "blog.shop.co.uk/a", "www.shop.co.uk/a", "/a"])
    @pytest.mark.parametrize("site", ["shop.co.uk", "www.shop.co.uk"])
    def test_of_near_above_identical_is_refused_even_where_two_keys_make_it(self, pattern: str, site: str) -> None:
        keys = {site: {"identical": 0.9}, pattern: {"near": 0.92}}
        if pattern.startswith("blog") and site.startswith("www"):  # no page has both
            settings_of("", keys)
        else:
            with pytest.raises(SettingError, match="'near' that is not above 'identical'"):
                settings_of("", keys)

    def test_of_near_is_not_refused_where_every_page_has_an_identical_above_it(self) -> None:
        keys = {
            "shop.co.uk": {"identical": 0.98},
            "blog.shop.co.uk": {"identical": 0.9},
            "shop.co.uk/a": {"near": 0.96},
        }
        assert settings_of("https://www.shop.co.uk/a", keys).near == 0.96


@on_asyncio
async def test_a_kind_of_page_can_have_its_own_thresholds() -> None:
    """The new page's decide, whatever those of the page it is like."""
    keys = {
        "shop.example": {"drop": "near"},
        "shop.example/product/": {"near": 0.94},
        "shop.example/tag/": {"near": 0.5},
    }
    detector = NearDuplicateDetector(site_settings=keys, secret="of the tests")
    await detector.open()
    await detector.add(page("kettle"), url="https://shop.example/product/1")
    for path, share, kind, is_duplicate in (
        ("product/2", 0.1, "new", False),
        ("news/2", 0.1, "near", True),
        ("tag/2", 0.3, "near", True),
        ("news/3", 0.3, "new", False),
    ):
        verdict = await detector.judge(edited("kettle", path, share), url=f"https://shop.example/{path}")
        assert (verdict.kind, verdict.is_duplicate) == (kind, is_duplicate), path
        await detector.release(verdict.page)
    await detector.close()


@on_asyncio
async def test_a_kind_of_page_can_have_its_own_extractor() -> None:
    detector = NearDuplicateDetector(site_settings={"/product/": {"extractor": "readability"}})
    await detector.open()
    for path, extractor in (("product", "readability"), ("news", "roles")):
        url = f"https://shop.example/{path}/1"
        assert (await detector.fingerprint(page(path), url=url)).extractor == extractor
        assert (await detector.add(page(path), url=url)).kind == "new"
        assert (await detector.add(page(path, 2), url=url + "2")).is_duplicate
    await detector.close()


@pytest.mark.parametrize("setting", ["novel_words", "ttl", "max_pages_per_site", "identity"])
def test_the_remedy_for_a_setting_that_can_be_switched_off_says_so(setting: str) -> None:
    with pytest.raises(SettingError, match=rf"SIMDEDUP_{setting.upper()} = .* or None$"):
        DedupSettings.from_keywords(**{setting: [[]]})
    assert getattr(DedupSettings.from_keywords(**{setting: "None"}), setting) is None
