"""What gets installed is whole, and works without the source tree.

``tox -e wheel`` runs this on an installed wheel, with ``DIST`` naming the folder of the wheel and the sdist.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import entry_points, metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import scrapy_simdedup

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "scrapy_simdedup"
DIST = os.environ.get("DIST")
built = pytest.mark.skipif(DIST is None, reason="tox -e wheel builds what this looks at")


COMPILED = {".pyc", ".pyo", ".so", ".pyd"}


def shipped() -> set[str]:
    """The files of the package, by their paths in the source tree."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in COMPILED
    }


def test_every_file_of_the_package_is_installed() -> None:
    """Those that are no Python, too: types, SQL, Lua, and what the report is made of."""
    installed = Path(str(files(scrapy_simdedup))).parent
    assert {path for path in shipped() if not (installed / path).is_file()} == set()
    suffixes = {Path(path).suffix for path in shipped()}
    assert {".py", ".pyi", ".pyx", ".typed", ".sql", ".lua", ".html", ".css", ".js", ".npz"} <= suffixes


def test_the_command_is_registered() -> None:
    [command] = entry_points(group="scrapy.commands", name="simdedup")
    assert command.load().__name__ == "SimdedupCommand"


def test_the_metadata_say_what_the_package_says() -> None:
    installed = metadata("scrapy-simdedup")
    assert installed["Version"] == scrapy_simdedup.__version__
    assert installed["Requires-Python"] == ">=3.10"
    assert "Framework :: Scrapy" in installed.get_all("Classifier", [])
    assert f"\nversion: {scrapy_simdedup.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_conda_recipe_says_what_the_metadata_say() -> None:
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'\n  version: "{scrapy_simdedup.__version__}"\n' in recipe
    needed = [one for one in metadata("scrapy-simdedup").get_all("Requires-Dist", []) if ";" not in one]
    wanted = {re.sub(r"\s*>=", " >=", requirement) for requirement in needed} | {"python >=3.10"}
    (run,) = re.findall(r"\n  run:\n((?:    - .*\n)+)", recipe)
    assert set(run.replace("    - ", "").splitlines()) == wanted


def test_a_stranger_can_compare_two_pages(tmp_path: Path) -> None:
    """In a folder of their own, where nothing of the source tree is at hand."""
    text = " ".join(f"word{number}" for number in range(60))
    for name, offer in (("one", "socks"), ("two", "soap")):
        (tmp_path / f"{name}.html").write_text(f"<aside>{offer}!</aside><p>{text}</p>", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if DIST is None or name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "simdedup", "compare", "one.html", "two.html"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("identical: "), done.stderr
    assert done.returncode == 0


def _index_page() -> str:
    """What setup.py makes of the README; it cannot be imported, as it builds the package then."""
    script = ROOT / "setup.py"
    wanted = {"re", "pathlib", "DOCUMENTATION", "readme"}
    lines = [line for line in ast.parse(script.read_text(encoding="utf-8")).body if wanted & set(_names(line))]
    names: dict[str, Any] = {"__file__": str(script)}
    exec(compile(ast.Module(lines, []), str(script), "exec"), names)
    text: str = names["readme"]()
    return text


def _names(line: ast.stmt) -> list[str]:
    match line:
        case ast.Import(names=aliases):
            return [alias.name for alias in aliases]
        case ast.ImportFrom(module=str(module)):
            return [module]
        case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
    return []


def test_the_page_on_the_package_index_leads_to_the_published_documentation() -> None:
    text = _index_page()
    targets = re.findall(r"\]\(([^)]*)\)|^\[\w+\]: (\S+)", text, re.MULTILINE)
    links = ["".join(target) for target in targets]
    assert len(links) > 30
    assert [link for link in links if not link.startswith("https://")] == []
    home = "https://scrapy-simdedup.readthedocs.io/en/latest/"
    assert f"{home}start.html" in links
    assert f"{home}architecture.html#glossary" in links
    pages = [link.removeprefix(home).partition(".html")[0] for link in links if link.startswith(home)]
    assert [page for page in pages if not (ROOT / "docs" / f"{page}.md").exists()] == []


@built
def test_it_is_the_installed_package_that_is_tested() -> None:
    assert not Path(scrapy_simdedup.__file__).is_relative_to(ROOT / "scrapy_simdedup")


@built
def test_the_wheel_has_the_package_and_nothing_else() -> None:
    [wheel] = Path(str(DIST)).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert {name for name in names if Path(name).suffix not in COMPILED} == shipped()


@built
def test_the_wheel_has_the_page_for_the_package_index() -> None:
    [wheel] = Path(str(DIST)).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        head, _, text = archive.read(name).decode().partition("\n\n")
    assert "Project-URL: Documentation, https://" in head
    assert "# scrapy-simdedup" in text
    assert text.strip() == _index_page().strip()


@built
def test_the_wheel_has_a_compiled_module_for_each_source() -> None:
    """What cannot be compiled is left out, and a release must not come to that unnoticed."""
    [wheel] = Path(str(DIST)).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        made = {name.partition(".")[0] for name in archive.namelist() if Path(name).suffix in {".so", ".pyd"}}
    assert made == {name.partition(".")[0] for name in shipped() if name.endswith(".pyx")}


@built
@pytest.mark.skipif(sys.platform == "win32", reason="its compiler is not found by the variable CC")
def test_without_a_compiler_the_package_is_built_all_the_same(tmp_path: Path) -> None:
    [sdist] = Path(str(DIST)).glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path, source]
    done = subprocess.run(command, env=os.environ | {"CC": "false"}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if Path(name).suffix in {".so", ".pyd"}]


@built
def test_the_sdist_can_be_built_and_tested_from() -> None:
    [sdist] = Path(str(DIST)).glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert shipped() <= names
    assert {
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "README.md",
        "LICENSE",
        "tests/conftest.py",
        "docs/index.md",
    } <= names
    assert not [name for name in names if name.startswith((".ci", ".github", "build/", ".venv", ".tox"))]
