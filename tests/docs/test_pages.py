"""Pages hang together: both languages have the same ones, links resolve, examples parse, no machine is in them."""

import re
import textwrap
from collections.abc import Iterator

import pytest
import yaml

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
"""Also those in lists."""
SHOWN = ("", "text")
"""Blocks that nobody types: what programs print, and drawings, whose words are translated."""
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(BLOCK.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_both_languages_have_the_same_pages(root, tool):
    assert tool("check_translations").missing(root / "docs") == []


def in_both_languages(pages: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each page that there is in English and in Chinese: its path, and both texts."""
    for path, english in pages.items():
        if path.startswith("docs/en/"):
            yield path, english, pages[path.replace("docs/en/", "docs/zh/")]
    yield "README.md", pages["README.md"], pages["README.zh.md"]


def test_both_languages_have_the_same_headings(pages):
    for path, english, chinese in in_both_languages(pages):
        shapes = [
            [match.split(" ")[0] for match in re.findall(r"^#+ ", text, re.MULTILINE)] for text in (english, chinese)
        ]
        assert shapes[0] == shapes[1], path


def test_both_languages_type_the_same_commands_and_apply_the_same_objects(pages):
    for path, english, chinese in in_both_languages(pages):
        assert code_of(english) == code_of(chinese), path


def code_of(text: str) -> list[tuple[str, str]]:
    """Return the blocks that a reader runs or applies; comments in them are translated, so they do not count."""
    blocks = [(kind, textwrap.dedent(body)) for kind, body in INDENTED_BLOCK.findall(text)]
    return [(kind, re.sub(r"(^|\s)#.*", "", body, flags=re.MULTILINE)) for kind, body in blocks if kind not in SHOWN]


@pytest.mark.parametrize(
    ("english", "chinese", "is_same"),
    [
        pytest.param("```console\nls  # all\n```\n", "```console\nls  # 全部\n```\n", True, id="another comment"),
        pytest.param("```console\nls\n```\n", "```console\nls -l\n```\n", False, id="another option"),
        pytest.param("```console\nls\n```\n", "", False, id="a block that is missing"),
        pytest.param("```console\na#b\n```\n", "```console\na#c\n```\n", False, id="a fragment is no comment"),
        pytest.param("1. a\n   ```console\n   ls\n   ```\n", "1. 甲\n", False, id="a block in a list"),
        pytest.param("```text\nDone.\n```\n", "```text\n完成。\n```\n", True, id="what is shown is translated"),
        pytest.param("```python\na = 1\n```\n", "```python\na = 2\n```\n", False, id="another program"),
    ],
)
def test_what_is_typed_is_compared_and_words_are_not(english, chinese, is_same):
    assert (code_of(english) == code_of(chinese)) is is_same


def test_links_resolve(pages, root):
    for path, text in pages.items():
        for target in LINK.findall(CODE.sub("", text)):
            if target.startswith(("https://", "mailto:")):
                continue
            file, _, anchor = target.partition("#")
            found = (root / path).parent / file if file else root / path
            assert found.exists(), f"{path}: {target}"
            if anchor:
                assert anchor in anchors(found.read_text()), f"{path}: {target}"


def test_files_named_in_pages_exist(pages, root):
    named = re.compile(r"\b(?:deploy|tools|tests|examples|benchmarks|changelog\.d)/[\w./-]*\w")
    for path, text in pages.items():
        for name in named.findall(text):
            assert (root / name).exists(), f"{path}: {name}"


def test_yaml_in_pages_parses(pages):
    for path, text in pages.items():
        for kind, body in BLOCK.findall(text):
            if kind == "yaml":
                assert all(isinstance(document, dict) for document in yaml.safe_load_all(body)), path


def test_yaml_that_names_its_example_is_part_of_it(pages, root):
    for path, text in pages.items():
        for name, body in re.findall(r"^<!-- (\S+) -->\n```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            whole = list(yaml.safe_load_all((root / name).read_text()))
            assert all(document in whole for document in yaml.safe_load_all(body)), f"{path}: {name}"


def test_pages_tell_nothing_of_a_machine(pages):
    for path, text in pages.items():
        assert not re.search(r"(/work|/root|/home/\w|/tmp)/", text), path


def test_pages_are_finished(pages):
    for path, text in pages.items():
        assert not re.search(r"^[A-Z]{4,}$|TODO|FIXME|TBD", text, re.MULTILINE), path


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_stand_on_lines_of_their_own(pages, language):
    end = {"en": re.compile(r"[a-z)`]\. +[A-Z]"), "zh": re.compile(r"。\S")}[language]
    for path, text in pages.items():
        if not path.startswith(f"docs/{language}/") or "/reference/cli.md" in path or "/reference/commands/" in path:
            continue
        for line in BLOCK.sub("", text).splitlines():
            if not line.startswith(("|", "-", " ")) and not re.match(r"\d", line):
                assert not end.search(line), f"{path}: {line}"
