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
async def two_clusters(scene):
    """c1 has two GPUs, and c2 has four."""
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2")
    scene.check()
    scene.queue("c1", gpus=2)
    scene.queue("c2", gpus=4)


def resize(scene, name, gpus):
    groups = scene.workers[name].raw(kueue.ClusterQueue, "queue")["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = str(gpus)
    scene.workers[name].change(kueue.ClusterQueue, "queue", spec={"resourceGroups": groups})


def use(scene, name, gpus):
    reserved = [{"name": "default", "resources": [{"name": GPU, "total": str(gpus)}]}]
    scene.workers[name].change(kueue.ClusterQueue, "queue", status={"flavorsReservation": reserved})


def waiting(heart):
    return heart.dispatcher.admission_metrics.waiting._value.get()


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_that_no_quota_holds_is_sent_nowhere_and_told_why(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.workload(gpus=8, checks=OPEN)
        await settle()

        assert scene.nominated() == []
        assert scene.events("NoClusterToNominate") == [NOBODY]
        assert scene.api.get(kueue.Workload, "job", "team-a").check("ac").message == f"waiting: {NOBODY}"
        assert scene.state("ac") == kueue.PENDING
        assert waiting(heart) == 1


@pytest.mark.usefixtures("two_clusters")
async def test_it_is_told_once(scene):
    async with scene.beating():
        await scene.connected()
        scene.workload(gpus=8, checks=OPEN)
        await settle()
        scene.api.writes.clear()
        use(scene, "c1", 1)
        await advance(300)

        assert scene.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_every_check_of_ours_tells_it(scene):
    scene.check("second")

    async with scene.beating():
        await scene.connected()
        scene.workload(gpus=8, checks={**OPEN, "second": "Pending"})
        await settle()

        workload = scene.api.get(kueue.Workload, "job", "team-a")
        assert {workload.check(name).message for name in ("ac", "second")} == {f"waiting: {NOBODY}"}


@pytest.mark.usefixtures("two_clusters")
async def test_it_is_sent_when_a_quota_has_grown(scene):
    async with scene.beating() as heart:
        await scene.connected()
        scene.workload(gpus=8, checks=OPEN)
        await settle()
        resize(scene, "c1", 8)
        await settle()

        assert scene.nominated() == ["gpu-c1"]
        assert scene.state("ac") == kueue.READY
        assert waiting(heart) == 0
        assert scene.events("Nominated") == [
            f"gpu-c1; spread; gpu-c1: score 0, has room, 0% of its {GPU} used; gpu-c2: has 4 {GPU}, and the job needs 8"
        ]


@pytest.mark.usefixtures("two_clusters")
async def test_it_weighs_nowhere_on_the_choice_for_others(scene):
    resize(scene, "c1", 4)

    async with scene.beating():
        await scene.connected()
        scene.workload("large", gpus=8)
        await settle()
        scene.workload("small")
        await settle()

        assert scene.nominated("small") == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_that_one_of_them_holds_waits_for_that_one(scene):
    use(scene, "c2", 4)
    scene.copy("c2")

    async with scene.beating(nomination_timeout=60.0) as heart:
        await scene.connected()
        scene.workload(gpus=4)
        await advance(600)

        assert scene.nominated() == ["gpu-c2"]
        assert waiting(heart) == 0


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_that_has_grown_is_nominated_as_well(scene):
    use(scene, "c2", 4)
    scene.copy("c2")

    async with scene.beating(nomination_timeout=60.0):
        await scene.connected()
        scene.workload(gpus=4)
        await advance(600)
        resize(scene, "c1", 4)
        await settle()

        assert scene.nominated() == ["gpu-c2", "gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_whose_only_cluster_has_shrunk_counts_as_waiting(scene):
    scene.copy("c2")

    async with scene.beating(nomination_timeout=60.0) as heart:
        await scene.connected()
        scene.workload(gpus=4)
        await settle()
        resize(scene, "c2", 3)
        await advance(90)

        assert scene.nominated() == ["gpu-c2"]
        assert waiting(heart) == 1
        assert len(scene.events("NoClusterToNominate")) == 1


@pytest.mark.usefixtures("two_clusters")
async def test_a_cluster_whose_quota_is_not_known_stays_in_the_choice(scene):
    scene.workers["c2"].remove(kueue.ClusterQueue, "queue")

    async with scene.beating():
        await scene.connected()
        scene.workload(gpus=8)
        await settle()

        assert scene.nominated() == ["gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_worker_that_does_not_let_its_queues_be_seen_stays_in_the_choice(scene):
    scene.workers["c1"].fail_on("watch clusterqueues", errors.Forbidden("not yours"))

    async with scene.beating():
        await scene.connected()
        scene.workload(gpus=8)
        await advance(10)

        assert scene.nominated() == ["gpu-c1"]


@pytest.mark.usefixtures("two_clusters")
async def test_after_a_restart_the_queues_are_known_before_anybody_is_nominated(scene):
    async with scene.beating():
        await scene.connected()
    scene.workload(gpus=8)
    for worker in scene.workers.values():
        worker.seconds_per_request = 1.0

    async with scene.beating():
        await advance(30)

        assert scene.nominated() == []
        assert scene.events("NoClusterToNominate") == [NOBODY]


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
async def test_a_stopped_queue_gets_no_job_and_says_so(scene, kind, namespace, why):
    scene.workers["c2"].change(kind, "queue", namespace, spec=STOPPED)

    async with scene.beating():
        await scene.connected()
        scene.workload()
        await settle()

        assert scene.nominated() == ["gpu-c1"]
        assert scene.events("Nominated")[0].endswith(f"gpu-c2: {why}")


@pytest.mark.usefixtures("two_clusters")
async def test_a_job_whose_queue_no_worker_has_is_told_so_until_one_has_it(scene):
    for worker in scene.workers.values():
        worker.remove(kueue.LocalQueue, "queue", "team-a")

    async with scene.beating() as heart:
        await scene.connected()
        scene.workload(checks=OPEN)
        await settle()

        lacks = "has no LocalQueue queue in namespace team-a"
        assert scene.nominated() == []
        assert scene.events("NoClusterToNominate") == [f"gpu-c1: {lacks}; gpu-c2: {lacks}"]
        assert waiting(heart) == 1

        scene.workers["c2"].add(kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "queue"}))
        await settle()

        assert scene.nominated() == ["gpu-c2"]
        assert waiting(heart) == 0


@pytest.mark.usefixtures("two_clusters")
async def test_a_queue_that_is_started_again_gets_the_job(scene):
    for worker in scene.workers.values():
        worker.change(kueue.ClusterQueue, "queue", spec=STOPPED)

    async with scene.beating():
        await scene.connected()
        scene.workload(checks=OPEN)
        await settle()
        assert scene.nominated() == []
        scene.workers["c1"].change(kueue.ClusterQueue, "queue", spec={"stopPolicy": "None"})
        await settle()

        assert scene.nominated() == ["gpu-c1"]
