"""Commands and options that the docs name exist, and the reference is what `--help` says."""

import re
import shlex
from collections.abc import Iterator

import pytest
import typer
from typer.main import get_command

from fleetqueue.cli.main import app

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(fleetqueue [^`\n]+)`")


@pytest.fixture(scope="module")
def known(tool) -> dict[str, set[str]]:
    """Return every command with the options that it takes."""
    below, program = tool("render_cli_reference").below, get_command(app)
    return {name: set(options(name, command)) for name, command in below(program, "fleetqueue")}


def options(name, command) -> Iterator[str]:
    yield "--help"
    for parameter in command.get_params(typer.Context(command, info_name=name)):
        yield from (*parameter.opts, *parameter.secondary_opts)


def named(text: str) -> Iterator[str]:
    """Yield each command of ours that a page shows."""
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("fleetqueue "):
                yield line
    yield from INLINE.findall(text)


def test_commands_in_pages_exist(pages, known):
    for path, text in pages.items():
        for line in named(text):
            words = shlex.split(line.partition(" | ")[0], comments=True)
            command = longest(words, known)
            assert len(words) == 1 or command != "fleetqueue" or words[1].startswith("-"), f"{path}: {line}"
            used = {word.partition("=")[0] for word in words if word.startswith("-")}
            assert used <= known[command], f"{path}: {line}"


def longest(words: list[str], known: dict[str, set[str]]) -> str:
    """Return the command that a line begins with."""
    return max((" ".join(words[:n]) for n in range(1, len(words) + 1) if " ".join(words[:n]) in known), key=len)


def test_make_targets_in_pages_exist(pages, root):
    targets = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.MULTILINE))
    for path, text in pages.items():
        for target in re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE):
            assert target in targets, f"{path}: make {target}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_reference_is_what_help_says(language, pages, tool):
    folder = f"docs/{language}/reference/"
    rendered = {name.removeprefix(folder): text for name, text in pages.items() if is_rendered(name, folder)}

    assert rendered == tool("render_cli_reference").render(language)


def is_rendered(page, folder):
    return page == f"{folder}cli.md" or page.startswith(f"{folder}commands/")
