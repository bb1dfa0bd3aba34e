"""``report`` and ``calibrate`` about a real crawl."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from helpers.command_line import Crawled, perform_here
from helpers.pages import page


class TestReport:
    def test_writes_html_and_json_and_says_the_numbers(self, crawled: Crawled, tmp_path: Path) -> None:
        files = tmp_path / "report.html", tmp_path / "report.json"
        answer = crawled.call("report", "-o", files[0], "-o", files[1])
        assert answer.code == 0
        assert answer.out.startswith("12 pages of 1 site, 7 of them repeats")
        assert crawled.url("a") in files[0].read_text()
        assert json.loads(files[1].read_text())["dropped"] == 7

    def test_a_file_of_another_kind_is_refused(self, crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit, match="2"):
            crawled.call("report", "-o", "report.pdf")
        assert "give a path that ends with .html or .json" in capsys.readouterr().err

    def test_gives_json_on_request(self, crawled: Crawled) -> None:
        report = crawled.call("report", "--json").json
        first, *_ = report["clusters"]
        assert (first["original"], first["repeats"]) == (crawled.url("a"), 4)
        assert len(report["audit"]) == 7
        assert all(pair["original"].endswith("?v=0") for pair in report["audit"])

    def test_can_be_about_one_run(self, crawled: Crawled) -> None:
        assert crawled.call("report", "--json", "--run", "monday").json["pages"] == 12
        assert crawled.call("report", "--json", "--run", "never").json["pages"] == 0


class TestCalibrate:
    @pytest.fixture
    def feed(self, tmp_path: Path) -> str:
        """A store with forty pages and a copy of each."""
        file, store = tmp_path / "feed.jsonl", f"sqlite:///{(tmp_path / 'pages.sqlite').as_posix()}"
        urls = {f"http://a.example/{seed}/{copy}": page(seed, copy) for seed in range(40) for copy in (0, 1)}
        file.write_text("".join(json.dumps({"url": url, "html": html}) + "\n" for url, html in urls.items()))
        perform_here("dedupe", file, "--store", store)
        return store

    def test_finds_the_closest_page_of_each(self, feed: str) -> None:
        found = perform_here("calibrate", "--store", feed, "--json").json
        assert (found["pages"], found["sampled"]) == (80, 80)
        assert sum(found["same_headline"][95:]) == 80
        assert found["choices"][0]["changed"] is False

    def test_draws_a_picture_and_gives_a_reason(self, feed: str) -> None:
        answer = perform_here("calibrate", "--store", feed)
        assert "█" in answer.out
        assert "by headlines" in answer.out
        assert "The thresholds in force fit every site." in answer.out

    def test_labels_tell_what_is_wrong(self, feed: str, tmp_path: Path) -> None:
        file = tmp_path / "pairs.csv"
        with file.open("w", newline="") as opened:
            rows = csv.writer(opened)
            rows.writerow(["label", "one", "other"])
            rows.writerows([["different", f"http://a.example/{n}/0", f"http://a.example/{n}/1"] for n in range(35)])
            rows.writerow(["", "http://a.example/36/0", "http://a.example/36/1"])
        answer = perform_here("calibrate", "--store", feed, "--pairs", file)
        assert "no threshold fits, as pages labelled as different are the same but for a few words" in answer.out
        assert "The thresholds in force fit every site." not in answer.out
        assert "wrong by labels" in answer.out
        assert perform_here("calibrate", "--store", feed, "--pairs", file, "--json").json["labelled"] == 35

    def test_pairs_to_label_come_in_the_form_in_which_labels_are_read(self, crawled: Crawled, tmp_path: Path) -> None:
        audit = tmp_path / "audit.csv"
        (near,) = crawled.call("explain", crawled.url("like-a"), "--json").json
        crawled.call("calibrate", "--audit", audit, "-s", f"SIMDEDUP_NEAR={near['similarity']}")
        rows = list(csv.DictReader(audit.read_text().splitlines()))
        assert any(crawled.url("like-a") in (row["one"], row["other"]) for row in rows)
        audit.write_text(audit.read_text().replace("\n,", "\nsame,"))
        assert crawled.call("calibrate", "--pairs", audit, "--json").json["labelled"] == len(rows)

    @pytest.mark.parametrize("text", ["one,other\na,b\n", "label,one,other\nmaybe,a,b\n", "<html>"])
    def test_labels_of_another_form_are_refused(self, feed: str, tmp_path: Path, text: str) -> None:
        file = tmp_path / "pairs.csv"
        file.write_text(text)
        answer = perform_here("calibrate", "--store", feed, "--pairs", file)
        assert answer.code == 2
        assert "columns one, other (URLs) and label" in answer.err

    def test_a_store_without_pages_leaves_all_as_it_is(self, feed: str) -> None:
        answer = perform_here("calibrate", "--store", feed, "--site", "nowhere.example")
        assert answer.code == 0
        assert answer.out.startswith("0 of 0 pages")
