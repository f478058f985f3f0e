"""Write docs/*/reference/cli.md, and a page for each command below docs/*/reference/commands, from what `--help` knows.

Usage: render_cli_reference.py [docs folder]
"""

import inspect
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer
from typer.main import get_command

from fleetqueue.cli.exit_codes import MEANINGS, Code
from fleetqueue.cli.main import app

PROGRAM: Final = "fleetqueue"
OF_THE_SHELL: Final = ("--install-completion", "--show-completion", "--help", "-h, --help")
"""Options that every program of this kind has."""

AS_IT_IS: Final = "\b"
"""How a help text marks a paragraph whose lines are not to be joined."""

PREFACES: Final = {
    "en": (
        "# Commands\n\n"
        "This page is rendered from `--help` by `tools/render_cli_reference.py`; do not edit it.\n"
        "Every command has `--help`; `kubectl fleetqueue` is the same as `fleetqueue`.\n"
        "`fleetqueue --install-completion` lets your shell (bash, zsh, fish, PowerShell) complete commands, options,"
        " `--context`, and the clusters of `kubeconfig show`; `--show-completion` prints what it would install.\n\n"
        "## Exit codes\n\n"
        "A code keeps its meaning in later versions.\n"
        "What went wrong is said in one line on standard error.\n"
    ),
    "zh": (
        "# 命令\n\n"
        "本页由 `tools/render_cli_reference.py` 根据 `--help` 生成，请勿手工修改；说明文字保留英文原文。\n"
        "每个命令都有 `--help`；`kubectl fleetqueue` 与 `fleetqueue` 相同。\n"
        "`fleetqueue --install-completion` 让 shell（bash、zsh、fish、PowerShell）补全命令、选项、`--context` 和"
        " `kubeconfig show` 的集群；`--show-completion` 打印它要安装的内容。\n\n"
        "## 退出码\n\n"
        "退出码的含义在以后的版本里不变。\n"
        "出了什么错，会在标准错误上用一行说明。\n"
    ),
}
CODES: Final = {
    "en": ("code", "meaning", MEANINGS),
    "zh": (
        "退出码",
        "含义",
        {
            Code.DONE: "完成",
            Code.FAILED: "失败",
            Code.USAGE: "用法错误",
            Code.NOT_FOUND: "没有找到，或没有按时完成",
            Code.ERRORS_FOUND: "doctor 发现了错误",
            Code.WARNINGS_FOUND: "doctor 只发现了警告",
            Code.INTERRUPTED: "被中断",
        },
    ),
}
HEADINGS: Final = {"en": ("argument or option", "meaning"), "zh": ("参数或选项", "含义")}
COMMANDS: Final = {"en": ("Commands", "command", "what it does"), "zh": ("命令", "命令", "作用")}
BACK: Final = {
    "en": "\nThis page is rendered from `--help`; [all commands](../cli.md).\n",
    "zh": "\n本页根据 `--help` 生成，说明文字保留英文原文；[所有命令](../cli.md)。\n",
}


def render(language: str) -> dict[str, str]:
    """Return the pages in a language by their paths; the texts of the commands themselves are English in both."""
    program = get_command(app)
    first = [PREFACES[language], exit_codes(language), contents(language), section(PROGRAM, program, language)]
    pages = {"cli.md": "\n".join(first)}
    for name, command in shown(program):
        parts = [section(*found, language) for found in below(command, f"{PROGRAM} {name}")]
        pages[f"commands/{name}.md"] = "\n".join([f"# {name}", BACK[language], *parts])
    return pages


def contents(language: str) -> str:
    """Return a table of the commands, with a page for each."""
    title, command, does = COMMANDS[language]
    rows = [f"| [`{name}`](commands/{name}.md) | {cell(one.get_short_help_str(200))} |" for name, one in shown()]
    return "\n".join([f"## {title}\n", f"| {command} | {does} |", "|---|---|", *rows, ""])


def shown(command: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield what stands directly below a command, or below the program, in the order of `--help`."""
    found = getattr(command or get_command(app), "commands", {})
    return ((name, inner) for name, inner in found.items() if not inner.hidden)


def exit_codes(language: str) -> str:
    code, meaning, meanings = CODES[language]
    return "\n".join([f"| {code} | {meaning} |", "|---|---|", *(f"| {c:d} | {m} |" for c, m in meanings.items()), ""])


def below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a command with its name, and all below it."""
    yield name, command
    for inner_name, inner in shown(command):
        yield from below(inner, f"{name} {inner_name}")


def section(name: str, command: Any, language: str) -> str:
    """Render one command: how it is called, what it does, what it takes."""
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    records = [record for record in map(record_of(context), command.get_params(context)) if record]
    parts = [f"## `{name}`\n", f"```text\n{usage}\n```\n", *([f"{text}\n"] if (text := help_text(command)) else [])]
    if records:
        parts.append(table(records, language))
    return "\n".join(parts)


def record_of(context: typer.Context) -> Any:
    def record(parameter: Any) -> tuple[str, str] | None:
        found = parameter.get_help_record(context)
        return found if found and not found[0].startswith(OF_THE_SHELL) else None

    return record


def help_text(command: Any) -> str:
    """Return the help of a command: one line for each paragraph, and examples as they are."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(map(paragraph, paragraphs))


def paragraph(text: str) -> str:
    if not text.startswith(AS_IT_IS):
        return " ".join(text.split())
    return f"```text\n{text.removeprefix(AS_IT_IS).strip()}\n```"


def table(records: list[tuple[str, str]], language: str) -> str:
    rows = [f"| `{cell(name)}` | {cell(meaning).replace('<', '&lt;')} |" for name, meaning in records]
    return "\n".join([f"| {' | '.join(HEADINGS[language])} |", "|---|---|", *rows, ""])


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    docs = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    for language in PREFACES:
        folder = docs / language / "reference"
        shutil.rmtree(folder / "commands", ignore_errors=True)
        (folder / "commands").mkdir(parents=True)
        for name, text in render(language).items():
            (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
