"""The invariants have teeth: a controller that breaks one of them is caught, and one that breaks none is not."""

from contextlib import asynccontextmanager
from functools import partial

import pytest

from fleetqueue.admin.causes import Cause
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.api.errors import RetryLater
from fleetqueue.controllers.usage_scores.agent import ScoreAgent
from fleetqueue.embedded.kueue.manager import KueueManager
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing import virtual_time
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import advance, running, settle

from . import Broken
from .second_look import managed, scoring, whole
from .standing_by import FOREIGN, INVARIANTS, ONCE, QUIET, REASON, standing_by, watched_over

POD_SET = {"name": "main", "count": 1, "template": pod_template()}


class Labels(Controller):
    """Labels a ConfigMap of ours: it writes what differs, and nothing else."""

    name = "labels"

    def watches(self):
        return (Watch(ConfigMap, by_key),)

    async def reconcile(self, key):
        namespace, name = key.split("/")
        found = self.hub.get(ConfigMap, name, namespace)
        if found is not None and self.is_ours(found) and "seen" not in found.metadata.labels:
            await self.label(found, "yes")

    def is_ours(self, found):
        return found.name == "ours"

    async def label(self, found, value):
        patch = {"metadata": {"labels": {"seen": value}}}
        await self.hub.client.merge(ConfigMap.resource, found.name, found.namespace, patch)


class Meddles(Labels):
    """Takes everything for its own."""

    def is_ours(self, found):
        return "default" in found.namespace


class Writes(Labels):
    """Writes at every look, and looks again and again."""

    written = 0
    is_echo = False

    async def reconcile(self, key):
        namespace, name = key.split("/")
        found = self.hub.get(ConfigMap, name, namespace)
        if found is None or not self.is_ours(found):
            return
        self.is_echo = not self.is_echo  # its own write wakes it
        if self.is_echo:
            self.written += 1
            await self.label(found, f"{self.written}")
        raise RetryLater(20, "it cannot stop")


def job(name, labels=None, **spec):
    return Job.manifest(name, "default", labels=labels, spec={"template": pod_template(), **spec})


async def nothing_happens(fleet):
    """Let all be well."""


async def a_job_runs_twice(fleet):
    for worker in fleet.workers:
        await worker.client().create(Job.resource, job("twice"))


async def a_job_is_silent(fleet):
    silent = job("silent", {kueue.QUEUE_LABEL: "queue"}, suspend=True, managedBy="example.com/nobody")
    await fleet.hub.client().create(Job.resource, silent)


@asynccontextmanager
async def opened(workers=2):
    """Open a fleet whose hub has Kueue's kinds."""
    async with EmbeddedFleet.open(workers=workers) as fleet:
        for definition in crds("kueue"):
            await fleet.hub.client().create(CustomResourceDefinition.resource, definition)
        await fleet.hub.client().create(Namespace.resource, Namespace.manifest("kueue-system"))
        yield fleet, {name: cluster.client() for name, cluster in fleet.clusters.items()}


async def lived(controller, happening):
    async with opened() as (fleet, clients):
        async with standing_by(clients) as bystander:
            hub = Cluster("hub", fleet.hub.client())
            async with running(Manager(hub, [controller(hub, Metrics())]).run()):
                await clients["hub"].create(ConfigMap.resource, ConfigMap.manifest("ours", "default"))
                await happening(fleet)
                await advance(30)
                return await bystander.look_back()


@pytest.mark.parametrize(
    ("controller", "happening", "broken"),
    [
        pytest.param(Labels, nothing_happens, [], id="nothing is broken"),
        pytest.param(Labels, a_job_runs_twice, [ONCE], id="a double"),
        pytest.param(Meddles, nothing_happens, [FOREIGN], id="a touch of a stranger"),
        pytest.param(Writes, nothing_happens, [QUIET], id="a write at every look"),
        pytest.param(Labels, a_job_is_silent, [REASON], id="a silent job"),
    ],
)
def test_what_is_broken_is_noticed(controller, happening, broken):
    found = virtual_time.run(lived(controller, happening))

    assert [invariant for invariant in INVARIANTS if found[invariant]] == broken


async def asked_why(explained):
    async with opened(workers=0) as (_, clients), standing_by(clients, explained=explained) as bystander:
        await advance(1)
        waiting = kueue.Workload.manifest("w", "default", spec={"queueName": "q", "podSets": [POD_SET]})
        await clients["hub"].create(kueue.Workload.resource, waiting)
        return await bystander.look_back()


@pytest.mark.parametrize(
    ("explained", "broken"),
    [
        pytest.param(cause_of, [], id="it is answered"),
        pytest.param(lambda workload, hub: Cause("Queued", "", "wait"), [REASON], id="no sentence"),
        pytest.param(lambda workload, hub: Cause("Queued", "mk is Pending: ", "wait"), [REASON], id="no reason"),
        pytest.param(lambda workload, hub: Cause("Queued", "it waits", " "), [REASON], id="no step"),
    ],
)
def test_a_workload_of_any_kind_that_explain_has_no_answer_for_is_noticed(explained, broken):
    found = virtual_time.run(asked_why(explained))

    assert [invariant for invariant in INVARIANTS if found[invariant]] == broken


async def looked_at_twice(controller):
    async with EmbeddedFleet.open(workers=0) as fleet:
        await fleet.hub.client().create(ConfigMap.resource, ConfigMap.manifest("ours", "default"))
        hub = Cluster("hub", fleet.hub.client())
        async with managed(Manager(hub, [controller(hub, Metrics())])):
            await settle()


def test_a_controller_that_writes_what_differs_bears_a_second_look():
    virtual_time.run(looked_at_twice(Labels))


def test_a_controller_that_writes_at_every_look_is_caught_at_the_second():
    with pytest.raises(Broken, match="a second look wrote: patch configmaps/default/ours"):
        virtual_time.run(looked_at_twice(Writes))


async def in_a_room(controller, happening, broken=()):
    async with opened() as (fleet, clients), watched_over(clients, broken=broken):
        hub = Cluster("hub", fleet.hub.client())
        async with managed(Manager(hub, [controller(hub, Metrics())])):
            await happening(fleet)
            await advance(120)


@pytest.mark.parametrize(
    ("controller", "happening", "broken"),
    [
        pytest.param(Labels, a_job_runs_twice, ONCE, id="a double"),
        pytest.param(Meddles, nothing_happens, FOREIGN, id="a touch of a stranger"),
        pytest.param(Labels, a_job_is_silent, REASON, id="a silent job"),
    ],
)
def test_what_is_broken_in_a_room_is_noticed_unless_it_is_on_purpose(controller, happening, broken):
    with pytest.raises(Broken, match=broken):
        virtual_time.run(in_a_room(controller, happening))

    virtual_time.run(in_a_room(controller, happening, [broken]))


def test_what_is_to_be_broken_on_purpose_and_is_not_is_noticed():
    virtual_time.run(in_a_room(Labels, nothing_happens))

    with pytest.raises(Broken, match=f"broken on purpose, and yet it was not: {ONCE}"):
        virtual_time.run(in_a_room(Labels, nothing_happens, [ONCE]))


async def whole_kueue(controller):
    async with opened(workers=0) as (fleet, clients):
        await clients["hub"].create(ConfigMap.resource, ConfigMap.manifest("ours", "default"))
        hub, server, metrics = Cluster("hub", fleet.hub.client()), fleet.hub.server, Metrics()
        install, more = partial(server.webhooks.install, "kueue"), lambda: [controller(hub, metrics)]
        settings = KueueSettings(frameworks=("batch/job",))
        async with whole(KueueManager(hub, metrics, settings, find=server.find, install=install, more=more)):
            await advance(3)


def test_a_whole_kueue_is_looked_at_again():
    virtual_time.run(whole_kueue(Labels))

    with pytest.raises(Broken, match="a second look wrote: patch configmaps/default/ours"):
        virtual_time.run(whole_kueue(Writes))


class Restless(ScoreAgent):
    """Publishes what is known."""

    def _is_current(self, live, values):
        return False


async def scored(kind):
    async with EmbeddedFleet.open(workers=1) as fleet:
        client = fleet.hub.client()
        for definition in crds("ocm-hub"):
            await client.create(CustomResourceDefinition.resource, definition)
        await client.create(Namespace.resource, Namespace.manifest("cluster1"))
        await advance(1)
        worker = Cluster("cluster1", fleet.clusters["cluster1"].client())
        async with scoring(kind(worker, Cluster("hub", client), Metrics())):
            await advance(30)


def test_a_score_agent_is_looked_at_again():
    virtual_time.run(scored(ScoreAgent))

    with pytest.raises(Broken, match="a second look wrote: patch addonplacementscores/cluster1/"):
        virtual_time.run(scored(Restless))
