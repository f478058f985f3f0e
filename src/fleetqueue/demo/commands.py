"""Who runs the commands that the stories show: the programs themselves, or this process in their fleet."""

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from fleetqueue.admin import cluster_sets, listings
from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.real.kubectl import Kubectl, KubectlFailed


class Commands(Protocol):
    """Each returns what was printed; errors: KubectlFailed."""

    async def kubectl(self, *arguments: str, stdin: str = "") -> str: ...

    async def fleetqueue(self, *arguments: str) -> str: ...


class Typed:
    """Runs the programs, as a person at a terminal does."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    async def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return await Kubectl(self.kubeconfig).run(*arguments, stdin=stdin)

    async def fleetqueue(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "fleetqueue", *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
        )
        out, err = await process.communicate()
        if process.returncode:
            raise KubectlFailed(f"fleetqueue {shlex.join(arguments)}: {err.decode().strip()}")
        return out.decode()


class InProcess:
    """Answers them here, over clients of the clusters: no kubectl is needed, and no process is started."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._hub = clients[HUB]
        self._kubectl = OwnKubectl(clients)

    async def kubectl(self, *arguments: str, stdin: str = "") -> str:
        return await self._kubectl.run(*arguments, stdin=stdin)

    async def fleetqueue(self, *arguments: str) -> str:
        return await run_own_command(self._hub, arguments)


Command = Callable[..., Awaitable[str]]
OWN_COMMANDS: Final[Mapping[str, Command]] = {
    "clusterset bind": cluster_sets.bind_command,
    "clusterset create": cluster_sets.create_command,
    "clusterset unbind": cluster_sets.unbind_command,
    "get clusters": listings.clusters,
    "get clustersets": listings.cluster_sets,
    "get jobs": listings.jobs,
    "get placements": listings.placements,
    "get scores": listings.scores,
}


async def run_own_command(hub: Client, arguments: Sequence[str]) -> str:
    """Run `fleetqueue get scores` and the like on a hub; return what it prints. Raises KubectlFailed."""
    name, (words, options) = " ".join(arguments[:2]), _split(arguments[2:])
    if name not in OWN_COMMANDS:
        raise KubectlFailed(f"fleetqueue {shlex.join(arguments)}: only {', '.join(OWN_COMMANDS)} can be told here")
    try:
        return f"{await OWN_COMMANDS[name](hub, *words, **options)}\n"
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
