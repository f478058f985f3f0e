"""Several checks may name one Placement: its config lives as long as any of them, their finalizers until it ends."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import MISSING_KINDS
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"


@pytest.fixture
async def one_cluster(scene):
    scene.fleet("c1")
    scene.placement("gpu", "c1")
    scene.check("ac", "gpu")


def exists(scene, check):
    return scene.api.get(kueue.AdmissionCheck, check) is not None


@pytest.mark.usefixtures("one_cluster")
async def test_both_checks_say_the_same(scene):
    scene.check("second", "gpu")

    async with scene.beating():
        assert scene.says("Active", "ac").message == scene.says("Active", "second").message
        assert scene.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("one_cluster")
async def test_one_of_two_checks_goes_at_once_and_the_config_stays(scene):
    scene.check("second", "gpu")

    async with scene.beating():
        scene.api.remove(kueue.AdmissionCheck, "ac")
        await settle()

        assert not exists(scene, "ac")
        assert scene.lists() == ["gpu-c1"]
        assert scene.says("Draining", "second") is None


@pytest.mark.usefixtures("one_cluster")
async def test_with_the_last_check_everything_goes(scene):
    scene.check("second", "gpu")

    async with scene.beating():
        scene.api.remove(kueue.AdmissionCheck, "ac")
        scene.api.remove(kueue.AdmissionCheck, "second")
        await advance(60)

        assert not exists(scene, "ac")
        assert not exists(scene, "second")
        assert scene.lists() is None
        assert scene.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_the_last_check_stays_until_running_work_has_ended(scene):
    scene.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    scene.copy("c1", admitted=True)

    async with scene.beating():
        scene.api.remove(kueue.AdmissionCheck, "ac")
        await advance(600)

        assert exists(scene, "ac")
        assert scene.lists() == ["gpu-c1"]
        active = scene.says("Active")
        assert (active.status, active.reason) == ("False", "CheckDeleted")
        assert (
            active.message == "the check is being deleted, and sends nothing any more; running work goes on in gpu-c1"
        )
        assert scene.says("Draining").message == "still listed until empty: gpu-c1 (1 workload)"

        scene.change_workload(finished=True, on="gpu-c1")
        scene.remove_copy("c1")
        await advance(60)

        assert not exists(scene, "ac")
        assert scene.lists() is None
        assert scene.members() == []


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
async def test_if_any_write_of_the_ending_fails_the_end_is_the_same(scene, write, applied):
    async with scene.beating():
        scene.api.fail_on(write, errors.Unreachable("lost"), times=1, applied=applied)
        scene.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert not exists(scene, "ac")
        assert scene.lists() is None
        assert scene.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_the_finalizer_stays_while_the_config_cannot_be_deleted(scene):
    async with scene.beating():
        scene.api.fail_on("delete multikueueconfigs/gpu", errors.Forbidden("no"))
        scene.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert exists(scene, "ac")
        scene.api.heal()
        await advance(120)
        assert not exists(scene, "ac")


@pytest.mark.usefixtures("one_cluster")
async def test_a_check_that_moves_to_another_placement_takes_nothing_with_it(scene):
    scene.cluster("c2")
    scene.placement("cpu", "c2")

    async with scene.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "cpu"}
        scene.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert scene.lists("gpu") is None
        assert scene.lists("cpu") == ["cpu-c2"]
        assert scene.members() == ["cpu-c2"]
        assert scene.says("Active").observed_generation == 2


@pytest.mark.usefixtures("one_cluster")
async def test_what_a_moved_check_leaves_behind_is_drained_first(scene):
    scene.placement("cpu", "c1")
    scene.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    scene.copy("c1", admitted=True)

    async with scene.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "cpu"}
        scene.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert scene.lists("gpu") == ["gpu-c1"]
        scene.change_workload(finished=True, on="gpu-c1")
        scene.remove_copy("c1")
        await advance(60)
        assert scene.lists("gpu") is None
        assert scene.members() == ["cpu-c1"]


@pytest.mark.usefixtures("one_cluster")
async def test_a_check_whose_parameters_become_bad_leaves_a_drain_that_ends(scene):
    async with scene.beating():
        parameters = {"apiGroup": cluster.GROUP, "kind": "Pod", "name": "gpu"}
        scene.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": parameters})
        await advance(60)

        assert scene.says("Active").reason == "InvalidParameters"
        assert scene.lists() is None
        assert scene.members() == []


@pytest.mark.usefixtures("one_cluster")
async def test_a_deleted_placement_is_an_empty_choice(scene):
    async with scene.beating():
        scene.api.remove(cluster.Placement, "gpu", KUEUE)
        scene.api.remove(cluster.PlacementDecision, "gpu-decision-1", KUEUE)
        await advance(60)

        assert scene.lists() is None
        assert scene.says("Active").reason == "PlacementNotFound"
        assert scene.says("Draining") is None


@pytest.mark.usefixtures("one_cluster")
async def test_what_kueue_says_of_a_worker_that_it_refuses_is_said_on_the_check(scene):
    refusal = {
        "type": "Active",
        "status": "False",
        "reason": "ClientConnectionFailed",
        "message": "statefulsets.apps is forbidden",
        "lastTransitionTime": "2025-12-31T23:00:00Z",
    }

    async with scene.beating():
        before = scene.says("Active").message
        scene.api.change(kueue.MultiKueueCluster, "gpu-c1", status={"conditions": [refusal]})
        await settle()
        refused = scene.says("Active")
        scene.connect("gpu-c1")
        await settle()

        assert before == scene.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"
        assert refused.status == "True"
        assert refused.message == (
            "MultiKueueConfig and MultiKueueCluster generated; Kueue is not connected: "
            "gpu-c1 (ClientConnectionFailed: statefulsets.apps is forbidden)"
        )


@pytest.mark.usefixtures("one_cluster")
async def test_kinds_that_a_worker_lacks_are_said_on_the_check(scene):
    async with scene.beating():
        annotations = {MISSING_KINDS: "the worker does not serve ray.io/rayjob"}
        scene.api.change(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE, metadata={"annotations": annotations})
        await settle()

        assert "lacks a kind of its configuration: gpu-c1 (the worker does not serve ray.io/rayjob); install" in (
            scene.says("Active").message
        )
        assert scene.lists() == ["gpu-c1"]
