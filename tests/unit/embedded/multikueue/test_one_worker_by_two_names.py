"""Two MultiKueueClusters that lead to one worker: by whichever name a job was sent there, the other does not end it.

`cluster1` has the job. Its twin leads to the same worker and sees the same objects; most often it is listed for another
check only. The names of the twins come before and after that of `cluster1`, and so do their connections.
"""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret

from .objects import CONFIG, SYSTEM, encoded

pytestmark = [pytest.mark.fleet(workers=1, scenario="api"), pytest.mark.parametrize("twin", ["again", "twin"])]

CLUSTER = kueue.MultiKueueCluster


class Story:
    """A job that runs on a worker."""

    def __init__(self, env, twin):
        self.env = env
        self.twin = twin
        self.good = env.fleet["cluster1"].kubeconfig
        self.elsewhere = self.good.replace("//cluster1.", "//elsewhere.")
        self.uids = ()

    async def begin(self):
        self.env.submit()
        await self.env.fleet.settle()
        self.env.admit("cluster1")
        await self.env.fleet.advance(3)
        self.uids = self.on_worker

    @property
    def on_worker(self):
        """What the worker has; something else of the same name is another run."""
        return [obj.uid for obj in (self.env.workload(cluster="cluster1"), self.env.job(cluster="cluster1")) if obj]

    @property
    def is_undisturbed(self):
        is_placed = self.env.workload().status.cluster_name == "cluster1" and self.env.check().state == "Ready"
        return is_placed and len(self.uids) == 2 and self.on_worker == self.uids

    def reach(self, name, kubeconfig):
        """Let a MultiKueueCluster have another kubeconfig."""
        self.env.hub.change(Secret, f"{name}-secret", SYSTEM, data={"kubeconfig": encoded(kubeconfig)})

    def open_elsewhere(self):
        """Let the worker be reached by its other address, too."""
        self.env.addresses["elsewhere"] = "cluster1"


@pytest.fixture
def story(env, twin):
    env.arrange("cluster1")
    env.connect_as(twin, "cluster1")
    return Story(env, twin)


@pytest.fixture
async def between(story):
    """The job runs, and the hub's MultiKueue has ended; it is up to the test to start it anew."""
    async with story.env.multikueue():
        await story.begin()
    return story


@pytest.fixture
async def begun(story):
    """The job runs, and so does the hub's MultiKueue."""
    async with story.env.multikueue():
        await story.begin()
        yield story


async def test_a_job_runs_on_when_the_hub_is_started_anew(between):
    async with between.env.multikueue():
        await between.env.fleet.advance(120)

    assert between.is_undisturbed


@pytest.mark.parametrize("kubeconfig", ["", "users: [{name: u, user: {tokenFile: /t}}]"], ids=["none", "a bad one"])
async def test_a_job_runs_on_when_the_hub_comes_back_without_a_kubeconfig_of_its_cluster(between, kubeconfig):
    between.reach("cluster1", kubeconfig)
    async with between.env.multikueue():
        await between.env.fleet.advance(600)
        before = between.is_undisturbed
        between.reach("cluster1", between.good)
        await between.env.fleet.advance(600)

    assert before
    assert between.is_undisturbed


async def test_a_job_runs_on_when_its_cluster_is_reached_later_than_its_twin(between):
    between.reach("cluster1", between.elsewhere)
    async with between.env.multikueue():
        await between.env.fleet.advance(60)
        before = between.is_undisturbed
        between.open_elsewhere()
        await between.env.fleet.advance(600)

    assert before
    assert between.is_undisturbed


@pytest.mark.parametrize("is_its_own", [True, False], ids=["its own", "its twin's"])
@pytest.mark.parametrize("is_open", [True, False], ids=["reached at once", "reached later"])
async def test_a_job_runs_on_when_a_kubeconfig_gets_another_address_of_the_worker(begun, is_its_own, is_open):
    if is_open:
        begun.open_elsewhere()
    begun.reach("cluster1" if is_its_own else begun.twin, begun.elsewhere)
    await begun.env.fleet.advance(60)
    begun.open_elsewhere()
    await begun.env.fleet.advance(600)

    assert begun.is_undisturbed


async def test_a_job_runs_on_while_a_kubeconfig_is_broken(begun):
    begun.reach("cluster1", "")
    await begun.env.fleet.advance(60)
    begun.reach("cluster1", begun.good)
    await begun.env.fleet.advance(600)

    assert begun.is_undisturbed


async def test_a_job_runs_on_when_its_cluster_is_made_anew(begun):
    begun.env.hub.remove(CLUSTER, "cluster1")
    await begun.env.fleet.advance(60)
    source = {"kubeConfig": {"location": "cluster1-secret", "locationType": "Secret"}}
    begun.env.hub.add(CLUSTER.manifest("cluster1", spec={"clusterSource": source}))
    await begun.env.fleet.advance(600)

    assert begun.is_undisturbed


async def test_a_job_runs_on_without_a_config(begun):
    begun.env.hub.remove(kueue.MultiKueueConfig, CONFIG)
    await begun.env.fleet.advance(600)

    assert begun.is_undisturbed


async def test_a_job_runs_on_where_one_config_lists_both(between):
    between.env.list_clusters(between.twin, "cluster1")
    async with between.env.multikueue():
        await between.env.fleet.advance(600)

    assert between.is_undisturbed


async def test_where_one_config_lists_both_a_job_is_sent_by_one_name(story):
    story.env.list_clusters("cluster1", story.twin)
    async with story.env.multikueue():
        await story.begin()
        await story.env.fleet.advance(600)

    requests = [request for request in story.env.fleet["cluster1"].requests if request.startswith("create ")]
    assert requests == ["create workloads/team-a/j", "create jobs/team-a/j"]
    assert story.is_undisturbed


async def test_where_one_config_lists_both_a_job_is_sent_by_the_name_that_leads_to_the_worker(story):
    story.env.list_clusters(story.twin, "cluster1")
    story.reach(story.twin, story.good.replace("token: ", "token: no"))
    async with story.env.multikueue():
        await story.begin()
        await story.env.fleet.advance(600)

    assert story.is_undisturbed


async def test_a_sent_job_that_was_not_recorded_runs_on_when_the_hub_is_started_anew(story):
    async with story.env.multikueue():
        story.env.submit()
        await story.env.fleet.settle()
        story.env.hub.fail_on("apply workloads/*", errors.Unreachable("cut off"))
        story.env.admit("cluster1")
        await story.env.fleet.advance(3)
        story.uids = story.on_worker
    story.env.fleet.heal()
    story.reach("cluster1", "")
    async with story.env.multikueue():
        await story.env.fleet.advance(60)
        before = story.on_worker
        story.reach("cluster1", story.good)
        await story.env.fleet.advance(60)

    assert before == story.uids
    assert story.is_undisturbed


async def test_a_twin_removes_the_job_of_a_workload_that_has_finished(between):
    between.reach("cluster1", "")
    async with between.env.multikueue():
        await between.env.fleet.advance(60)
        between.env.tell("hub", Finished="Succeeded")
        await between.env.fleet.advance(60)

    assert between.on_worker == []
