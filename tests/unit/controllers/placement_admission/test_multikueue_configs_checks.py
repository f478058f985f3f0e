"""Several checks may name one Placement: its config lives as long as any of them, their finalizers until it ends."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"


@pytest.fixture
async def one_cluster(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check("ac", "gpu")


def exists(env, check):
    return env.api.get(kueue.AdmissionCheck, check) is not None


@pytest.mark.usefixtures("one_cluster")
async def test_one_of_two_checks_goes_at_once_and_the_config_stays(env):
    env.check("second", "gpu")

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        await settle()

        assert not exists(env, "ac")
        assert env.lists() == ["gpu-c1"]
        assert env.says("Draining", "second") is None


@pytest.mark.usefixtures("one_cluster")
async def test_with_the_last_check_everything_goes(env):
    env.check("second", "gpu")

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        env.api.remove(kueue.AdmissionCheck, "second")
        await advance(60)

        assert not exists(env, "ac")
        assert not exists(env, "second")
        assert env.lists() is None
        assert env.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_the_last_check_stays_until_running_work_has_ended(env):
    env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    env.copy("c1", admitted=True)

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        await advance(600)

        assert exists(env, "ac")
        assert env.lists() == ["gpu-c1"]
        active = env.says("Active")
        assert (active.status, active.reason) == ("False", "CheckDeleted")
        assert (
            active.message == "the check is being deleted, and sends nothing any more; running work goes on in gpu-c1"
        )
        assert env.says("Draining").message == "still listed until empty: gpu-c1 (1 workload)"

        env.change_workload(finished=True, on="gpu-c1")
        env.remove_copy("c1")
        await advance(60)

        assert not exists(env, "ac")
        assert env.lists() is None
        assert env.members() == []


@pytest.mark.usefixtures("one_cluster")
@pytest.mark.parametrize(
    "write",
    [
        "patch multikueueconfigs/gpu",
        "delete multikueueconfigs/gpu",
        "delete multikueueclusters/gpu-c1",
        "patch admissionchecks/ac",
    ],
)
@pytest.mark.parametrize("applied", [False, True], ids=["refused", "done, but the answer is lost"])
async def test_if_any_write_of_the_ending_fails_the_end_is_the_same(env, write, applied):
    async with env.beating():
        env.api.fail_on(write, errors.Unreachable("lost"), times=1, applied=applied)
        env.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert not exists(env, "ac")
        assert env.lists() is None
        assert env.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_the_finalizer_stays_while_the_config_cannot_be_deleted(env):
    async with env.beating():
        env.api.fail_on("delete multikueueconfigs/gpu", errors.Forbidden("no"))
        env.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert exists(env, "ac")
        env.api.heal()
        await advance(120)
        assert not exists(env, "ac")


@pytest.mark.usefixtures("one_cluster")
async def test_a_check_that_moves_to_another_placement_takes_nothing_with_it(env):
    env.cluster("c2")
    env.placement("cpu", "c2")

    async with env.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "cpu"}
        env.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert env.lists("gpu") is None
        assert env.lists("cpu") == ["cpu-c2"]
        assert env.members() == ["cpu-c2"]
        assert env.says("Active").observed_generation == 2


@pytest.mark.usefixtures("one_cluster")
async def test_what_a_moved_check_leaves_behind_is_drained_first(env):
    env.placement("cpu", "c1")
    env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    env.copy("c1", admitted=True)

    async with env.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "cpu"}
        env.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert env.lists("gpu") == ["gpu-c1"]
        env.change_workload(finished=True, on="gpu-c1")
        env.remove_copy("c1")
        await advance(60)
        assert env.lists("gpu") is None
        assert env.members() == ["cpu-c1"]


@pytest.mark.usefixtures("one_cluster")
async def test_a_check_whose_parameters_become_bad_leaves_a_drain_that_ends(env):
    async with env.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Pod", "name": "gpu"}
        env.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert env.says("Active").reason == "InvalidParameters"
        assert env.lists() is None
        assert env.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_a_deleted_placement_is_an_empty_choice(env):
    async with env.beating():
        env.api.remove(cluster.Placement, "gpu", KUEUE)
        env.api.remove(cluster.PlacementDecision, "gpu-decision-1", KUEUE)
        await advance(60)

        assert env.lists() is None
        assert env.says("Active").reason == "PlacementNotFound"
        assert env.says("Draining") is None
