"""Which images stand for our own parts, so that their pods in an embedded cluster really do their work.

An image is known by the last part of its name: a manifest that names the real Kueue runs our own Kueue here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import orjson

from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Program, ProgramContext, Programs
from fleetqueue.fleets.pods import kueue, ocm, operators
from fleetqueue.fleets.pods.options import Dial, WrongArguments, only, options_of
from fleetqueue.fleets.pods.transports import AccountDoor, MountedDoor, while_same

IMAGE: Final = "fleetqueue"
IN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The address by which a pod knows the API of its own cluster."""

S = TypeVar("S")


def connect(connection: Connection) -> Client:
    """Open a cluster over HTTP."""
    from fleetqueue.client import transport  # in a fleet without sockets nobody comes here

    return transport.connect(connection)


def programs(server: ApiServer, dial: Dial) -> Programs:
    """Return the parts that pods of a cluster can be; `dial` opens other clusters by their kubeconfigs."""
    of_others = {**ocm.programs(server, dial), **kueue.programs(server, dial), **operators.programs(server)}
    return Programs({IMAGE: _fleetqueue(dial), **of_others}, reach=lambda account: Client(AccountDoor(server, account)))


def _fleetqueue(dial: Dial) -> Program:
    """Our own image: what it does is its first argument, as on the command line."""

    async def run(context: ProgramContext) -> None:
        def reach(connection: Connection) -> Client:
            return context.client if connection.server == IN_CLUSTER else dial(connection)

        command, *rest = context.args or [""]
        if command not in COMMANDS:
            raise WrongArguments(f"the first argument must be one of {', '.join(COMMANDS)}, not {command!r}")
        await COMMANDS[command](context, options_of(rest), reach)

    return run


async def _controller(context: ProgramContext, options: Mapping[str, list[str]], dial: Dial) -> None:
    from fleetqueue.controllers.processes.hub import HubProcess
    from fleetqueue.controllers.processes.settings import HubSettings

    alone = ["leader_election.enabled=false"] if "no-leader-election" in options else []
    settings = _settings(HubSettings, context, options, alone)
    process = HubProcess(Connection(IN_CLUSTER), settings, dial=dial, host=context.pod)
    context.why_not_ready = process.why_not_ready
    await process.serve()


async def _score_agent(context: ProgramContext, options: Mapping[str, list[str]], dial: Dial) -> None:
    from fleetqueue.controllers.processes.settings import WorkerSettings
    from fleetqueue.controllers.processes.worker import WorkerProcess

    name = [f'cluster="{cluster}"' for cluster in options.get("cluster", ())]
    path = only(options, "hub-kubeconfig")
    hub = MountedDoor(context, path, dial)

    def reach(connection: Connection) -> Client:
        return Client(hub) if connection is hub.connection else dial(connection)

    settings = _settings(WorkerSettings, context, options, name)
    process = WorkerProcess(Connection(IN_CLUSTER), hub.connection, settings, dial=reach)
    context.why_not_ready = process.why_not_ready
    await while_same(context, path, process.work())


COMMANDS: Final = {"controller": _controller, "score-agent": _score_agent}


def _settings(kind: type[S], context: ProgramContext, options: Mapping[str, list[str]], more: Iterable[str]) -> S:
    """Read settings as the command line does, but from a mounted file: each of its keys becomes one of the flags."""
    import yaml

    from fleetqueue.controllers.processes.settings_file import load

    given: dict[str, Any] = {}
    for path in options.get("config", ()):
        given |= yaml.safe_load(context.text(path)) or {}
    flags = [f"{key}={orjson.dumps(value).decode()}" for key, value in given.items()]
    return load(kind, overrides=[*flags, *options.get("set", ()), *more])
