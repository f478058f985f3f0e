"""Who runs the commands that the stories show: the programs themselves, or this process in their fleet."""

import asyncio
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from fleetqueue.client import Client
from fleetqueue.demo import own_commands
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
        return await own_commands.run(self._hub, arguments)
