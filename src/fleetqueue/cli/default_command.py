"""A group of commands with one that is meant where none is named."""

from typing import Any

from typer.core import TyperGroup

HELP = ("--help", "-h")


def group_with_default(default: str) -> type[TyperGroup]:
    """Return a group class: `group x` means `group <default> x` unless x is one of its commands."""

    class GroupWithDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if not args or (args[0] not in self.commands and args[0] not in HELP):
                args = [default, *args]
            return super().parse_args(ctx, args)

    return GroupWithDefault
