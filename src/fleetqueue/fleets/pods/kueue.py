"""How Kueue is put together in a pod."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fleetqueue.api import errors
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Program, ProgramContext
from fleetqueue.fleets.pods.controllers import as_manager, work_until
from fleetqueue.fleets.pods.options import Dial, WrongArguments, options_of
from fleetqueue.fleets.pods.webhooks import PodWebhooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.external_kinds import served_kinds
from fleetqueue.runtime.leader_election import LeaderElection, LeaseSettings, identity_of
from fleetqueue.runtime.metrics import Metrics

if TYPE_CHECKING:
    from fleetqueue.embedded.kueue.manager import KueueManager
    from fleetqueue.embedded.kueue.settings import KueueSettings, LeaderElectionConfiguration
    from fleetqueue.embedded.multikueue.settings import MultiKueueSettings

KUEUE: Final = "kueue"
KUEUE_DEPLOYMENT: Final = "kueue-controller-manager"
OLD_CONDITIONS: Final = "old-conditions"
"""Our own flag: AdmissionChecks get two conditions of the walkthroughs, whose gate Kueue does not have any more."""
FLAGS: Final = frozenset(
    {
        "config",
        "feature-gates",
        "kubeconfig",
        *(f"zap-{name}" for name in ("devel", "encoder", "log-level", "stacktrace-level", "time-encoding")),
        OLD_CONDITIONS,
    }
)
KUBECONFIG_FOLDER: Final = Path("/etc/multikueue/kubeconfigs")
FIRST_LOOK, LAST_LOOK = 1.0, 120.0
"""Seconds between two looks for a kind of job that is not served yet, longer each time; as Kueue's."""


def programs(server: ApiServer, dial: Dial) -> dict[str, Program]:
    """Return what runs for each image."""
    return {"kueue/kueue": partial(_kueue, server, dial)}


def expect_webhooks(server: ApiServer) -> None:
    """Let nothing past a Kueue that a stored cluster has, until its pod runs; one that cannot start has no say."""
    if server.find("apps", "deployments", KUEUE_NAMESPACE, KUEUE_DEPLOYMENT) is None:
        return
    from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
    from fleetqueue.embedded.kueue import configuration, wiring
    from fleetqueue.embedded.kueue.webhooks.hooks import hooks

    config = server.find("", "configmaps", KUEUE_NAMESPACE, CONFIG_MAP) or {}
    with suppress(configuration.BadConfiguration):
        settings = configuration.read((config.get("data") or {}).get(CONFIG_KEY, ""))
        _webhooks(server, KUEUE_NAMESPACE).expect(hooks(settings, wiring.INTEGRATIONS, server.find))


def _webhooks(server: ApiServer, namespace: str) -> PodWebhooks:
    return PodWebhooks(server, KUEUE, namespace=namespace, deployment=KUEUE_DEPLOYMENT)


async def _kueue(server: ApiServer, dial: Dial, context: ProgramContext) -> None:
    """Run Kueue; when a kind of job comes that it was told of and that was not there, begin anew with it."""
    from fleetqueue.embedded.kueue import configuration
    from fleetqueue.embedded.kueue.manager import served

    flags = flags_of(context.args)
    settings = configuration.read(
        context.text(flags["config"]) if "config" in flags else "",
        gates=flags.get("feature-gates", ""),
        namespace=context.namespace,
    )
    external = {*settings.external_frameworks, *settings.multikueue.external_frameworks}
    while True:
        known = await served(context.client, settings.frameworks)
        remote = multikueue_settings(settings, known, old_conditions=OLD_CONDITIONS in flags)
        known_external = await served_kinds(context.client, external)
        manager = await _manager(server, dial, context, settings, remote)
        context.why_not_ready = manager.why_not_ready
        missing, unknown = {*settings.frameworks} - {*known}, external - {*known_external}
        paths = {"/metrics": partial(_text, manager.metrics)}
        with server.pod_ports.serving(context.namespace, context.pod, paths):
            await work_until(_any_served(context.client, missing, unknown), manager.run())


def _text(metrics: Metrics) -> str:
    from fleetqueue.embedded.kueue.metric_kinds import text_of

    return text_of(metrics.registry)


def flags_of(args: Sequence[str]) -> dict[str, str]:
    """Read a manager's arguments; raises WrongArguments for one that Kueue does not have."""
    flags = options_of(args)
    for name in flags:
        if name not in FLAGS:
            raise WrongArguments(f"flag provided but not defined: -{name}")
    return {name: values[-1] for name, values in flags.items()}


async def _manager(
    server: ApiServer, dial: Dial, context: ProgramContext, settings: "KueueSettings", remote: "MultiKueueSettings"
) -> "KueueManager":
    from fleetqueue.embedded.kueue.manager import KueueManager
    from fleetqueue.embedded.multikueue import wiring as multikueue
    from fleetqueue.embedded.multikueue.external_frameworks import external_adapters
    from fleetqueue.fleets.pods.exec_plugins import plugin_runner

    cluster, metrics = Cluster("kueue", as_manager(context.client, KUEUE)), Metrics()
    run_plugin = plugin_runner(context.client, context.namespace)
    sent = await external_adapters(context.client, remote.external_frameworks)
    return KueueManager(
        cluster,
        metrics,
        settings,
        find=server.find,
        install=_webhooks(server, context.namespace).install,
        serve=server.api_services.serving,
        more=lambda: multikueue.controllers(cluster, metrics, remote, dial=dial, run_plugin=run_plugin, external=sent),
        election=_election(context, settings.leader_election),
    )


def _election(context: ProgramContext, configuration: "LeaderElectionConfiguration | None") -> LeaderElection | None:
    if configuration is None:
        return None
    lease = LeaseSettings(
        name=configuration.name,
        namespace=configuration.namespace or context.namespace,
        duration=configuration.lease_duration,
        renew_deadline=configuration.renew_deadline,
        retry=configuration.retry_period,
    )
    return LeaderElection(as_manager(context.client, KUEUE), identity_of(context.pod), lease, labels={})


async def _any_served(client: Client, frameworks: Collection[str], external: Collection[str]) -> None:
    """Wait until a cluster serves one of some kinds of jobs; where there are none, that is for ever."""
    from fleetqueue.embedded.kueue.manager import served

    pause = FIRST_LOOK
    while True:
        await asyncio.sleep(pause) if frameworks or external else await asyncio.Event().wait()
        with suppress(errors.ApiError, errors.Unreachable):
            if await served(client, frameworks) or await served_kinds(client, external):
                return
        pause = min(2 * pause, LAST_LOOK)


def multikueue_settings(
    kueue: "KueueSettings", served: tuple[str, ...], *, old_conditions: bool = False
) -> "MultiKueueSettings":
    """Take what Kueue's configuration says about other clusters; `served` are the kinds of jobs that the hub serves."""
    from fleetqueue.embedded.multikueue.settings import MultiKueueSettings

    multikueue, gates = kueue.multikueue, kueue.feature_gates
    return MultiKueueSettings(
        namespace=kueue.namespace,
        origin=multikueue.origin,
        frameworks=kueue.frameworks,
        served=served,
        external_frameworks=multikueue.external_frameworks,
        worker_lost_timeout=multikueue.worker_lost_timeout,
        gc_interval=multikueue.gc_interval,
        dispatcher=multikueue.dispatcher,
        step_size=multikueue.step_size,
        serves_profiles=gates["MultiKueueClusterProfile"],
        access_providers=multikueue.access_providers,
        replica_role=kueue.replica_role,
        kubeconfig_folder=KUBECONFIG_FOLDER if gates["MultiKueueKubeConfigPathValidation"] else None,
        old_conditions=old_conditions,
    )
