"""Only our own objects are touched, and names that belong to others are left to them."""

import pytest

from fleetqueue.admin.uninstalling import release
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import RELEASED
from fleetqueue.controllers.placement_admission.names import FINALIZER
from fleetqueue.runtime.cluster import OURS, is_ours
from fleetqueue.testing.virtual_time import advance, settle

KUEUE = "kueue-system"
MINE = {"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": "mine"}}}


def foreign_member(name, **labels):
    return kueue.MultiKueueCluster.manifest(name, labels=labels, spec=MINE)


async def test_a_config_of_that_name_that_is_not_ours_is_left_alone(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["mine"]}))
    env.check()

    async with env.beating():
        active = env.says("Active")
        assert (active.status, active.reason) == ("False", "MultiKueueConfigNotOurs")
        assert env.writes == ["apply admissionchecks/ac/status"]
        assert env.lists() == ["mine"]


async def test_when_the_foreign_config_goes_ours_is_made(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["mine"]}))
    env.check()

    async with env.beating():
        env.api.remove(kueue.MultiKueueConfig, "gpu")
        await settle()

        assert env.lists() == ["gpu-c1"]
        assert env.says("Active").status == "True"


async def test_a_check_whose_config_is_not_ours_can_be_deleted(env):
    env.placement("gpu", "c1")
    env.api.add(kueue.MultiKueueConfig.manifest("gpu", spec={"clusters": ["mine"]}))
    env.check()
    env.api.change(kueue.AdmissionCheck, "ac", metadata={"finalizers": [FINALIZER]})

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        await settle()

        assert env.api.get(kueue.AdmissionCheck, "ac") is None
        assert env.lists() == ["mine"]


async def test_a_users_member_of_that_name_is_neither_listed_nor_changed(env):
    env.fleet("c1", "c2")
    env.api.add(foreign_member("gpu-c1"))
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        assert env.lists() == ["gpu-c2"]
        assert "gpu-c1 (MultiKueueCluster gpu-c1 was not made by fleetqueue)" in env.says("Active").message
        assert env.api.raw(kueue.MultiKueueCluster, "gpu-c1")["spec"] == MINE


async def test_when_the_users_member_goes_ours_is_made(env):
    env.fleet("c1", "c2")
    env.api.add(foreign_member("gpu-c1"))
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        env.api.remove(kueue.MultiKueueCluster, "gpu-c1")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


async def test_a_users_member_is_not_deleted_when_the_check_goes(env):
    env.fleet("c1")
    env.api.add(foreign_member("gpu-c1"), foreign_member("other"))
    env.placement("gpu", "c1")
    env.check()

    async with env.beating():
        env.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert env.api.get(kueue.AdmissionCheck, "ac") is None
        assert env.members() == ["gpu-c1", "other"]


async def test_a_users_member_in_place_of_a_listed_one_is_drained_and_the_rest_goes_on(env):
    env.fleet("c1", "c2", "c3")
    env.placement("gpu", "c1", "c2")
    env.check()

    async with env.beating():
        env.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"labels": None}, spec=MINE)
        env.select("c1", "c2", "c3")
        await advance(60)

        assert env.lists() == ["gpu-c1", "gpu-c2", "gpu-c3"]
        assert "gpu-c1" in env.says("Draining").message
        assert env.api.raw(kueue.MultiKueueCluster, "gpu-c1")["spec"] == MINE


async def test_a_users_member_that_somebody_listed_in_our_config_can_be_taken_off_again(env):
    env.fleet("c1")
    env.api.add(foreign_member("mine"))
    env.placement("gpu", "c1")
    env.check()

    async with env.beating():
        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c1", "mine"]})
        await advance(60)
        assert env.lists() == ["gpu-c1", "mine"]
        assert "mine (0 workloads, cannot be asked" in env.says("Draining").message
        env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c1"]})
        await advance(60)

        assert env.lists() == ["gpu-c1"]
        assert env.says("Draining") is None
        assert env.members() == ["gpu-c1", "mine"]


async def test_two_placements_whose_members_would_have_one_name_do_not_fight_over_it(env):
    """Placement a with cluster b-c, and Placement a-b with cluster c: both are called a-b-c."""
    env.fleet("b-c", "c")
    env.placement("a", "b-c")
    env.check("a", "a")

    async with env.beating():
        env.placement("a-b", "c")
        env.check("b", "a-b")
        await settle()

        assert env.lists("a") == ["a-b-c"]
        assert env.lists("a-b") is None
        assert "MultiKueueCluster a-b-c serves placement a" in env.says("Active", "b").message
        member = env.api.get(kueue.MultiKueueCluster, "a-b-c")
        assert member.spec.cluster_source.kube_config.location == "kueue-admin-b-c-kubeconfig"


async def test_after_another_naming_was_chosen_a_cluster_is_never_listed_under_two_names(env):
    """Kueue would see one copy through two connections, and remove it as the one that lost."""
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()
    labels = {"app.kubernetes.io/managed-by": "fleetqueue"}
    own = {**labels, "fleetqueue.dev/cluster": "c1", "fleetqueue.dev/placement": "gpu"}
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
    env.api.add(
        kueue.MultiKueueCluster.manifest("gpu-c1", labels=own, spec={"clusterSource": source}),
        kueue.MultiKueueConfig.manifest("gpu", labels=labels, spec={"clusters": ["gpu-c1"]}),
    )
    env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    env.copy("c1", admitted=True)

    async with env.beating(naming="cluster"):
        assert env.lists() == ["gpu-c1"]
        assert "gpu-c1 is the same cluster, and is drained first" in env.says("Active").message

        env.change_workload(finished=True, on="gpu-c1")
        env.remove_copy("c1")
        await advance(60)

        assert env.lists() == ["c1"]
        assert env.members() == ["c1"]


async def test_members_that_a_users_config_lists_are_kept(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()

    async with env.beating():
        env.api.add(kueue.MultiKueueConfig.manifest("hand-written", spec={"clusters": ["gpu-c1"]}))
        await settle()
        env.api.remove(kueue.AdmissionCheck, "ac")
        await advance(60)

        assert env.api.get(kueue.AdmissionCheck, "ac") is None
        assert env.members() == ["gpu-c1"]


@pytest.fixture
async def purged(env):
    """A hub from which fleetqueue was purged while a job ran on c1 of c1 and c2."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()
    own = {**OURS, "fleetqueue.dev/placement": "gpu"}
    for name in ("c1", "c2"):
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        labels = {**own, "fleetqueue.dev/cluster": name}
        env.api.add(kueue.MultiKueueCluster.manifest(f"gpu-{name}", labels=labels, spec={"clusterSource": source}))
    env.api.add(kueue.MultiKueueConfig.manifest("gpu", labels=dict(OURS), spec={"clusters": ["gpu-c1", "gpu-c2"]}))
    env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    env.copy("c1", admitted=True)
    for kind in (kueue.MultiKueueConfig, kueue.MultiKueueCluster):
        for obj in env.api.list(kind):
            env.api.change(kind, obj.name, metadata=release(obj))
    return env


async def test_what_a_purge_let_go_is_taken_back_and_nothing_drains(purged):
    async with purged.beating():
        await purged.connected()

        assert purged.lists() == ["gpu-c1", "gpu-c2"]
        assert purged.says("Active").status == "True"
        assert purged.says("Draining") is None
        labels = purged.api.get(kueue.MultiKueueCluster, "gpu-c1").metadata.labels
        assert labels == {**OURS, "fleetqueue.dev/placement": "gpu", "fleetqueue.dev/cluster": "c1"}
        for kind, name in ((kueue.MultiKueueConfig, "gpu"), (kueue.MultiKueueCluster, "gpu-c1")):
            assert is_ours(purged.api.get(kind, name))
            assert RELEASED not in purged.api.get(kind, name).metadata.annotations
        assert len(purged.events("TakenOver")) == 3


async def test_what_is_taken_back_is_drained_where_the_placement_has_moved_on(purged):
    purged.select("c2")

    async with purged.beating():
        await advance(60)
        still = purged.lists()
        purged.change_workload(finished=True, on="gpu-c1")
        purged.remove_copy("c1")
        await advance(60)

        assert still == ["gpu-c1", "gpu-c2"]
        assert purged.lists() == ["gpu-c2"]
        assert purged.members() == ["gpu-c2"]


async def test_members_are_taken_back_also_where_somebody_deleted_their_config(purged):
    purged.api.remove(kueue.MultiKueueConfig, "gpu")

    async with purged.beating():
        await settle()

        assert purged.lists() == ["gpu-c1", "gpu-c2"]
        assert purged.says("Active").status == "True"


async def test_what_was_let_go_stays_ordinary_while_no_check_of_ours_needs_it(purged):
    purged.api.remove(kueue.AdmissionCheck, "ac")
    before = purged.api.raw(kueue.MultiKueueConfig, "gpu")

    async with purged.beating():
        await advance(60)

        assert purged.api.raw(kueue.MultiKueueConfig, "gpu") == before
        assert purged.members() == ["gpu-c1", "gpu-c2"]


async def test_who_keeps_what_was_let_go_takes_the_annotation_off(purged):
    purged.api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": {RELEASED: None}})

    async with purged.beating():
        await advance(60)

        assert purged.says("Active").reason == "MultiKueueConfigNotOurs"
        assert not is_ours(purged.api.get(kueue.MultiKueueCluster, "gpu-c1"))


@pytest.mark.parametrize("kind", [cluster.Placement, cluster.PlacementDecision])
async def test_placements_and_decisions_are_only_read(env, kind):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()

    async with env.beating():
        env.select()
        await advance(60)

        assert not [write for write in env.api.writes if kind.resource.plural in write]
