"""What a pod says to one of our parts: its arguments as options, and mounted kubeconfigs for other clusters."""

import base64
import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.embedded.nodes.programs import ProgramContext

Dial = Callable[[Connection], Client]
"""Opens a cluster by its kubeconfig."""
_FILES: Final = ("client-certificate", "client-key")


class WrongArguments(Exception):
    """The pod's arguments cannot be used; the text says which."""


def options_of(args: Iterable[str]) -> dict[str, list[str]]:
    """Read `--name=value` and `--name`; an option may stand more than once."""
    options: dict[str, list[str]] = {}
    for arg in args:
        if not arg.startswith("--"):
            raise WrongArguments(f"{arg!r} is no option; write it as --name=value")
        name, _, value = arg.removeprefix("--").partition("=")
        options.setdefault(name, []).append(value)
    return options


def only(options: Mapping[str, list[str]], name: str) -> str:
    if name not in options:
        raise WrongArguments(f"--{name} is missing")
    return options[name][-1]


def mounted_kubeconfig(context: ProgramContext, path: str) -> Connection:
    """Read a mounted kubeconfig, whose certificate and key may be files beside it."""
    import yaml  # slow to import, and most pods mount none

    config = yaml.load(context.text(path), yaml.CSafeLoader)
    for entry in config.get("users") or ():
        user = entry["user"]
        for name in _FILES:
            if name in user:
                content = context.files[posixpath.join(posixpath.dirname(path), user.pop(name))]
                user[f"{name}-data"] = base64.b64encode(content).decode()
    return parse(config)
