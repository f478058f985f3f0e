"""The tool that compares both languages sees pages that are missing, and pages that fell behind."""

import os
import subprocess

import pytest


@pytest.fixture
def docs(tmp_path):
    for language in ("en", "zh"):
        (tmp_path / language / "start").mkdir(parents=True)
        (tmp_path / language / "start" / "demo.md").write_text("# demo\n")
    return tmp_path


def commit(docs, message: str) -> None:
    identity = {
        f"GIT_{who}_{what}": "docs@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", message]):
        subprocess.run(["git", *arguments], cwd=docs, env=environment, check=True)


def test_equal_folders_miss_nothing(docs, tool):
    assert tool("check_translations").missing(docs) == []


@pytest.mark.parametrize(("only_in", "missing_in"), [("en", "zh"), ("zh", "en")])
def test_a_page_of_one_language_is_missing_in_the_other(docs, tool, only_in, missing_in):
    (docs / only_in / "new.md").write_text("# new\n")

    assert tool("check_translations").missing(docs) == [(docs / missing_in / "new.md").as_posix()]


def test_a_page_whose_english_side_moved_on_fell_behind(docs, tool):
    commit(docs, "Write both")
    (docs / "en" / "start" / "demo.md").write_text("# demo\n\nMore.\n")
    commit(docs, "Say more")

    (news,) = tool("check_translations").stale(docs, ["start/demo.md"]).values()

    assert [line.split(" ", 1)[1] for line in news] == ["Say more"]


def test_a_page_that_was_translated_since_is_fresh(docs, tool):
    commit(docs, "Write both")
    (docs / "en" / "start" / "demo.md").write_text("# demo\n\nMore.\n")
    (docs / "zh" / "start" / "demo.md").write_text("# 演示\n\n更多。\n")
    commit(docs, "Say more in both")

    assert tool("check_translations").stale(docs, ["start/demo.md"]) == {}


def test_pages_outside_a_repository_are_fresh(docs, tool):
    assert tool("check_translations").stale(docs, ["start/demo.md"]) == {}
