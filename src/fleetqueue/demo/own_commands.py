"""The commands of ours that the stories type, answered in this process by the functions that the command line calls."""

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from fleetqueue.admin import listings, set_commands
from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.real.kubectl import KubectlFailed

Command = Callable[..., Awaitable[str]]
COMMANDS: Final[Mapping[str, Command]] = {
    "clusterset bind": set_commands.bind,
    "clusterset create": set_commands.create,
    "clusterset unbind": set_commands.unbind,
    "get clusters": listings.clusters,
    "get clustersets": listings.cluster_sets,
    "get jobs": listings.jobs,
    "get placements": listings.placements,
    "get scores": listings.scores,
}


async def run(hub: Client, arguments: Sequence[str]) -> str:
    """Run `fleetqueue get scores` and the like on a hub; return what it prints. Raises KubectlFailed."""
    name, (words, options) = " ".join(arguments[:2]), _split(arguments[2:])
    if name not in COMMANDS:
        raise KubectlFailed(f"fleetqueue {shlex.join(arguments)}: only {', '.join(COMMANDS)} can be told here")
    try:
        return f"{await COMMANDS[name](hub, *words, **options)}\n"
    except (errors.ApiError, errors.Unreachable) as error:
        raise KubectlFailed(f"fleetqueue {shlex.join(arguments)}: error: {error}") from error


def _split(arguments: Sequence[str]) -> tuple[list[str], dict[str, str | bool]]:
    """Tell words from options: `--name value`, `--name=value`, or `--tree`, which has no value."""
    words: list[str] = []
    options: dict[str, str | bool] = {}
    coming = iter(arguments)
    for word in coming:
        name, _, value = word.partition("=")
        if not word.startswith("--"):
            words.append(word)
        elif name == "--tree":
            options["tree"] = True
        else:
            options[name.removeprefix("--").replace("-", "_")] = value or next(coming)
    return words, options
