"""A fleet in this process: clusters of their own, reached by kubeconfig, with faults on the way."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.client.kubeconfig import parse
from fleetqueue.fleets.embedded import EmbeddedFleet, InProcessCluster
from fleetqueue.fleets.faults import Failure
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import advance, run, settle

pytestmark = pytest.mark.virtual_time

CREATE = "create configmaps/default/*"


@pytest.fixture
async def fleet():
    async with EmbeddedFleet.open(workers=2) as fleet:
        yield fleet


@pytest.fixture
def worker(fleet):
    """A client that goes the way that faults are on."""
    return fleet.dial(parse(fleet.clusters["cluster1"].kubeconfig))


def a_map(name="a"):
    return ConfigMap.manifest(name, "default", data={"k": "v"})


async def exists(fleet, name="a"):
    try:
        await fleet.clusters["cluster1"].client().get(ConfigMap.resource, name, "default")
    except errors.NotFound:
        return False
    return True


async def test_clusters_do_not_share_objects(fleet, worker):
    await worker.create(ConfigMap.resource, a_map())

    with pytest.raises(errors.NotFound):
        await fleet.hub.client().get(ConfigMap.resource, "a", "default")
    assert [cluster.name for cluster in fleet.workers] == ["cluster1", "cluster2"]


async def test_a_kubeconfig_of_another_cluster_is_none_here(fleet):
    stranger = fleet.clusters["cluster1"].client(token=fleet.hub.admin_token)

    with pytest.raises(errors.Unauthorized):
        await stranger.list(ConfigMap.resource)


async def test_an_address_outside_the_fleet_is_not_reached(fleet):
    connection = parse(fleet.hub.kubeconfig.replace("hub.embedded", "elsewhere"))

    with pytest.raises(errors.Unreachable, match="no cluster of this fleet"):
        fleet.dial(connection)


def a_job(name="job", run_for="600s"):
    container = {"name": "main", "image": "example.com/sleep", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {"fleetqueue.dev/run-for": run_for}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return Job.manifest(name, "default", spec={"template": template})


async def test_a_job_runs_as_long_as_it_asks_for_and_an_hour_passes_in_no_time(fleet, worker):
    await worker.create(Job.resource, a_job(run_for="50m"))
    await advance(49 * 60)
    running = Job.view(await worker.get(Job.resource, "job", "default"))
    await advance(2 * 60)
    ended = Job.view(await worker.get(Job.resource, "job", "default"))

    assert (running.status.active, running.has_ended) == (1, False)
    assert (ended.status.succeeded, ended.has_ended) == (1, True)


async def history():
    """Live through a story in a fleet of its own, and return all that was stored."""
    async with EmbeddedFleet.open(workers=2) as fleet:
        for cluster in fleet.clusters.values():
            await cluster.client().create(Job.resource, a_job(run_for="30s"))
        await advance(120)
        await fleet.hub.client().delete(Job.resource, "job", "default")
        await advance(60)
        return [
            (cluster.name, entry.revision, entry.key, entry.json)
            for cluster in fleet.clusters.values()
            for entry in cluster.server.storage.list("/").entries
        ]


def test_the_same_seed_gives_the_same_history():
    first, second, other = (run(history(), seed=seed) for seed in (1, 1, 2))

    assert first == second
    assert first != other


async def test_a_cut_cluster_refuses_until_it_is_healed(fleet, worker):
    fleet.cut("cluster1")
    with pytest.raises(errors.Unreachable, match="refused"):
        await worker.list(ConfigMap.resource)
    fleet.heal("cluster1")

    assert await worker.list(ConfigMap.resource)


async def test_a_silent_cluster_costs_the_whole_time(fleet, worker):
    fleet.cut("cluster1", silently=True)
    before = clock.monotonic()

    with pytest.raises(errors.Unreachable, match="no answer within 30 s"):
        await worker.list(ConfigMap.resource)

    assert clock.monotonic() - before == 30


async def test_a_slow_way_takes_its_time(fleet, worker):
    fleet.clusters["cluster1"].way.slow = 2.0
    before = clock.monotonic()

    await worker.list(ConfigMap.resource)

    assert clock.monotonic() - before == 2


@pytest.mark.parametrize("happens", [False, True], ids=["the request is lost", "only its answer is lost"])
async def test_an_answer_can_fail(fleet, worker, happens):
    failure = Failure(CREATE, errors.ServerError("boom", reason="InternalError"), times=1, happens=happens)
    fleet.clusters["cluster1"].way.failures.append(failure)

    with pytest.raises(errors.ServerError, match="boom"):
        await worker.create(ConfigMap.resource, a_map())

    assert await exists(fleet) == happens
    await worker.create(ConfigMap.resource, a_map("next"))


async def test_a_watch_can_be_left_at_any_time(worker):
    informer = Informer(worker, ConfigMap)
    following = asyncio.create_task(informer.run())
    await informer.synced.wait()

    following.cancel()
    await asyncio.wait({following})

    assert following.cancelled()


@pytest.mark.parametrize("silently", [False, True], ids=["refused", "silent"])
async def test_a_watch_survives_a_cut(fleet, worker, silently):
    informer = Informer(worker, ConfigMap)
    following = asyncio.create_task(informer.run())
    await informer.synced.wait()

    fleet.cut("cluster1", silently=silently)
    await fleet.clusters["cluster1"].client().create(ConfigMap.resource, a_map())
    await settle()
    assert informer.store.get("default/a") is None
    fleet.heal("cluster1")
    await advance(4000)

    assert informer.store.get("default/a") is not None
    following.cancel()


class Doomed(InProcessCluster):
    """A cluster whose parts fail."""

    def start(self, dial, *, with_parts=True):
        async def fail():
            raise KeyError("a defect of ours")

        return [asyncio.create_task(fail())]


async def wait_in_vain(fleet):
    async with fleet.living():
        await settle()
        raise AssertionError("the job has not ended")


async def test_who_waits_in_vain_for_a_cluster_that_has_died_is_told_so():
    fleet = EmbeddedFleet([await Doomed.new("hub")])

    with pytest.raises(KeyError, match="a defect of ours") as told:
        await wait_in_vain(fleet)

    assert str(told.value.__context__) == "the job has not ended"
