"""What a pod says to one of our parts: its arguments as options, and the way to other clusters."""

from collections.abc import Callable, Iterable, Mapping

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection

Dial = Callable[[Connection], Client]
"""Opens a cluster by its kubeconfig."""


class WrongArguments(Exception):
    """The pod's arguments cannot be used; the text says which."""


def options_of(args: Iterable[str]) -> dict[str, list[str]]:
    """Read `--name=value` and `--name`; an option may stand more than once."""
    found: dict[str, list[str]] = {}
    for arg in args:
        if not arg.startswith("--"):
            raise WrongArguments(f"{arg!r} is no option; write it as --name=value")
        name, _, value = arg.removeprefix("--").partition("=")
        found.setdefault(name, []).append(value)
    return found


def only(options: Mapping[str, list[str]], name: str) -> str:
    if name not in options:
        raise WrongArguments(f"--{name} is missing")
    return options[name][-1]
