"""Scenarios of sets and CronJobs on both clusters."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.cron_job_objects import CronJob
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet
from fleetqueue.embedded.kubernetes.stateful_set_claims import PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.real import layout
from fleetqueue.testing.virtual_time import advance, running
from tests.real.engine.one_cluster import one_cluster

from ..hubs import EmbeddedHub, RealHub, lived_in, make_room  # noqa: TID252 - what the rooms share stands above them
from ..running import Hub, settle_and_wait, side_by_side  # noqa: TID252
from ..world import Ends, World, prefixes, written  # noqa: TID252
from .doing import Actor
from .end_state import end_state

HERE = Path(__file__).parent
DESCRIBED = written(HERE)
PREFIXES = prefixes(DESCRIBED, "s")
FOLLOWED = (StatefulSet, DaemonSet, CronJob, Job, Pod, ControllerRevision, PersistentVolumeClaim)
SETTLING = 5.0


async def run_on_real(folder: Path) -> Ends:
    async with (
        one_cluster(layout.require(), folder) as client,
        RealHub.following(client, FOLLOWED, quiet=SETTLING, patience=300.0) as hub,
    ):
        return await _run(hub)


async def run_on_ours() -> Ends:
    fleet = EmbeddedFleet([await InProcessCluster.new(HUB)])
    async with fleet.living(with_parts=False), lived_in(fleet, lambda: _parts(fleet)):
        return await _run(EmbeddedHub(fleet.hub.client(), settling=SETTLING))


@asynccontextmanager
async def _parts(fleet: EmbeddedFleet) -> AsyncIterator[None]:
    """Run the cluster's own controllers, its scheduler and its kubelets."""
    async with running(fleet.hub.parts(fleet.dial).run()):
        await advance(1)
        yield


async def _run(hub: Hub) -> Ends:
    await make_room(hub.client)
    actors = [Actor(hub.client, each, PREFIXES[each["name"]]) for each in DESCRIBED]
    await side_by_side(actor.prepare() for actor in actors)
    await hub.settle()
    for number in range(max(len(actor.steps) for actor in actors)):
        await side_by_side(actor.act(number) for actor in actors)
        await settle_and_wait(hub, max(actor.wait(number) for actor in actors))
    return {actor.name: await end_state(actor) for actor in actors}


WORLD = World(HERE, DESCRIBED, run_on_ours, run_on_real, time_limit=900.0)
