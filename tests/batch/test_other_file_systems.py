"""Archives on other file systems are read and written by fsspec, a whole file or none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from helpers.archives import archive, pages_in, write_warc
from scrapy_simdedup import Verdict
from scrapy_simdedup.batch.files import Reading, copy_kept, open_input, open_output, read_pages, whole_file

# warcio leaves it to the garbage collector to close its temporary files.
pytestmark = pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
fsspec = pytest.importorskip("fsspec")
pytest.importorskip("pyarrow")
pytest.importorskip("warcio")


@pytest.fixture
def bucket() -> Iterator[str]:
    """A directory of a file system in memory."""
    yield "memory://bucket"
    fsspec.filesystem("memory").store.clear()


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.jsonl.gz"])
def test_what_was_written_is_read(bucket: str, name: str) -> None:
    with open_output(f"{bucket}/{name}") as file:
        file.write(b"{}\n")
    with open_input(f"{bucket}/{name}") as file:
        assert file.read() == b"{}\n"
    assert (fsspec.filesystem("memory").cat(f"/bucket/{name}") == b"{}\n") == (not name.endswith(".gz"))


def test_half_a_file_is_none(bucket: str) -> None:
    def write_half() -> None:
        with whole_file(f"{bucket}/half") as part:
            part.write_bytes(b"half")
            raise ValueError("interrupted")

    with pytest.raises(ValueError, match="interrupted"):
        write_half()
    assert not fsspec.filesystem("memory").exists("/bucket/half")


def test_web_archives_are_read_and_copied(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    pages, directory = archive()[:6], tmp_path_factory.mktemp("archive")
    fsspec.filesystem("memory").put_file(str(write_warc(directory / "a.warc.gz", pages)), "/bucket/a.warc.gz")
    (batch,) = read_pages(f"{bucket}/a.warc.gz", 0, Reading(), [])
    assert batch.column("url").to_pylist() == [page.url for page in pages]
    position = batch.column("position").to_pylist()[1]
    dropped = {position: Verdict("identical", is_duplicate=True, original=pages[0].url, similarity=1.0)}
    assert copy_kept(f"{bucket}/a.warc.gz", f"{bucket}/kept/a.warc.gz", Reading(), dropped) == 1
    fsspec.filesystem("memory").get_file("/bucket/kept/a.warc.gz", str(directory / "kept.warc.gz"))
    found = [(kind, url) for kind, url, _ in pages_in(directory / "kept.warc.gz")]
    assert found == [("revisit" if at == 1 else "response", page.url) for at, page in enumerate(pages)]
