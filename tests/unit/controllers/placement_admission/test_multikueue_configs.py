"""A Placement's choice becomes a MultiKueueConfig and its MultiKueueClusters, and the check says so."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.names import FINALIZER
from fleetqueue.testing.virtual_time import advance, settle

FIRST_WRITES = [
    "patch admissionchecks/ac",
    "create multikueueclusters/gpu-c1",
    "create multikueueclusters/gpu-c2",
    "create multikueueconfigs/gpu",
    "apply admissionchecks/ac/status",
]


@pytest.fixture
async def two_clusters(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c2", "c1")
    env.check("ac", "gpu")


@pytest.mark.usefixtures("two_clusters")
async def test_the_first_time_members_are_written_before_the_config_that_lists_them(env):
    async with env.beating():
        assert env.writes == FIRST_WRITES


@pytest.mark.usefixtures("two_clusters")
async def test_what_is_written_is_what_the_seeds_show(env):
    async with env.beating():
        member = env.api.raw(kueue.MultiKueueCluster, "gpu-c1")

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert member["spec"] == {
            "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
        }
        assert member["metadata"]["labels"] == {
            "app.kubernetes.io/managed-by": "fleetqueue",
            "fleetqueue.dev/cluster": "c1",
            "fleetqueue.dev/placement": "gpu",
        }
        active = env.says("Active")
        assert (active.status, active.reason) == ("True", "Active")
        assert active.message == "MultiKueueConfig and MultiKueueCluster generated"
        assert active.observed_generation == 1
        assert env.says("Draining") is None
        assert env.says("Dispatching") is None
        assert FINALIZER in env.api.get(kueue.AdmissionCheck, "ac").metadata.finalizers


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_look_writes_nothing(env):
    async with env.beating() as heart:
        env.api.writes.clear()

        heart.configs.wake("gpu")
        await settle()

        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize("write", FIRST_WRITES)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"error": errors.ServerError("boom")}, id="refused"),
        pytest.param({"error": errors.Conflict("stale")}, id="conflict"),
        pytest.param({"error": errors.Unreachable("lost"), "applied": True}, id="done, but the answer is lost"),
    ],
)
async def test_if_any_write_fails_the_end_is_the_same(env, write, fault):
    env.api.fail_on(write, fault["error"], times=1, applied=fault.get("applied", False))

    async with env.beating():
        await advance(5)

        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.members() == ["gpu-c1", "gpu-c2"]
        assert env.says("Active").status == "True"


@pytest.mark.usefixtures("two_clusters")
async def test_under_another_dispatcher_the_best_come_first_and_the_check_says_what_cannot_hold(env):
    env.dispatcher(kueue.INCREMENTAL)
    env.placement("scored", "c1", "c2", scores=["gpuClusterAvailable"])
    env.check("scored", "scored")
    env.score("c1", -70)
    env.score("c2", 20)

    async with env.beating():
        assert env.lists("scored") == ["scored-c2", "scored-c1"]
        dispatching = env.says("Dispatching", "scored")
        assert (dispatching.status, dispatching.reason) == ("False", "OtherDispatcher")
        assert kueue.INCREMENTAL in dispatching.message


async def test_with_our_dispatcher_the_order_of_the_list_does_not_follow_the_scores(env):
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    env.check()
    env.score("c2", 20)

    async with env.beating():
        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"apiGroup": "apps", "kind": "Placement", "name": "gpu"}, id="another group"),
        pytest.param({"apiGroup": cluster.GROUP, "kind": "Deployment", "name": "gpu"}, id="another kind"),
        pytest.param({}, id="none at all"),
    ],
)
async def test_bad_parameters_are_told_and_their_correction_is_noticed(env, parameters):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check(parameters=parameters)

    async with env.beating():
        active = env.says("Active")
        assert (active.status, active.reason) == ("False", "InvalidParameters")
        assert env.lists() is None

        right = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "gpu"}
        env.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": right})
        await settle()

        assert env.lists() == ["gpu-c1"]
        assert env.says("Active").status == "True"


async def test_a_check_with_bad_parameters_can_be_deleted(env):
    env.fleet("c1")
    env.check(parameters={})
    env.api.change(kueue.AdmissionCheck, "ac", metadata={"finalizers": [FINALIZER]})

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        await settle()

        assert env.api.get(kueue.AdmissionCheck, "ac") is None


async def test_checks_of_others_are_left_alone(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check("provisioning", controller="kueue.x-k8s.io/provisioning-request")

    async with env.beating():
        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_what_others_change_in_our_objects_is_put_right(env):
    async with env.beating():
        env.api.change(kueue.MultiKueueCluster, "gpu-c1", spec={"clusterSource": {"kubeConfig": {"location": "x"}}})
        env.api.remove(kueue.MultiKueueCluster, "gpu-c2")
        await settle()

        member = env.api.get(kueue.MultiKueueCluster, "gpu-c1")
        assert member.spec.cluster_source.kube_config.location == "kueue-admin-c1-kubeconfig"
        assert env.members() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_config_that_somebody_deletes_comes_back(env):
    async with env.beating():
        env.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_name_that_somebody_adds_to_our_config_and_that_is_nobody_is_removed(env):
    async with env.beating():
        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c1", "gpu-c2", "typo"]})
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_new_decision_is_an_event_on_the_check(env):
    async with env.beating():
        env.select("c2")
        await settle()

        assert set(env.events("SelectionChanged")) == {
            "selected [gpu-c1 gpu-c2], before none",
            "selected [gpu-c2], before [gpu-c1 gpu-c2]",
        }
        assert env.events("DrainStarted") == ["gpu-c1 was dropped and stays listed until empty"]
        assert env.events("DrainEnded") == ["gpu-c1 holds nothing any more and was unlisted"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_drain_within_minutes_is_told_as_the_first_was(env):
    async with env.beating():
        for selected in (["c2"], ["c1", "c2"], ["c2"]):
            env.select(*selected)
            await advance(30)

        assert env.events("DrainStarted") == 2 * ["gpu-c1 was dropped and stays listed until empty"]
        assert env.events("DrainEnded") == 2 * ["gpu-c1 holds nothing any more and was unlisted"]
        assert env.events("SelectionChanged").count("selected [gpu-c2], before [gpu-c1 gpu-c2]") == 2
