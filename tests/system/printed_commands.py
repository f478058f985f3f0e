"""Executes commands as they are printed: those of kubectl by our own one, ours by what they call."""

import base64
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from fleetqueue.admin import cluster_draining, cluster_sets, dispatcher, leaving
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.kubectl import OwnKubectl
from fleetqueue.lab.cluster_names import HUB

UNJOIN_SECONDS: Final = 300.0


class Terminal:
    """Where commands are typed; the contexts of kubectl are the names of clusters."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self.kubectl = OwnKubectl(clients)
        self._hub = clients[HUB]

    async def enter(self, line: str) -> None:
        """Run a line as a shell would."""
        match shlex.split(line):
            case ["echo", text, "|", "kubectl", *words]:
                await self.kubectl.run(*words, stdin=text)
            case ["kubectl", *words, "|", "base64", "-d", "|", "grep", "-o", pattern]:
                text = base64.b64decode(await self.kubectl.run(*words)).decode()
                assert re.search(pattern, text), f"{line} prints nothing"
            case ["kubectl", *words]:
                await self.kubectl.run(*words)
            case ["fleetqueue", *words]:
                await self.fleetqueue(words)
            case _:
                raise AssertionError(f"nobody can type {line}")

    async def fleetqueue(self, words: Sequence[str]) -> None:
        """Do what a command of ours does."""
        match list(words):
            case ["clusterset", "bind", name, "--namespace", namespace]:
                assert await cluster_sets.bind(self._hub, name, namespace)
            case ["clusterset", "create", name]:
                assert await cluster_sets.create_set(self._hub, name)
            case ["install", "--dispatcher"]:
                await dispatcher.install(self._hub, KUEUE_NAMESPACE, "", lambda line: None)
            case ["undrain", name]:
                assert (await cluster_draining.undrain(self._hub, name)).changed
            case ["unjoin", name, *force]:
                await leaving.unjoin(self._hub, name, lambda line: None, force=bool(force), limit=UNJOIN_SECONDS)
            case _:
                raise AssertionError(f"no step may be fleetqueue {shlex.join(words)}")
