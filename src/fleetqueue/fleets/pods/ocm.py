"""How the parts of Open Cluster Management are put together in pods, on the hub and on workers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

from fleetqueue.api import durations
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Program, ProgramContext
from fleetqueue.fleets.pods.controllers import as_manager, run_controllers
from fleetqueue.fleets.pods.options import Dial, WrongArguments, only, options_of
from fleetqueue.fleets.pods.transports import AccountDoor, MountedDoor, while_same
from fleetqueue.fleets.pods.webhooks import PodWebhooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.metrics import Metrics

ROOT_CA: Final = "/etc/root-ca/ca.crt"
"""Where agents find the authority of their own cluster."""
Options = Mapping[str, list[str]]
Command = Callable[[ProgramContext, Options], Awaitable[None]]


def programs(server: ApiServer, dial: Dial) -> dict[str, Program]:
    """Return what runs for each image."""
    commands: dict[str, dict[str, Command]] = {
        "registration": {
            "controller": partial(_registration_controller, server),
            "agent": partial(_registration_agent, dial),
        },
        "work": {"manager": _work_manager, "agent": partial(_work_agent, server, dial)},
        "addon-manager": {"manager": _add_on_manager},
        "managed-serviceaccount": {"manager": _accounts_manager, "agent": partial(_accounts_agent, dial)},
    }
    alone: dict[str, Program] = {"placement": _placement, "cluster-permission": _cluster_permission}
    by_image = {**alone, **{name: _of_commands(subcommands) for name, subcommands in commands.items()}}
    return {f"open-cluster-management/{name}": program for name, program in by_image.items()}


def _of_commands(commands: Mapping[str, Command]) -> Program:
    """An image that is told by its first argument what it is."""

    async def run(context: ProgramContext) -> None:
        command, *rest = context.args or [""]
        if command not in commands:
            raise WrongArguments(f"the first argument must be one of {', '.join(commands)}, not {command!r}")
        await commands[command](context, options_of(rest))

    return run


async def _placement(context: ProgramContext) -> None:
    from fleetqueue.embedded.ocm.placement import wiring
    from fleetqueue.embedded.ocm.placement.settings import PlacementSettings
    from fleetqueue.fleets.placement_expressions import compile_expression

    hub, metrics = Cluster("hub", as_manager(context.client, "placement")), Metrics()
    controllers = wiring.controllers(hub, metrics, PlacementSettings(), compile_expression=compile_expression)
    await run_controllers(context, hub, controllers)


async def _cluster_permission(context: ProgramContext) -> None:
    from fleetqueue.embedded.ocm.cluster_permissions import wiring

    hub, metrics = Cluster("hub", as_manager(context.client, "cluster-permission")), Metrics()
    await run_controllers(context, hub, wiring.controllers(hub, metrics))


async def _registration_controller(server: ApiServer, context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.addons import wiring as add_ons
    from fleetqueue.embedded.ocm.cluster_profiles import wiring as profiles
    from fleetqueue.embedded.ocm.registration import wiring
    from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
    from fleetqueue.embedded.ocm.registration.webhooks import hooks as webhooks

    hub, metrics, settings = (
        Cluster("hub", as_manager(context.client, "registration-controller")),
        Metrics(),
        RegistrationHubSettings(),
    )
    controllers = [
        *wiring.hub_controllers(hub, metrics, settings),
        *add_ons.registration_controllers(hub, metrics),
        *profiles.controllers(hub, metrics),
    ]
    having_a_say = PodWebhooks(server, webhooks.OWNER, namespace=context.namespace)
    having_a_say.install(webhooks.hooks(settings, server.find))
    try:
        await run_controllers(context, hub, controllers)
    finally:
        having_a_say.install(())


async def _registration_agent(dial: Dial, context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.addons import wiring as add_ons
    from fleetqueue.embedded.ocm.addons.settings import AddOnAgentSettings
    from fleetqueue.embedded.ocm.registration import wiring
    from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings

    metrics, name = Metrics(), only(options, "spoke-cluster-name")

    def of_add_ons(hub: Cluster, worker: Cluster, connection: Connection) -> Sequence[Controller]:
        settings = AddOnAgentSettings(name, nobodys(connection))
        return add_ons.agent_controllers(hub, worker, metrics, settings)

    settings = RegistrationAgentSettings(
        name,
        namespace=context.namespace,
        urls=options.get("spoke-external-server-urls", ()),
        ca=context.files.get(ROOT_CA, b""),
    )
    own = as_manager(context.client, "registration-agent")
    agent = wiring.agent(
        own, lambda hub: as_manager(dial(hub), "registration-agent"), metrics, settings, more=of_add_ons
    )
    context.why_not_ready = agent.why_not_ready
    await agent.run()


def nobodys(connection: Connection) -> str:
    """Write a kubeconfig for the same cluster, and for no user yet."""
    return render("hub", server=connection.server, ca=connection.ca or b"", token="", user="nobody")


async def _work_manager(context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.work import wiring
    from fleetqueue.embedded.ocm.work.settings import WorkHubSettings

    hub, metrics = Cluster("hub", as_manager(context.client, "work")), Metrics()
    await run_controllers(context, hub, wiring.hub_controllers(hub, metrics, WorkHubSettings()))


async def _work_agent(server: ApiServer, dial: Dial, context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.work import wiring
    from fleetqueue.embedded.ocm.work.settings import WorkAgentSettings, hub_hash
    from fleetqueue.fleets.work_expressions import evaluate

    def impersonate(user: str) -> Client:
        return Client(AccountDoor(server, context.account, impersonate=user))

    path = only(options, "hub-kubeconfig")
    name, metrics, door = only(options, "spoke-cluster-name"), Metrics(), MountedDoor(context, path, dial)
    hub = Cluster("hub", Client(door, manager="work-agent"))
    worker = Cluster(name, as_manager(context.client, "work-agent"))
    often = durations.parsed(options.get("status-sync-interval", ["10s"])[-1])
    settings = WorkAgentSettings(name, hub_hash(door.connection.server), status_interval=often)
    controllers = wiring.agent_controllers(hub, worker, metrics, settings, evaluate=evaluate, impersonate=impersonate)
    await while_same(context, path, run_controllers(context, hub, controllers, beside=[worker]))


async def _add_on_manager(context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.addons import wiring

    hub, metrics = Cluster("hub", as_manager(context.client, "addon-manager")), Metrics()
    await run_controllers(context, hub, wiring.hub_controllers(hub, metrics))


async def _accounts_manager(context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.cluster_profiles import wiring as profiles
    from fleetqueue.embedded.ocm.managed_service_accounts import wiring
    from fleetqueue.embedded.ocm.managed_service_accounts.settings import HubAccountSettings

    hub, metrics = Cluster("hub", as_manager(context.client, "managed-serviceaccount")), Metrics()
    seeds = profiles.seed_controllers(hub, metrics) if "seed-cluster-profiles" in options else ()
    await run_controllers(context, hub, [*wiring.hub_controllers(hub, metrics, HubAccountSettings()), *seeds])


async def _accounts_agent(dial: Dial, context: ProgramContext, options: Options) -> None:
    from fleetqueue.embedded.ocm.managed_service_accounts import wiring
    from fleetqueue.embedded.ocm.managed_service_accounts.settings import AgentAccountSettings

    metrics, path = Metrics(), only(options, "kubeconfig")
    hub = Cluster("hub", Client(MountedDoor(context, path, dial), manager="managed-serviceaccount"))
    worker = Cluster(only(options, "cluster-name"), as_manager(context.client, "managed-serviceaccount"))
    settings = AgentAccountSettings(namespace=context.namespace, ca=context.files.get(ROOT_CA, b"").decode())
    controllers = wiring.agent_controllers(worker, hub, metrics, settings)
    await while_same(context, path, run_controllers(context, hub, controllers, beside=[worker]))
