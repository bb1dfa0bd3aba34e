"""What the documents tell people to write and to call works as it stands there."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import json
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import Field, fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings, default_settings

import scrapy_simdedup
from helpers.command_line import in_a_thread, perform_here
from helpers.crawling import ADDON, PathsSpider, crawl
from helpers.documents import DOCUMENTS, ROOT, START, Block, blocks_of, inline_settings, setting_names
from helpers.on_asyncio import wait_for
from helpers.pages import page
from helpers.public_api import stat_names
from helpers.site_server import Site
from helpers.warm_python import run_python
from scrapy_simdedup import Addon, DedupSettings, settings, stores
from scrapy_simdedup.commands.console import FAILED

if sys.version_info >= (3, 11):
    import tomllib

PACKAGE = ROOT / "scrapy_simdedup"
SHOWN = {"text", "sql", ""}
"""Languages of blocks that show what comes out, or what another program is told."""
IN_MODULES = {"FingerprintMismatch", "SettingError", "SimdedupError", "StoreBusy", "StoreError"}
"""Names that the reference has with the rest of their module."""
OF_OTHERS = ("DUD_", "SPIDERMON_")
"""Beginnings of settings of other plugins."""
EVERY = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project that crawled a small site: what the examples take for granted."""
    directory = tmp_path_factory.mktemp("example")
    with Site() as site:
        for name in ("a", "b"):
            for number in range(3):
                site[f"/{name}?v={number}"] = page(name, number)
        urls = site.urls(*site.answers)
        site["/"] = "".join(f'<a href="{url}">{url}</a>' for url in urls)
        store = f"sqlite:///{(directory / 'pages.sqlite').as_posix()}"
        wait_for(crawl(PathsSpider, {**ADDON, "SIMDEDUP_STORE": store, "SIMDEDUP_RUN": "monday"}, urls=urls))
        (directory / "one.html").write_text(page("a", 1), encoding="utf-8")
        (directory / "other.html").write_text(page("a", 2), encoding="utf-8")
        lines = [json.dumps({"url": url, "html": page(url[-5], 0)}) for url in urls]
        (directory / "items.jsonl").write_text("\n".join(lines), encoding="utf-8")
        (directory / "scrapy.cfg").write_text("[settings]\ndefault = project_settings\n", encoding="utf-8")
        (directory / "project_settings.py").write_text(
            "SPIDER_MODULES = ['project_spiders']\nADDONS = {'scrapy_simdedup.Addon': 500}\n", encoding="utf-8"
        )
        spider = (
            "import scrapy\n\n\nclass {0}(scrapy.Spider):\n    name = '{0}'\n    start_urls = ['{1}']\n\n"
            "    def parse(self, response):\n        yield {{'url': response.url}}\n"
            "        yield from response.follow_all(css='a')\n"
        )
        names = {name for document in DOCUMENTS for name in _crawled(document)}
        spiders = "\n\n".join(spider.format(name, site.url("/")) for name in sorted(names))
        (directory / "project_spiders.py").write_text(spiders, encoding="utf-8")
        yield directory


def _crawled(document: Path) -> list[str]:
    texts = [block.text for block in blocks_of(document) if block.language == "sh"]
    return re.findall(r"^scrapy crawl (\w+)", "\n".join(texts), re.MULTILINE)


def test_the_documents_have_code() -> None:
    """So that a change of their form cannot let the other tests run on nothing."""
    assert sum(len(blocks_of(document)) for document in DOCUMENTS) > 50


@pytest.mark.slow
@EVERY
def test_every_block_of_code_runs(
    document: Path, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the page, in one folder; unless a line above it says why not."""
    if document == START:
        pytest.skip("it is followed word by word in test_start_page.py")
    shutil.copytree(example, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"html": page("a", 1), "other_html": page("a", 2), "url": "https://site.example/"}
    for block in blocks_of(document):
        if block.why_not_run is None:
            _run(block, names)


def _run(block: Block, names: dict[str, Any]) -> None:
    if block.is_settings:
        _load(block.text)
    elif block.language == "python":
        if block.file:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        code = compile(block.text, block.document.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if code.co_flags & inspect.CO_COROUTINE:
            in_a_thread(lambda: asyncio.run(eval(code, names)))
        else:
            exec(code, names)
    elif block.language == "pycon":
        test = doctest.DocTestParser().get_doctest(block.text, names, block.document.name, None, None)
        assert doctest.DocTestRunner().run(test).failed == 0, block.text
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "sh":
        for line in block.text.splitlines():
            _call(line)
    else:
        assert block.language in SHOWN, f"{block.language}: give it a language that is run, or say above it why not"


def _load(text: str) -> Settings:
    """Settings as Scrapy and the add-on read them."""
    names: dict[str, Any] = {}
    exec(text, names)
    values = {name: value for name, value in names.items() if name.isupper()}
    known = [n for n in values if n.startswith(("SIMDEDUP_", *OF_OTHERS)) or hasattr(default_settings, n)]
    assert known == list(values), text
    settings = Settings(values)
    DedupSettings.from_settings(settings)
    if any(str(path).startswith("scrapy_simdedup") for path in values.get("ADDONS", {})):
        Addon(Crawler(Spider)).update_settings(settings)
    return settings


def _call(line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[:2] == ["pip", "install"]:
        _check_extras(words[2:])
    elif words[:2] == ["scrapy", "simdedup"]:
        store = next((word for word in words if word.startswith("sqlite:///")), "sqlite:///pages.sqlite")
        path = Path(store.removeprefix("sqlite:///"))
        if not path.exists() and words[2] != "import":
            shutil.copy("pages.sqlite", path)
        answer = perform_here(*words[2:])
        assert answer.code != FAILED, f"{line}\n{answer.err}"
    elif words[:2] == ["scrapy", "crawl"]:
        done = run_python(["-m", *words])
        assert done.returncode == 0, done.stderr
        assert "pages judged: " in done.stderr, done.stderr
        assert "ERROR" not in done.stderr, done.stderr
    else:
        pytest.fail(f"nobody knows how to run {line!r}: say above the block why it is not run")


def _check_extras(requirements: list[str]) -> None:
    if sys.version_info >= (3, 11):
        with (ROOT / "pyproject.toml").open("rb") as file:
            extras = set(tomllib.load(file)["project"]["optional-dependencies"])
        for requirement in requirements:
            named = re.fullmatch(r"scrapy-simdedup(?:\[([\w,]+)\])?", requirement)
            assert named, requirement
            assert set(filter(None, (named[1] or "").split(","))) <= extras


@EVERY
def test_settings_in_the_text_are_settings(document: Path) -> None:
    for setting in inline_settings(document):
        _load(setting)
    known = {f"SIMDEDUP_{field.name.upper()}" for field in fields(DedupSettings)}
    assert setting_names(document) <= known


def test_every_setting_is_in_the_table() -> None:
    known = {f"SIMDEDUP_{field.name.upper()}" for field in fields(DedupSettings)}
    assert known <= setting_names(ROOT / "README.md")


def test_every_setting_has_a_heading_in_the_reference() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "conf.py"))["with_settings"]("<!-- settings of the README -->")
    assert sorted(re.findall(r"^### `(\w+)`$", made, re.MULTILINE)) == sorted(
        f"SIMDEDUP_{field.name.upper()}" for field in fields(DedupSettings)
    )
    assert "<!-- settings of the README -->" in (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("field", fields(DedupSettings), ids=lambda field: field.name)
def test_every_choice_of_a_setting_is_in_its_row_of_the_table(field: Field[Any]) -> None:
    name = f"`SIMDEDUP_{field.name.upper()}`"
    rows = re.findall(r"^\| `SIMDEDUP_.*", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    (row,) = (row for row in rows if name in row.split(" | ")[0])
    for choice in get_args(getattr(settings, str(field.type), None)):
        assert re.search(rf"`\"?{choice}\"?`", row), choice


def test_the_table_of_stats_has_every_stat_once() -> None:
    text = (ROOT / "docs" / "reference" / "stats.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(simdedup/[^`]+)` \|", text, re.MULTILINE)) == stat_names()


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    assert {name for name in scrapy_simdedup.__all__ if f":: scrapy_simdedup.{name}\n" not in text} <= IN_MODULES
    assert {name for name in stores.__all__ if f":: scrapy_simdedup.stores.{name}\n" not in text} <= IN_MODULES


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_what_the_documents_for_developers_name_is_in_the_code(document: str) -> None:
    """Paths, classes with their members, and functions: `urls/noise.py`, `Site.normalize`, `split_url()`."""
    named = re.findall(r"`([^`\s]+)`", (ROOT / document).read_text(encoding="utf-8"))
    paths = [name for name in named if re.fullmatch(r"[\w./-]+(/|\.(py|md|cfg|toml|txt|json|cff|sql))", name)]
    assert [path for path in paths if not ((ROOT / path).exists() or (PACKAGE / path).exists())] == []
    names = [name for name in named if re.fullmatch(r"[A-Z]\w+(\.\w+)?|\w+\(\)", name) and name not in paths]
    assert names
    unknown = [name for name in names if not set(name.removesuffix("()").split(".")) <= names_in_the_code()]
    assert [name for name in unknown if not name.startswith("SIMDEDUP_")] == []


@cache
def names_in_the_code() -> set[str]:
    """Of classes, functions, attributes and variables, in the package and its tests."""
    paths = [path for home in (PACKAGE, ROOT / "tests") for path in home.rglob("*.py")]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    known = {node.name for node in nodes if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))}
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return known | {node.id for node in nodes if isinstance(node, ast.Name)}


def test_links_of_the_readme_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_s_curve_is_drawn_by_its_formula() -> None:
    pictures = ROOT / "docs" / "pictures"
    draw = runpy.run_path(str(pictures / "s_curve.py"))["draw"]
    assert draw() == (pictures / "s_curve.svg").read_text(encoding="utf-8")
