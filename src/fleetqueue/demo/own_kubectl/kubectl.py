"""kubectl in Python: a command line in, what kubectl would print out."""

import shlex
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.demo.own_kubectl.changing import annotate, label, patch, scale
from fleetqueue.demo.own_kubectl.getting import api_resources, get
from fleetqueue.demo.own_kubectl.kinds import ServedKinds
from fleetqueue.demo.own_kubectl.line import Line, read
from fleetqueue.demo.own_kubectl.manifest_commands import apply, create, delete
from fleetqueue.demo.own_kubectl.problems import KubectlProblem, told
from fleetqueue.demo.own_kubectl.targets import KubectlCluster
from fleetqueue.demo.own_kubectl.waiting import wait
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.lab.kubeconfigs import aliases
from fleetqueue.real.kubectl import KubectlFailed

Command = Callable[[KubectlCluster, Line, str], Awaitable[str]]

COMMANDS: Final[Mapping[str, Command]] = {
    "annotate": annotate,
    "api-resources": api_resources,
    "apply": apply,
    "create": create,
    "delete": delete,
    "get": get,
    "label": label,
    "patch": patch,
    "scale": scale,
    "wait": wait,
}


class OwnKubectl:
    """Is called as `Kubectl` is; the clusters are its contexts, by the names that the fleet's kubeconfig has too."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._clusters = {name: KubectlCluster(client, ServedKinds(client)) for name, client in clients.items()}
        self._aliases = aliases(HUB, [name for name in clients if name != HUB])

    async def run(self, *arguments: str, stdin: str = "") -> str:
        """Run a command to its end; return what it printed. Raises KubectlFailed."""
        try:
            line = read(arguments)
            return await self._command(line.verb)(self._cluster(line.flag("--context", HUB)), line, stdin)
        except (errors.ApiError, errors.Unreachable, KubectlProblem) as error:
            raise KubectlFailed(f"kubectl {shlex.join(arguments)}: {told(error)}") from error

    def _command(self, verb: str) -> Command:
        if verb not in COMMANDS:
            raise KubectlProblem(f'error: unknown command "{verb}" for "kubectl"')
        return COMMANDS[verb]

    def _cluster(self, context: str) -> KubectlCluster:
        cluster = self._clusters.get(self._aliases.get(context, context))
        if cluster is None:
            raise KubectlProblem(f'error: context "{context}" does not exist')
        return cluster
