"""A Placement's choice becomes a MultiKueueConfig and its MultiKueueClusters, and the check says so."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.names import FINALIZER
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"
FIRST_WRITES = [
    "patch admissionchecks/ac",
    "create multikueueclusters/gpu-c1",
    "create multikueueclusters/gpu-c2",
    "create multikueueconfigs/gpu",
    "apply admissionchecks/ac/status",
]


@pytest.fixture
async def two_clusters(scene):
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c2", "c1")
    scene.check("ac", "gpu")


@pytest.mark.usefixtures("two_clusters")
async def test_the_first_time_members_are_written_before_the_config_that_lists_them(scene):
    async with scene.beating():
        assert scene.writes == FIRST_WRITES


@pytest.mark.usefixtures("two_clusters")
async def test_what_is_written_is_what_the_seeds_show(scene):
    async with scene.beating():
        member = scene.api.raw(kueue.MultiKueueCluster, "gpu-c1")

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert member["spec"] == {
            "clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
        }
        assert member["metadata"]["labels"] == {
            "app.kubernetes.io/managed-by": "fleetqueue",
            "fleetqueue.dev/cluster": "c1",
            "fleetqueue.dev/placement": "gpu",
        }
        active = scene.says("Active")
        assert (active.status, active.reason) == ("True", "Active")
        assert active.message == "MultiKueueConfig and MultiKueueCluster generated"
        assert active.observed_generation == 1
        assert scene.says("Draining") is None
        assert scene.says("Dispatching") is None
        assert FINALIZER in scene.api.get(kueue.AdmissionCheck, "ac").metadata.finalizers


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_look_writes_nothing(scene):
    async with scene.beating() as heart:
        scene.api.writes.clear()

        heart.configs.wake("gpu")
        await settle()

        assert scene.api.writes == []


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
async def test_if_any_write_fails_the_end_is_the_same(scene, write, fault):
    scene.api.fail_on(write, fault["error"], times=1, applied=fault.get("applied", False))

    async with scene.beating():
        await advance(5)

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.members() == ["gpu-c1", "gpu-c2"]
        assert scene.says("Active").status == "True"


@pytest.mark.usefixtures("two_clusters")
async def test_under_another_dispatcher_the_best_come_first_and_the_check_says_what_cannot_hold(scene):
    scene.dispatcher(kueue.INCREMENTAL)
    scene.placement("scored", "c1", "c2", scores=["gpuClusterAvailable"])
    scene.check("scored", "scored")
    scene.score("c1", -70)
    scene.score("c2", 20)

    async with scene.beating():
        assert scene.lists("scored") == ["scored-c2", "scored-c1"]
        dispatching = scene.says("Dispatching", "scored")
        assert (dispatching.status, dispatching.reason) == ("False", "OtherDispatcher")
        assert kueue.INCREMENTAL in dispatching.message


async def test_with_our_dispatcher_the_order_of_the_list_does_not_follow_the_scores(scene):
    scene.fleet("c1", "c2")
    scene.placement("gpu", "c1", "c2", scores=["gpuClusterAvailable"])
    scene.check()
    scene.score("c2", 20)

    async with scene.beating():
        assert scene.lists() == ["gpu-c1", "gpu-c2"]


async def test_more_clusters_than_fit_are_cut_to_the_best(scene):
    names = [f"c{number:02}" for number in range(25)]
    scene.fleet(*names)
    scene.placement("gpu", *names, scores=["gpuClusterAvailable"])
    scene.check()
    for number, name in enumerate(names):
        scene.score(name, number)

    async with scene.beating():
        assert scene.lists() == [f"gpu-c{number:02}" for number in range(5, 25)]
        assert "gpu-c00 (beyond the limit of 20)" in scene.says("Active").message
        assert len(scene.members()) == 20


async def test_a_hub_with_an_older_kueue_lists_ten(scene):
    names = [f"c{number:02}" for number in range(12)]
    scene.fleet(*names)
    scene.placement("gpu", *names)
    scene.check()

    async with scene.beating(limit=10):
        assert len(scene.lists()) == 10


async def test_a_missing_secret_is_told_and_its_appearance_is_noticed(scene):
    scene.fleet("c1")
    scene.cluster("c2", secret=False)
    scene.placement("gpu", "c1", "c2")
    scene.check()

    async with scene.beating():
        assert scene.lists() == ["gpu-c1"]
        assert scene.says("Active").message.endswith("left out: gpu-c2 (no secret kueue-admin-c2-kubeconfig yet)")

        scene.secret("c2")
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"


async def test_without_any_secret_nothing_is_listed_yet(scene):
    scene.cluster("c1", secret=False)
    scene.placement("gpu", "c1")
    scene.check()

    async with scene.beating():
        assert scene.lists() is None
        assert scene.says("Active").reason == "NoClustersAvailable"
        assert "no secret kueue-admin-c1-kubeconfig yet" in scene.says("Active").message


@pytest.mark.usefixtures("two_clusters")
async def test_a_secret_that_goes_away_does_not_unlist_its_cluster(scene):
    async with scene.beating():
        scene.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE)
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


async def test_a_broken_kubeconfig_of_one_cluster_does_not_stop_the_others(scene):
    scene.fleet("c1")
    scene.cluster("c2", secret=False)
    scene.api.add(core.secret("kueue-admin-c2-kubeconfig", KUEUE, {"kubeconfig": "contexts: 7"}))
    scene.placement("gpu", "c1", "c2")
    scene.check()

    async with scene.beating():
        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.says("Active").status == "True"


async def test_a_secret_without_a_kubeconfig_does_not_stop_the_others(scene):
    scene.fleet("c1")
    scene.cluster("c2", secret=False)
    broken = core.Secret.manifest("kueue-admin-c2-kubeconfig", KUEUE, data={"kubeconfig": "/w=="})
    scene.api.add(broken)
    scene.placement("gpu", "c1", "c2")
    scene.check()

    async with scene.beating():
        assert scene.lists() == ["gpu-c1", "gpu-c2"]


async def test_before_the_placement_has_decided_nothing_is_listed(scene):
    scene.fleet("c1")
    scene.placement("gpu", decided=False)
    scene.check()

    async with scene.beating():
        assert scene.lists() is None
        assert scene.says("Active").reason == "NoClustersAvailable"


@pytest.mark.usefixtures("two_clusters")
async def test_a_decision_that_vanishes_drops_nobody(scene):
    async with scene.beating():
        scene.api.remove(cluster.PlacementDecision, "gpu-decision-1", KUEUE)
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]
        assert scene.says("Draining") is None


async def test_a_missing_placement_is_told_and_its_appearance_is_noticed(scene):
    scene.fleet("c1")
    scene.check()

    async with scene.beating():
        active = scene.says("Active")
        assert (active.status, active.reason) == ("False", "PlacementNotFound")
        assert active.message == "Placement gpu not found in namespace kueue-system"

        scene.placement("gpu", "c1")
        await settle()

        assert scene.lists() == ["gpu-c1"]
        assert scene.says("Active").status == "True"


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"apiGroup": "apps", "kind": "Placement", "name": "gpu"}, id="another group"),
        pytest.param({"apiGroup": cluster.GROUP, "kind": "Deployment", "name": "gpu"}, id="another kind"),
        pytest.param({}, id="none at all"),
    ],
)
async def test_bad_parameters_are_told_and_their_correction_is_noticed(scene, parameters):
    scene.fleet("c1")
    scene.placement("gpu", "c1")
    scene.check(parameters=parameters)

    async with scene.beating():
        active = scene.says("Active")
        assert (active.status, active.reason) == ("False", "InvalidParameters")
        assert scene.lists() is None

        right = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": "gpu"}
        scene.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": right})
        await settle()

        assert scene.lists() == ["gpu-c1"]
        assert scene.says("Active").status == "True"


async def test_a_check_with_bad_parameters_can_be_deleted(scene):
    scene.fleet("c1")
    scene.check(parameters={})
    scene.api.change(kueue.AdmissionCheck, "ac", metadata={"finalizers": [FINALIZER]})

    async with scene.beating():
        scene.api.remove(kueue.AdmissionCheck, "ac")
        await settle()

        assert scene.api.get(kueue.AdmissionCheck, "ac") is None


async def test_checks_of_others_are_left_alone(scene):
    scene.fleet("c1")
    scene.placement("gpu", "c1")
    scene.check("provisioning", controller="kueue.x-k8s.io/provisioning-request")

    async with scene.beating():
        assert scene.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_what_others_change_in_our_objects_is_put_right(scene):
    async with scene.beating():
        scene.api.change(kueue.MultiKueueCluster, "gpu-c1", spec={"clusterSource": {"kubeConfig": {"location": "x"}}})
        scene.api.remove(kueue.MultiKueueCluster, "gpu-c2")
        await settle()

        member = scene.api.get(kueue.MultiKueueCluster, "gpu-c1")
        assert member.spec.cluster_source.kube_config.location == "kueue-admin-c1-kubeconfig"
        assert scene.members() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_config_that_somebody_deletes_comes_back(scene):
    async with scene.beating():
        scene.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_name_that_somebody_adds_to_our_config_and_that_is_nobody_is_removed(scene):
    async with scene.beating():
        scene.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c1", "gpu-c2", "typo"]})
        await settle()

        assert scene.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_new_decision_is_an_event_on_the_check(scene):
    async with scene.beating():
        scene.select("c2")
        await settle()

        assert set(scene.events("SelectionChanged")) == {
            "selected [gpu-c1 gpu-c2], before none",
            "selected [gpu-c2], before [gpu-c1 gpu-c2]",
        }
        assert scene.events("DrainStarted") == ["gpu-c1 was dropped and stays listed until empty"]
        assert scene.events("DrainEnded") == ["gpu-c1 holds nothing any more and was unlisted"]


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_drain_within_minutes_is_told_as_the_first_was(scene):
    async with scene.beating():
        for selected in (["c2"], ["c1", "c2"], ["c2"]):
            scene.select(*selected)
            await advance(30)

        assert scene.events("DrainStarted") == 2 * ["gpu-c1 was dropped and stays listed until empty"]
        assert scene.events("DrainEnded") == 2 * ["gpu-c1 holds nothing any more and was unlisted"]
        assert scene.events("SelectionChanged").count("selected [gpu-c2], before [gpu-c1 gpu-c2]") == 2
