"""Write docs/en/reference/cli.md and docs/zh/reference/cli.md from what `--help` knows.

Usage: render_cli_reference.py [docs folder]
"""

import inspect
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
            Code.INTERRUPTED: "被中断",
        },
    ),
}
HEADINGS: Final = {"en": ("argument or option", "meaning"), "zh": ("参数或选项", "含义")}


def render(language: str) -> str:
    """Return the whole page in a language; the texts of the commands themselves are English in both."""
    return "\n".join([PREFACES[language], exit_codes(language), *(section(*found, language) for found in commands())])


def exit_codes(language: str) -> str:
    code, meaning, meanings = CODES[language]
    return "\n".join([f"| {code} | {meaning} |", "|---|---|", *(f"| {c:d} | {m} |" for c, m in meanings.items()), ""])


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command that a person can type, and every group, in the order of `--help`."""
    yield from below(get_command(app), PROGRAM)


def below(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner_name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
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
        path = docs / language / "reference" / "cli.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(language))
    return 0


if __name__ == "__main__":
    sys.exit(main())
