"""Which images stand for the systems of the seeds, and how each of them is put together in a pod.

An image is known by the last part of its name, so a manifest that names the real image runs our own part here.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from fleetqueue.apiserver.server import ApiServer
from fleetqueue.assembly.pod_options import Dial, only, options_of
from fleetqueue.nodes.programs import Place, Program
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics

KUEUE: Final = "kueue"
JOBSET: Final = "jobset"
PLACEMENT: Final = "placement"


def system_programs(server: ApiServer, dial: Dial) -> dict[str, Program]:
    """Return what runs for each image."""
    return {
        KUEUE: partial(_kueue, server, dial),
        JOBSET: partial(_jobset, server),
        PLACEMENT: _placement,
    }


async def _kueue(server: ApiServer, dial: Dial, place: Place) -> None:
    from fleetqueue.controllers.kueue import configuration
    from fleetqueue.controllers.kueue.manager import KueueManager

    settings = configuration.read(place.text(only(options_of(place.args), "config")))
    cluster, metrics = Cluster("kueue", place.client), Metrics()
    manager = KueueManager(
        cluster, metrics, settings, find=server.find, install=partial(server.webhooks.install, KUEUE), more=()
    )
    place.why_not_ready = manager.why_not_ready
    await manager.run()


async def _jobset(server: ApiServer, place: Place) -> None:
    from fleetqueue.controllers.jobset import defaults, room

    cluster, metrics = Cluster("jobset", place.client), Metrics()
    server.webhooks.install(JOBSET, defaults.hooks())
    try:
        await _run(place, cluster, room.controllers(cluster, metrics))
    finally:
        server.webhooks.install(JOBSET, ())


async def _placement(place: Place) -> None:
    from fleetqueue.assembly.placement_expressions import compile_expression
    from fleetqueue.controllers.placement import room
    from fleetqueue.controllers.placement.settings import PlacementSettings

    hub, metrics = Cluster("hub", place.client), Metrics()
    await _run(place, hub, room.controllers(hub, metrics, PlacementSettings(), compile_expression=compile_expression))


async def _run(place: Place, cluster: Cluster, controllers: Sequence[Controller]) -> None:
    """Run controllers until the pod ends; it is ready when their caches are filled."""
    manager = Manager(cluster, controllers)
    place.why_not_ready = lambda: "" if manager.ready.is_set() else "caches are not filled yet"
    await manager.run()
