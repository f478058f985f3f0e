"""In profile mode MultiKueueClusters name ClusterProfiles, and a cluster is usable once its profile and secret are."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.controllers.placement_admission.members import why_unusable
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, settle
from fleetqueue.testing.waking import woken
from tests.invariants.second_look import managed

KUEUE = "kueue-system"
PROFILE = PlacementAdmissionSettings(access="profile")
BY_SECRET = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
BY_PROFILE = {"clusterProfileRef": {"name": "c1"}}
RUNNING = {"mk": "Ready", "ac": "Ready"}


def profile(name="c1", *, manager="open-cluster-management", cluster="", providers=("fleetqueue",)):
    labels = {"x-k8s.io/cluster-manager": manager, "open-cluster-management.io/cluster-name": cluster or name}
    status = {"accessProviders": [{"name": provider, "cluster": {"server": "x"}} for provider in providers]}
    spec = {"clusterManager": {"name": manager}}
    return ClusterProfile.manifest(name, KUEUE, labels=labels, spec=spec, status=status)


def lose_profile(env):
    env.api.remove(ClusterProfile, "c1", KUEUE)


def lose_provider(env):
    env.api.change(ClusterProfile, "c1", KUEUE, status={"accessProviders": []})


def lose_secret(env):
    env.api.remove(core.Secret, "kueue-admin-c1-kubeconfig", KUEUE)


LOSSES = [
    pytest.param(lose_profile, "no ClusterProfile c1", id="its profile"),
    pytest.param(lose_provider, "ClusterProfile c1 has no access provider fleetqueue", id="its access provider"),
    pytest.param(lose_secret, "no secret kueue-admin-c1-kubeconfig yet", id="its secret"),
]


@pytest.fixture
async def two_clusters(env):
    """Placement gpu selects c1 and c2, and both have all that they need."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    env.api.add(profile("c1"), profile("c2"))


def source(env, member="gpu-c1"):
    return env.api.raw(kueue.MultiKueueCluster, member)["spec"]["clusterSource"]


# What it decides


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        pytest.param(profile(), "", id="all is there"),
        pytest.param(profile(providers=["other", "fleetqueue"]), "", id="beside somebody else's provider"),
        pytest.param(None, "no ClusterProfile c1", id="no profile"),
        pytest.param(profile(providers=[]), "ClusterProfile c1 has no access provider fleetqueue", id="no provider"),
        pytest.param(
            profile(providers=["other"]), "ClusterProfile c1 has no access provider fleetqueue", id="only others'"
        ),
        pytest.param(
            profile(manager="somebody"),
            "ClusterProfile c1 is not the one that OCM keeps for this cluster",
            id="of another manager",
        ),
        pytest.param(
            profile(cluster="c2"),
            "ClusterProfile c1 is not the one that OCM keeps for this cluster",
            id="of another cluster",
        ),
    ],
)
def test_what_a_cluster_lacks(manifest, why):
    secret = core.Secret.view(core.secret("kueue-admin-c1-kubeconfig", KUEUE, {}))
    view = ClusterProfile.view(manifest) if manifest else None

    assert why_unusable(PROFILE, "c1", secret, view) == why


@pytest.mark.checklist("C-8")
@pytest.mark.usefixtures("two_clusters")
async def test_each_cluster_gets_a_member_that_names_its_profile(env):
    async with env.beating(access="profile", naming="cluster"):
        assert env.lists() == env.members() == ["c1", "c2"]
        assert source(env, "c1") == BY_PROFILE
        assert env.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"


@pytest.mark.checklist("C-8")
@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(("lose", "why"), LOSSES)
async def test_a_cluster_that_lacks_something_has_no_member_and_the_check_says_why(env, lose, why):
    lose(env)

    async with env.beating(access="profile"):
        assert env.lists() == env.members() == ["gpu-c2"]
        assert env.says("Active").message.endswith(f"; left out: gpu-c1 ({why})")


@pytest.mark.checklist("C-8")
@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(("lose", "why"), LOSSES)
async def test_a_listed_cluster_that_loses_something_stays_since_jobs_may_run_there_and_the_check_says_why(
    env, lose, why
):
    async with env.beating(access="profile"):
        lose(env)
        await advance(60)

        assert env.lists() == env.members() == ["gpu-c1", "gpu-c2"]
        assert source(env) == BY_PROFILE
        active = env.says("Active")
        assert active.status == "True"
        assert active.message.endswith(f"; listed but unusable now: gpu-c1 ({why})")


@pytest.mark.usefixtures("two_clusters")
async def test_what_was_lost_and_comes_back_is_used_again(env):
    async with env.beating(access="profile"):
        lose_profile(env)
        await settle()

        env.api.add(profile("c1"))
        await settle()

        assert env.says("Active").message == "MultiKueueConfig and MultiKueueCluster generated"


@pytest.mark.usefixtures("two_clusters")
async def test_a_dropped_cluster_is_asked_through_its_secret_and_drained_although_its_profile_is_gone(env):
    env.workload(on="gpu-c1", checks=RUNNING)
    env.copy("c1", admitted=True)

    async with env.beating(access="profile"):
        lose_profile(env)
        env.select("c2")
        await advance(60)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert env.says("Draining").message == "still listed until empty: gpu-c1 (1 workload)"

        env.remove_copy("c1")
        env.change_workload(finished=True, checks=RUNNING)
        await advance(60)

        assert env.lists() == env.members() == ["gpu-c2"]
        assert env.workers["c1"].open_watches == 0


async def test_the_profile_of_a_users_own_member_does_not_tell_us_a_secret(env, follow):
    env.fleet("c1")
    env.api.add(kueue.MultiKueueCluster.manifest("mine", spec={"clusterSource": BY_PROFILE}))
    heart = env.heart(access="profile")
    await follow(*heart.controllers)

    assert heart.configs.objects.kubeconfig_of("mine") is None


# Changing the mode


@pytest.mark.usefixtures("two_clusters")
@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param("secret", "profile", BY_PROFILE, id="to profiles"),
        pytest.param("profile", "secret", BY_SECRET, id="back to secrets"),
    ],
)
async def test_members_follow_the_mode(env, before, after, wanted):
    async with env.beating(access=before):
        pass
    uid = env.api.get(kueue.MultiKueueCluster, "gpu-c1").uid

    async with env.beating(access=after):
        assert source(env) == wanted
        assert env.api.get(kueue.MultiKueueCluster, "gpu-c1").uid == uid


@pytest.mark.usefixtures("two_clusters")
async def test_a_member_keeps_the_source_that_works_until_the_new_one_would(env):
    lose_profile(env)
    async with env.beating():
        pass

    async with env.beating(access="profile"):
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert source(env) == BY_SECRET
        assert "unusable now: gpu-c1 (no ClusterProfile c1)" in env.says("Active").message

        env.api.add(profile("c1"))
        await settle()

        assert source(env) == BY_PROFILE


# Quiet, and who wakes it


@pytest.mark.usefixtures("two_clusters")
async def test_a_second_look_writes_nothing(env):
    async with env.beating(access="profile") as heart:
        env.api.writes.clear()

        heart.configs.wake("gpu")
        await settle()

        assert env.api.writes == []


@pytest.mark.usefixtures("two_clusters")
async def test_a_profile_wakes_the_placements_that_selected_its_cluster(env, follow):
    env.placement("cpu", "c2")
    heart = env.heart(access="profile")
    await follow(*heart.controllers)
    await woken(heart.configs)

    lose_provider(env)

    assert await woken(heart.configs) == {"gpu"}


@pytest.mark.usefixtures("two_clusters")
async def test_profiles_of_others_wake_nobody(env, follow):
    heart = env.heart(access="profile")
    await follow(*heart.controllers)
    await woken(heart.configs)

    env.api.add(profile("c9"))

    assert await woken(heart.configs) == set()


@pytest.mark.usefixtures("two_clusters")
async def test_profiles_are_not_followed_where_members_name_secrets(env):
    async with env.beating():
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert "watch clusterprofiles" not in " ".join(env.api.requests)


@pytest.mark.usefixtures("two_clusters")
async def test_profiles_are_not_followed_on_a_hub_that_serves_none(env):
    heart = PlacementAdmission(env.hub, Metrics(), PROFILE, has_profiles=False)
    env.hearts.append(heart)

    async with managed(Manager(env.hub, heart.controllers)):
        await settle()

    assert "watch clusterprofiles" not in " ".join(env.api.requests)
    assert env.says("Active").reason == "NoClustersAvailable"
    assert "gpu-c1 (no ClusterProfile c1)" in env.says("Active").message
