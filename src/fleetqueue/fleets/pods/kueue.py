"""How Kueue and JobSet are put together in pods."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.server import ApiServer
from fleetqueue.embedded.nodes.programs import Program, ProgramContext
from fleetqueue.fleets.pods.controllers import as_manager, run_controllers, work_until
from fleetqueue.fleets.pods.options import Dial, only, options_of
from fleetqueue.fleets.pods.webhooks import PodWebhooks
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.metrics import Metrics

if TYPE_CHECKING:
    from fleetqueue.embedded.kueue.manager import KueueManager
    from fleetqueue.embedded.kueue.settings import KueueSettings
    from fleetqueue.embedded.multikueue.settings import MultiKueueSettings

KUEUE: Final = "kueue"
JOBSET: Final = "jobset"
KUEUE_DEPLOYMENT: Final = "kueue-controller-manager"
JOBSET_DEPLOYMENT: Final = "jobset-controller-manager"
FIRST_LOOK, LAST_LOOK = 1.0, 120.0
"""Seconds between two looks for a kind of job that is not served yet, longer each time; as Kueue's."""


def programs(server: ApiServer, dial: Dial) -> dict[str, Program]:
    """Return what runs for each image."""
    return {"kueue/kueue": partial(_kueue, server, dial), "jobset/jobset": partial(_jobset, server)}


async def _kueue(server: ApiServer, dial: Dial, context: ProgramContext) -> None:
    """Run Kueue; when a kind of job comes that it was told of and that was not there, begin anew with it."""
    from fleetqueue.embedded.kueue import configuration
    from fleetqueue.embedded.kueue.manager import served

    settings = configuration.read(context.text(only(options_of(context.args), "config")))
    while True:
        known = await served(context.client, settings.frameworks)
        manager = _manager(server, dial, context, settings, known)
        context.why_not_ready = manager.why_not_ready
        missing = set(settings.frameworks) - set(known)
        await work_until(_any_served(context.client, missing), manager.run())


def _manager(
    server: ApiServer, dial: Dial, context: ProgramContext, settings: "KueueSettings", known: tuple[str, ...]
) -> "KueueManager":
    from fleetqueue.embedded.kueue.manager import KueueManager
    from fleetqueue.embedded.multikueue import wiring as multikueue
    from fleetqueue.fleets.pods.in_process_plugin import plugin_runner

    cluster, metrics = Cluster("kueue", as_manager(context.client, KUEUE)), Metrics()
    remote = replace(multikueue_settings(settings, context.namespace), served=known)
    return KueueManager(
        cluster,
        metrics,
        settings,
        find=server.find,
        install=PodWebhooks(server, KUEUE, namespace=context.namespace, deployment=KUEUE_DEPLOYMENT).install,
        more=multikueue.controllers(
            cluster, metrics, remote, dial=dial, run_plugin=plugin_runner(context.client, context.namespace)
        ),
    )


async def _any_served(client: Client, frameworks: Collection[str]) -> None:
    """Wait until a cluster serves one of some kinds of jobs; where there are none, that is for ever."""
    from fleetqueue.embedded.kueue.manager import served

    pause = FIRST_LOOK
    while True:
        await asyncio.sleep(pause) if frameworks else await asyncio.Event().wait()
        with suppress(errors.ApiError, errors.Unreachable):
            if await served(client, frameworks):
                return
        pause = min(2 * pause, LAST_LOOK)


def multikueue_settings(kueue: "KueueSettings", namespace: str) -> "MultiKueueSettings":
    """Take what Kueue's configuration says about other clusters."""
    from fleetqueue.embedded.multikueue.settings import MultiKueueSettings

    multikueue, gates = kueue.multikueue, kueue.feature_gates
    return MultiKueueSettings(
        namespace=namespace,
        origin=multikueue.origin,
        frameworks=kueue.frameworks,
        worker_lost_timeout=multikueue.worker_lost_timeout,
        gc_interval=multikueue.gc_interval,
        dispatcher=multikueue.dispatcher,
        step_size=multikueue.step_size,
        serves_profiles=gates.get("MultiKueueClusterProfile", False),
        access_providers=multikueue.access_providers,
        old_conditions=gates.get("AdmissionCheckValidationRules", False),
    )


async def _jobset(server: ApiServer, context: ProgramContext) -> None:
    from fleetqueue.embedded.jobset import defaults, wiring

    cluster, metrics = Cluster("jobset", as_manager(context.client, JOBSET)), Metrics()
    webhooks = PodWebhooks(server, JOBSET, namespace=context.namespace, deployment=JOBSET_DEPLOYMENT)
    webhooks.install(defaults.hooks())
    try:
        await run_controllers(context, cluster, wiring.controllers(cluster, metrics))
    finally:
        webhooks.install(())
