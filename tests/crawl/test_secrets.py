"""Passwords and secrets appear in no log, stat, error, item or file, whatever goes wrong."""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from helpers.crawling import ADDON, Crawl, PathsSpider, crawl
from helpers.on_asyncio import on_asyncio
from helpers.pages import page
from helpers.site_server import Site
from helpers.warm_python import run_python
from scrapy_simdedup import DedupSettings, NearDuplicateDetector, SettingError, StoreError
from scrapy_simdedup.display import redact_password

PASSWORD = "hunter2"

URLS = [
    f"redis://user:{PASSWORD}@127.0.0.1:1/0",
    f"redis://:{PASSWORD}@127.0.0.1:1/0",
    f"redis://127.0.0.1:1/0?password={PASSWORD}",
    f"redis+cluster://user:{PASSWORD}@127.0.0.1:1",
    f"rediss://user:{PASSWORD}@127.0.0.1:1/0",
    f"unix://user:{PASSWORD}@/no/such.sock?db=0",
    f"postgresql://user:{PASSWORD}@127.0.0.1:1/db?connect_timeout=1",
    f"postgresql://user:{PASSWORD}@host:port/db",
    f"postgresql://127.0.0.1:1/db?user=u&password={PASSWORD}",
]
"""Stores that do not answer."""

WRONG = [
    *(f"mysql://user:{PASSWORD}@host/db", f"//user:{PASSWORD}@host/db", f"user:{PASSWORD}@host/db"),
    *(f"redis:user:{PASSWORD}@host", f"redis:/user:{PASSWORD}@host", f"redis://user:{PASSWORD}@[broken/0"),
    *(f"redis://user:{PASSWORD}/@host", f"redis://user:{PASSWORD}#@host", f"redis://user:a@{PASSWORD}@host:port/0"),
    f"postgresql://host/db?password={PASSWORD}&no=option",
    *(f"sqlite://user:{PASSWORD}@host/db", [f"redis://user:{PASSWORD}@host"], {"url": f"redis://:{PASSWORD}@host"}),
]
"""Stores that there cannot be."""


class MetaSpider(PathsSpider):
    """Follows a link with the meta of its page, as many spiders do, and keeps what it saw."""

    def parse(self, response: Any) -> Any:
        self.called.append(pickle.dumps(response.meta.get("simdedup_verdict")))
        yield {"url": response.url, "verdict": response.meta.get("simdedup_verdict")}
        if len(self.called) == 1:
            yield Request(f"{response.url}?next", meta=response.meta.copy())


def everything(made: Crawl, log: pytest.LogCaptureFixture) -> str:
    """All that a crawl tells."""
    said = [log.text, repr(made.crawler.stats.get_stats()), repr(made.items), repr(made.spider.called)]
    return "\n".join([*said, *(repr(vars(record)) for record in log.records)])


def contents(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("url", URLS)
@on_asyncio
async def test_a_store_that_does_not_answer_is_named_without_its_password(
    site: Site, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    """The log says which store it is, with all that Scrapy and the driver add at the finest level."""
    caplog.set_level(logging.DEBUG)
    site["/a"] = page("a")
    with pytest.raises(StoreError) as caught:
        await crawl(MetaSpider, ADDON | {"SIMDEDUP_STORE": url}, urls=site.urls("/a"))
    assert "The crawl does not begin" in caplog.text
    assert "Overridden settings" in caplog.text
    assert PASSWORD not in caplog.text + "".join(repr(vars(record)) for record in caplog.records)
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", WRONG, ids=str)
def test_a_wrong_store_is_named_without_its_password(url: Any) -> None:
    """In the error, its arguments and its pickle."""
    with pytest.raises(SettingError) as caught:
        NearDuplicateDetector(settings=DedupSettings.from_keywords(store=url))
    assert PASSWORD not in f"{caught.value} {vars(caught.value)} {caught.value.args} {pickle.dumps(caught.value)!r}"
    error: BaseException | None = caught.value
    while error is not None and not error.__suppress_context__:
        error = error.__cause__ or error.__context__
        assert PASSWORD not in repr(error)


@pytest.mark.parametrize(
    ("name", "value"),
    [("secret", [PASSWORD]), ("secret_key", PASSWORD), ("secrt", PASSWORD), ("store_url", f"redis://:{PASSWORD}@host")],
)
def test_a_secret_under_a_wrong_name_is_not_shown(name: str, value: Any) -> None:
    """A slip of the pen is no reason to print it."""
    with pytest.raises(SettingError, match="SIMDEDUP_") as caught:
        DedupSettings.from_keywords(**{name: value})
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:hunter2@host:6379/0", "redis://user:***@host:6379/0"),
        ("postgresql://host/db?password=hunter2&user=u", "postgresql://host/db?password=***&user=u"),
        ("//user:hunter2@host/db", "//user:***@host/db"),
        ("sqlite:////tmp/a:b@c.sqlite", "sqlite:////tmp/a:b@c.sqlite"),
        ("redis:///user:hunter2@host/0", "redis:///user:***@host/0"),
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("project.stores.Store:user:hunter2@host", "project.stores.Store:***@host"),
        ("project.stores.Store:host=h;Password=hunter2", "project.stores.Store:host=h;Password=***"),
        ("memory:", "memory:"),
    ],
)
def test_only_the_password_is_hidden(url: str, shown: str) -> None:
    """What else is in the URL helps whoever reads the log."""
    assert redact_password(url) == shown


def test_settings_do_not_show_what_is_secret() -> None:
    """Whoever logs them has not thought of it."""
    made = DedupSettings.from_keywords(store=URLS[0], secret=PASSWORD)
    assert PASSWORD not in repr(made)
    assert PASSWORD in (made.secret or "")


@on_asyncio
async def test_the_secret_is_nowhere(site: Site, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Not in the log, in what callbacks see, in requests on disk, or in the store, which only recognises it."""
    caplog.set_level(logging.DEBUG)
    site["/a"], site["/a?next"] = page("a", 1), page("a", 2)
    settings = ADDON | {"SIMDEDUP_SECRET": PASSWORD, "JOBDIR": str(tmp_path), "SIMDEDUP_WORKERS": 1}
    made = await crawl(MetaSpider, settings, urls=site.urls("/a"))
    assert made.stat("pages/dropped") == 1
    assert PASSWORD not in everything(made, caplog)
    written = contents(tmp_path)
    assert any(name.startswith("simdedup") for name in written)
    assert all(PASSWORD.encode() not in raw for raw in written.values())


@on_asyncio
async def test_another_secret_is_refused_without_telling_either(tmp_path: Path) -> None:
    """The error names the setting."""
    store = f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
    first = NearDuplicateDetector(store, secret=PASSWORD)
    await first.open()
    await first.close()
    for other in ({"secret": f"not {PASSWORD}"}, {}):
        with pytest.raises(StoreError, match="SIMDEDUP_SECRET") as caught:
            await NearDuplicateDetector(store, **other).open()
        assert PASSWORD not in str(caught.value)


def test_the_command_line_does_not_show_them(tmp_path: Path) -> None:
    """Scrapy prints the settings that it knows and that were overridden; ours are not among them."""
    spider = tmp_path / "spider.py"
    spider.write_text(
        "import scrapy\nclass S(scrapy.Spider):\n    name = 's'\n    async def start(self):\n        yield\n"
    )
    done = run_python(
        ["-m", "scrapy", "runspider", spider]
        + [f"-s{name}={value}" for name, value in {"SIMDEDUP_STORE": URLS[0], "SIMDEDUP_SECRET": PASSWORD}.items()]
        + ["-s", 'ADDONS={"scrapy_simdedup.Addon": 500}', "-s", "TELNETCONSOLE_ENABLED=0"],
        cwd=tmp_path,
    )
    assert "The crawl does not begin: redis://user:***@127.0.0.1:1/0" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
