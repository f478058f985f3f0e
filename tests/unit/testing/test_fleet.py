"""The fixture `fleet`: a hub and workers of a test's own, on a clock that it moves."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Namespace, Node
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource
from fleetqueue.client.kubeconfig import parse
from fleetqueue.fleets.crashes import Life
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.fleet import Fleet
from fleetqueue.testing.virtual_time import START, running

ALONE = pytest.mark.fleet(workers=1, scenario="api")


def a_map(name="a", **data):
    return ConfigMap.manifest(name, "default", data=data)


async def test_a_fleet_is_a_hub_and_two_workers(fleet):
    assert [cluster.name for cluster in fleet] == ["hub", "cluster1", "cluster2"]
    assert fleet.hub is fleet["hub"]
    assert fleet.workers == [fleet["cluster1"], fleet["cluster2"]]


@pytest.mark.fleet(workers=4, scenario="api")
async def test_it_has_as_many_workers_as_the_test_wants(fleet):
    assert len(fleet.workers) == 4


async def test_clusters_live(fleet):
    template = pod_template(annotations={"fleetqueue.dev/run-for": "90m"})
    fleet["cluster1"].add(Job.manifest("job", "default", spec={"template": template}))

    await fleet.advance("1h")
    runs = fleet["cluster1"].get(Job, "job", "default").status.active
    await fleet.advance("31m")

    assert runs == 1
    assert fleet["cluster1"].get(Job, "job", "default").has_ended
    assert [node.name for node in fleet["cluster1"].list(Node)] == ["cluster1-control-plane"]


@ALONE
async def test_or_are_an_api_and_nothing_else(fleet):
    await fleet.advance("1h")

    assert fleet["cluster1"].list(Node) == []


@ALONE
@pytest.mark.parametrize(("time", "seconds"), [(90, 90), ("90s", 90), ("3h", 3 * 3600), ("1h30m", 5400)])
async def test_time_is_moved_by_the_test(fleet, time, seconds):
    began = clock.monotonic()

    await fleet.advance(time)

    assert clock.monotonic() - began == seconds
    assert (clock.now() - START).total_seconds() == clock.monotonic()


@ALONE
async def test_what_is_no_time_is_refused(fleet):
    with pytest.raises(ValueError, match="'soon' is no time"):
        await fleet.advance("soon")


@ALONE
async def test_custom_kinds_of_kueue_and_ocm_are_served_and_further_ones_can_be_added(fleet):
    fleet.hub.add(kueue.AdmissionCheck.manifest("check", spec={"controllerName": "x"}), thing_definition())

    fleet.hub.add(Thing.manifest("a", "default", spec={"size": 3}))

    assert fleet.hub.raw(Thing, "a", "default")["spec"] == {"size": 3}
    with pytest.raises(errors.NotFound):
        fleet["cluster1"].add(Thing.manifest("a", "default"))


class Thing(Object):
    resource = Resource("example.dev", "v1", "Thing", "things")


def thing_definition():
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    spec = {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    return CustomResourceDefinition.manifest("things.example.dev", spec=spec)


@ALONE
async def test_a_cluster_that_is_cut_off_refuses_until_it_is_healed(fleet):
    client = fleet["cluster1"].client()

    fleet.cut("cluster1")
    with pytest.raises(errors.Unreachable, match="connection refused"):
        await client.list(ConfigMap.resource)
    fleet.heal("cluster1")

    assert await client.list(ConfigMap.resource)


@ALONE
async def test_or_silently_swallows_all(fleet):
    fleet.cut("hub", silently=True)
    listing = asyncio.create_task(fleet.hub.client().list(ConfigMap.resource))

    await fleet.advance("29s")
    waited = not listing.done()
    await fleet.advance("2s")

    assert waited
    with pytest.raises(errors.Unreachable, match="timed out"):
        await listing
    fleet.heal()
    assert await fleet.hub.client().list(ConfigMap.resource)


@ALONE
@pytest.mark.parametrize(
    "error",
    [
        errors.Conflict("stale"),
        errors.Gone("too old", reason="Expired"),
        errors.TooManyRequests("later"),
        errors.ServerError("boom"),
    ],
    ids=["409", "410", "429", "500"],
)
async def test_answers_can_be_what_a_healthy_server_would_not_say(fleet, error):
    fleet.hub.fail_on("create configmaps/*", error, times=1)

    with pytest.raises(type(error)):
        await fleet.hub.client().create(ConfigMap.resource, a_map())

    assert await fleet.hub.client().create(ConfigMap.resource, a_map())


@ALONE
async def test_writes_are_recorded_whoever_dials(fleet):
    mine = fleet.dial(parse(fleet.hub.kubeconfig))

    await mine.create(ConfigMap.resource, a_map("a"))
    await fleet.hub.client().create(ConfigMap.resource, a_map("b"))
    fleet.hub.add(a_map("arranged"))

    assert fleet.hub.writes == ["create configmaps/default/a", "create configmaps/default/b"]


@ALONE
async def test_what_is_read_cannot_be_changed(fleet):
    fleet.hub.add(a_map(v="1"))

    found = await fleet.dial(parse(fleet.hub.kubeconfig)).get(ConfigMap.resource, "a", "default")

    with pytest.raises(TypeError, match="copy it before you change it"):
        found["data"]["v"] = "2"


class Copies(Controller):
    """Makes two copies of every ConfigMap that is called original."""

    name = "copies"

    def watches(self):
        return (Watch(ConfigMap, by_key),)

    async def reconcile(self, key):
        if key == "default/original":
            for name in ("one", "two"):
                await self.hub.ensure(ConfigMap, a_map(name))


def process(fleet, life):
    hub = Cluster("hub", fleet.hub.client(life))
    return Manager(hub, [Copies(hub, Metrics())]).run()


@ALONE
@pytest.mark.parametrize("arrives", [False, True], ids=["the write is lost", "the write arrives"])
@pytest.mark.parametrize("number", [1, 2])
async def test_a_process_dies_between_two_writes_and_its_successor_ends_the_work(fleet, number, arrives):
    fleet.hub.add(a_map("original"))
    life = Life(dies_at=number, last_write_arrives=arrives)
    async with running(process(fleet, life)):
        await life.dead.wait()
        await fleet.settle()
        left = len(fleet.hub.list(ConfigMap)) - 1

    async with running(process(fleet, Life())):
        await fleet.settle()

    assert left == number - (not arrives)
    assert [found.name for found in fleet.hub.list(ConfigMap)] == ["one", "original", "two"]


async def first_uid(seed):
    async with Fleet.open(1, scenario="api", seed=seed) as fleet:
        return fleet.hub.get(Namespace, "default").uid


@ALONE
@pytest.mark.parametrize("fleet_seed", [1])
async def test_chance_comes_from_the_seed(fleet):
    uid = fleet.hub.get(Namespace, "default").uid

    assert uid == await first_uid(1)
    assert uid != await first_uid(2)
