"""Command lines, Scrapyd and the forms of clouds know nothing but texts: each setting can be given as one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.pages import page
from helpers.scrapy_project import ScrapyProject
from helpers.site_server import Site
from scrapy_simdedup import DedupSettings, SettingError

MEANT: list[tuple[str, str, Any]] = [
    (
        "site_settings",
        '{"news.example": {"drop": "near", "near": 0.8}}',
        {"news.example": {"drop": "near", "near": 0.8}},
    ),
    (
        "site_settings",
        '{"news.example": {"prefer": null, "identical": "0.9"}}',
        {"news.example": {"prefer": None, "identical": 0.9}},
    ),
    ("site_settings", "{}", {}),
    ("role_words", '{"footer": ["imprint"]}', (("footer", ("imprint",)),)),
    ("item_fields", "title, text", ("title", "text")),
    ("item_fields", '["title", "text"]', ("title", "text")),
    ("content_fields", '{"body": "markdown", "by": "author"}', (("body", "markdown"), ("by", "author"))),
    ("content_fields", "markdown, title", (("markdown", "markdown"), ("title", "title"))),
    ("ignore", '["case", "dates"]', ("case", "dates")),
    ("prefer", '["https", "longer"]', ("https", "longer")),
    ("prefer", "https,longer", ("https", "longer")),
    ("report", "report.html,report.json", ("report.html", "report.json")),
    ("report", '["report.html"]', ("report.html",)),
    ("url_rules", "one.json, two.json", ("one.json", "two.json")),
    ("ttl", "86400", 86400.0),
    ("enabled", "False", False),
    ("bits", "128", 128),
    ("workers", "2", 2),
]
UNSET = ("", " ", "None", "null")


@pytest.mark.parametrize(("name", "text", "meant"), MEANT)
def test_a_text_means_what_python_would_say(name: str, text: str, meant: Any) -> None:
    assert getattr(DedupSettings.from_keywords(**{name: text}), name) == meant


@pytest.mark.parametrize("text", UNSET)
def test_nothing_means_the_default_where_nothing_is_a_choice(text: str) -> None:
    defaults = DedupSettings()
    names = [name for name in DedupSettings.__dataclass_fields__ if getattr(defaults, name) in (None, (), {})]
    assert {"ttl", "store", "run", "secret", "report", "site_settings", "item_fields"} <= set(names)
    assert DedupSettings.from_keywords(**dict.fromkeys(names, text)) == defaults


@pytest.mark.parametrize("text", UNSET)
@pytest.mark.parametrize("name", ["mode", "identical", "workers", "track_layout"])
def test_and_is_refused_where_it_is_none(name: str, text: str) -> None:
    with pytest.raises(SettingError, match=f"SIMDEDUP_{name.upper()}"):
        DedupSettings.from_keywords(**{name: text})


@pytest.mark.parametrize(
    "text", ["{'news.example': {'drop': 'near'}}", "news.example", '{"news.example": "near"}', "[1]"]
)
def test_a_dictionary_that_is_no_json_is_refused_with_one_to_copy(text: str) -> None:
    with pytest.raises(SettingError) as caught:
        DedupSettings.from_keywords(site_settings=text)
    _, _, example = caught.value.remedy.partition("such as ")
    DedupSettings.from_keywords(site_settings=example)


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("https://news.example/", "news.example/"),
        ("//news.example", "news.example"),
        ("news.example:8080", "news.example"),
        ("*.news.example", "news.example"),
        ("user@news.example", "news.example"),
        ("news.example/#top", "news.example/"),
    ],
)
def test_a_key_that_no_page_would_match_is_refused_with_one_that_would(key: str, remedy: str) -> None:
    with pytest.raises(SettingError, match=f"write '{remedy}'"):
        DedupSettings.from_keywords(site_settings=json.dumps({key: {"drop": "near"}}))
    DedupSettings.from_keywords(site_settings={remedy: {"drop": "near"}})


@pytest.mark.slow
def test_a_crawl_with_texts_alone(site: Site, tmp_path: Path) -> None:
    paths = ["/one", "/one?again"]
    for path in paths:
        site[path] = page("one", path)
    project = ScrapyProject.start(tmp_path / "project", site.urls(*paths))
    texts = {
        "SIMDEDUP_SITE_SETTINGS": '{"127.0.0.1": {"max_copies": 2}}',
        "SIMDEDUP_STORE": "",
        "SIMDEDUP_RUN": "",
        "SIMDEDUP_TTL": "None",
        "SIMDEDUP_REPORT": "report.html,report.json",
        "SIMDEDUP_ITEM_FIELDS": '["url"]',
    }
    options = [word for name, text in texts.items() for word in ("-s", f"{name}={text}")]
    made = project.call("crawl", "pages", "-O", "items.json", *options)
    assert made.code == 0, made.log
    assert len(json.loads((project.folder / "items.json").read_text())) == 2, "two copies are kept"
    assert (project.folder / "report.html").exists()
    assert (project.folder / "report.json").exists()
