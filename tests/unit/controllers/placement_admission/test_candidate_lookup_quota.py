"""A job that a cluster's whole quota cannot hold is not sent there; where nobody's can, that is said until one can."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import advance, settle

GPU = "nvidia.com/gpu"
OPEN = {"mk": "Pending", "ac": "Pending"}
NOBODY = (
    f"no selected cluster's quota holds this job; gpu-c1: has 2 {GPU}, and the job needs 8;"
    f" gpu-c2: has 4 {GPU}, and the job needs 8"
)


@pytest.fixture
async def two_clusters(env):
    """c1 has two GPUs, and c2 has four."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.queue("c1", gpus=2)
    env.queue("c2", gpus=4)


def resize(env, name, gpus):
    groups = env.workers[name].raw(kueue.ClusterQueue, "queue")["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = str(gpus)
    env.workers[name].change(kueue.ClusterQueue, "queue", spec={"resourceGroups": groups})


def use(env, name, gpus):
    reserved = [{"name": "default", "resources": [{"name": GPU, "total": str(gpus)}]}]
    env.workers[name].change(kueue.ClusterQueue, "queue", status={"flavorsReservation": reserved})


def waiting(heart):
    return heart.dispatcher.admission_metrics.waiting._value.get()


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_that_no_quota_holds_is_sent_nowhere_and_told_why(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload(gpus=8, checks=OPEN)
        await settle()

        assert env.nominated() == []
        assert env.events("NoClusterToNominate") == [NOBODY]
        assert env.api.get(kueue.Workload, "job", "team-a").check("ac").message == f"waiting: {NOBODY}"
        assert env.state("ac") == kueue.PENDING
        assert waiting(heart) == 1


@pytest.mark.usefixtures("two_clusters")
async def test_it_is_told_once(env):
    async with env.beating():
        await env.connected()
        env.workload(gpus=8, checks=OPEN)
        await settle()
        env.api.writes.clear()
        use(env, "c1", 1)
        await advance(300)

        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_every_check_of_ours_tells_it(env):
    env.check("second")

    async with env.beating():
        await env.connected()
        env.workload(gpus=8, checks={**OPEN, "second": "Pending"})
        await settle()

        workload = env.api.get(kueue.Workload, "job", "team-a")
        assert {workload.check(name).message for name in ("ac", "second")} == {f"waiting: {NOBODY}"}


@pytest.mark.usefixtures("two_clusters")
async def test_it_is_sent_when_a_quota_has_grown(env):
    async with env.beating() as heart:
        await env.connected()
        env.workload(gpus=8, checks=OPEN)
        await settle()
        resize(env, "c1", 8)
        await settle()

        assert env.nominated() == ["gpu-c1"]
        assert env.state("ac") == kueue.READY
        assert waiting(heart) == 0
        assert env.events("Nominated") == [
            f"gpu-c1; spread; gpu-c1: score 0, has room, 0% of its {GPU} used; gpu-c2: has 4 {GPU}, and the job needs 8"
        ]


@pytest.mark.usefixtures("two_clusters")
async def test_it_weighs_nowhere_on_the_choice_for_others(env):
    resize(env, "c1", 4)

    async with env.beating():
        await env.connected()
        env.workload("large", gpus=8)
        await settle()
        env.workload("small")
        await settle()

        assert env.nominated("small") == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_that_one_of_them_holds_waits_for_that_one(env):
    use(env, "c2", 4)
    env.copy("c2")

    async with env.beating(nomination_timeout=60.0) as heart:
        await env.connected()
        env.workload(gpus=4)
        await advance(600)

        assert env.nominated() == ["gpu-c2"]
        assert waiting(heart) == 0


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_has_grown_is_nominated_as_well(env):
    use(env, "c2", 4)
    env.copy("c2")

    async with env.beating(nomination_timeout=60.0):
        await env.connected()
        env.workload(gpus=4)
        await advance(600)
        resize(env, "c1", 4)
        await settle()

        assert env.nominated() == ["gpu-c2", "gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_whose_only_cluster_has_shrunk_counts_as_waiting(env):
    env.copy("c2")

    async with env.beating(nomination_timeout=60.0) as heart:
        await env.connected()
        env.workload(gpus=4)
        await settle()
        resize(env, "c2", 3)
        await advance(90)

        assert env.nominated() == ["gpu-c2"]
        assert waiting(heart) == 1
        assert len(env.events("NoClusterToNominate")) == 1


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_whose_quota_is_not_known_stays_in_the_choice(env):
    env.workers["c2"].remove(kueue.ClusterQueue, "queue")

    async with env.beating():
        await env.connected()
        env.workload(gpus=8)
        await settle()

        assert env.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_worker_that_does_not_let_its_queues_be_seen_stays_in_the_choice(env):
    env.workers["c1"].fail_on("watch clusterqueues", errors.Forbidden("not yours"))

    async with env.beating():
        await env.connected()
        env.workload(gpus=8)
        await advance(10)

        assert env.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_after_a_restart_the_queues_are_known_before_anybody_is_nominated(env):
    async with env.beating():
        await env.connected()
    env.workload(gpus=8)
    for worker in env.workers.values():
        worker.seconds_per_request = 1.0

    async with env.beating():
        await advance(30)

        assert env.nominated() == []
        assert env.events("NoClusterToNominate") == [NOBODY]


# Queues that take nothing

STOPPED = {"stopPolicy": "Hold"}


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    ("kind", "namespace", "why"),
    [
        pytest.param(kueue.ClusterQueue, "", "its ClusterQueue queue is stopped (spec.stopPolicy)", id="cluster queue"),
        pytest.param(kueue.LocalQueue, "team-a", "its LocalQueue queue is stopped (spec.stopPolicy)", id="local queue"),
    ],
)
async def test_a_stopped_queue_gets_no_job_and_says_so(env, kind, namespace, why):
    env.workers["c2"].change(kind, "queue", namespace, spec=STOPPED)

    async with env.beating():
        await env.connected()
        env.workload()
        await settle()

        assert env.nominated() == ["gpu-c1"]
        assert env.events("Nominated")[0].endswith(f"gpu-c2: {why}")


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_whose_queue_no_worker_has_is_told_so_until_one_has_it(env):
    for worker in env.workers.values():
        worker.remove(kueue.LocalQueue, "queue", "team-a")

    async with env.beating() as heart:
        await env.connected()
        env.workload(checks=OPEN)
        await settle()

        lacks = "has no LocalQueue queue in namespace team-a"
        assert env.nominated() == []
        assert env.events("NoClusterToNominate") == [f"gpu-c1: {lacks}; gpu-c2: {lacks}"]
        assert waiting(heart) == 1

        env.workers["c2"].add(kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "queue"}))
        await settle()

        assert env.nominated() == ["gpu-c2"]
        assert waiting(heart) == 0


@pytest.mark.usefixtures("two_clusters")
async def test_a_queue_that_is_started_again_gets_the_job(env):
    for worker in env.workers.values():
        worker.change(kueue.ClusterQueue, "queue", spec=STOPPED)

    async with env.beating():
        await env.connected()
        env.workload(checks=OPEN)
        await settle()
        assert env.nominated() == []
        env.workers["c1"].change(kueue.ClusterQueue, "queue", spec={"stopPolicy": "None"})
        await settle()

        assert env.nominated() == ["gpu-c1"]
