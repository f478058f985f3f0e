"""A cluster is who it is, not what it is called: the hub is never its own worker, and no cluster is listed twice."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CLUSTER_UID, REPLACED_BY
from fleetqueue.controllers.placement_admission.identities import refusals
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.virtual_time import advance, settle

HUB = "it is this hub itself, which cannot be its own worker"
REPLACED = "another cluster has its name by now; the old one is drained first"
RUNNING = {"mk": "Ready", "ac": "Ready"}


@pytest.mark.parametrize(
    ("uids", "listed", "selected", "replaced", "refused"),
    [
        pytest.param({"a": "1", "b": "2"}, [], "ab", [], {}, id="two clusters"),
        pytest.param({"a": "", "b": ""}, [], "ab", [], {}, id="unknown ones are not compared"),
        pytest.param({"a": "hub", "b": "2"}, [], "ab", [], {"a": HUB}, id="the hub"),
        pytest.param({"a": "hub"}, ["a"], "a", [], {"a": HUB}, id="the hub, already listed"),
        pytest.param({"a": "1", "b": "1"}, [], "ab", [], {"b": "it is the same cluster as a"}, id="twins, by name"),
        pytest.param({"a": "1", "b": "1"}, ["b"], "ab", [], {"a": "it is the same cluster as b"}, id="the listed one"),
        pytest.param(
            {"a": "1", "b": "1"}, ["a", "b"], "b", [], {"a": "it is the same cluster as b"}, id="the selected one"
        ),
        pytest.param(
            {"a": "1", "b": "1"}, ["a"], "b", [], {"b": "it is the same cluster as a"}, id="one that drains comes first"
        ),
        pytest.param({"a": "1", "b": "2"}, ["a"], "ab", ["a"], {"a": REPLACED}, id="one that lost its name"),
    ],
)
def test_refusals(uids, listed, selected, replaced, refused):
    assert refusals(uids, listed=listed, selected=list(selected), replaced=replaced, hub_uid="hub") == refused


@pytest.fixture
async def fleet(env):
    """Two clusters whose secrets are ours, and selected."""
    env.fleet()
    for name in ("c1", "c2"):
        env.cluster(name, secret=False)
        identify(env, name, f"uid-{name}")
    env.placement("gpu", "c1", "c2")
    env.check()


def identify(env, name, uid):
    annotations = {CLUSTER_UID: uid} if uid else {}
    if env.api.get(core.Secret, f"kueue-admin-{name}-kubeconfig", "kueue-system") is None:
        env.secret(name, labels=dict(OURS), annotations=annotations)
    else:
        mark(env, name, {CLUSTER_UID: uid or None})


def mark(env, name, annotations):
    metadata = {"annotations": annotations}
    env.api.change(core.Secret, f"kueue-admin-{name}-kubeconfig", "kueue-system", metadata=metadata)


@pytest.mark.usefixtures("fleet")
async def test_the_hub_itself_is_left_out_and_all_else_goes_on(env):
    async with env.beating(hub_uid="uid-c1"):
        active = env.says("Active")

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]
        assert active.status == "True"
        assert active.message == f"MultiKueueConfig and MultiKueueCluster generated; left out: gpu-c1 ({HUB})"


@pytest.mark.usefixtures("fleet")
async def test_the_hub_alone_is_no_cluster(env):
    env.select("c1")

    async with env.beating(hub_uid="uid-c1"):
        assert env.lists() is None
        assert HUB in env.says("Active").message


@pytest.mark.usefixtures("fleet")
async def test_a_cluster_whose_identity_is_not_known_yet_is_not_listed(env):
    identify(env, "c1", "")

    async with env.beating(hub_uid="uid-c1"):
        assert env.lists() == ["gpu-c2"]
        assert "gpu-c1 (its identity is not known yet)" in env.says("Active").message
        identify(env, "c1", "uid-c3")
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


async def test_of_a_secret_that_somebody_else_made_nothing_is_known_or_said(env):
    env.fleet("c1")
    env.placement("gpu", "c1")
    env.check()

    async with env.beating(hub_uid="uid-c1"):
        assert env.lists() == ["gpu-c1"]


@pytest.mark.usefixtures("fleet")
async def test_a_listed_cluster_that_turns_out_to_be_the_hub_is_unlisted_at_once(env):
    """While it is listed, Kueue deletes the hub's own Workloads; and nothing of ours can run there."""
    env.workload(on="gpu-c1", checks=RUNNING)
    identify(env, "c1", "uid-c3")

    async with env.beating(hub_uid="uid-c1"):
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        identify(env, "c1", "uid-c1")
        await settle()
        assert env.lists() == ["gpu-c2"]
        await advance(60)

        assert env.lists() == ["gpu-c2"]
        assert env.members() == ["gpu-c2"]


@pytest.mark.usefixtures("fleet")
async def test_of_two_names_for_one_cluster_the_second_is_left_out(env):
    identify(env, "c2", "uid-c1")

    async with env.beating():
        assert env.lists() == ["gpu-c1"]
        assert "gpu-c2 (it is the same cluster as gpu-c1)" in env.says("Active").message


@pytest.mark.usefixtures("fleet")
async def test_a_second_name_that_is_listed_already_is_drained_of_what_runs_by_that_name(env):
    env.workload("first", on="gpu-c1", checks=RUNNING)
    env.workload("second", on="gpu-c2", checks=RUNNING)
    env.copy("c2", "first", admitted=True)
    env.copy("c2", "second", admitted=True)

    async with env.beating():
        identify(env, "c2", "uid-c1")
        await advance(60)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        env.change_workload("second", finished=True, on="gpu-c2", checks=RUNNING)
        env.remove_copy("c2", "second")
        await advance(60)

        assert env.lists() == ["gpu-c1"]
        assert env.members() == ["gpu-c1"]


@pytest.mark.usefixtures("fleet")
async def test_a_cluster_that_lost_its_name_is_drained_before_the_new_one_is_listed(env):
    env.workload(on="gpu-c1", checks=RUNNING)
    env.copy("c1", admitted=True)

    async with env.beating():
        mark(env, "c1", {REPLACED_BY: "uid-new"})
        await advance(60)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        assert f"gpu-c1 ({REPLACED})" in env.says("Active").message
        assert "gpu-c1" in env.says("Draining").message
        env.change_workload(finished=True, on="gpu-c1", checks=RUNNING)
        env.remove_copy("c1")
        await advance(60)
        assert env.lists() == ["gpu-c2"]
        assert env.api.get(kueue.MultiKueueCluster, "gpu-c1") is None
        mark(env, "c1", {REPLACED_BY: None, CLUSTER_UID: "uid-new"})
        await settle()

        assert env.lists() == ["gpu-c1", "gpu-c2"]


@pytest.mark.usefixtures("fleet")
async def test_a_cluster_that_lost_its_name_and_is_silent_is_given_up_like_one_that_has_left(env):
    env.workload(on="gpu-c1", checks=RUNNING)

    async with env.beating(lost_timeout=900.0):
        env.workers["c1"].cut()
        mark(env, "c1", {REPLACED_BY: "uid-new"})
        await advance(880)
        assert env.lists() == ["gpu-c1", "gpu-c2"]
        await advance(60)

        assert env.lists() == ["gpu-c2"]


@pytest.mark.usefixtures("fleet")
async def test_a_hand_written_config_is_left_alone_and_its_mistakes_are_told(env):
    identify(env, "c2", "uid-c1")
    env.cluster("c3", secret=False)
    identify(env, "c3", "uid-hub")
    for name in ("c1", "c2", "c3"):
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        env.api.add(kueue.MultiKueueCluster.manifest(f"mine-{name}", spec={"clusterSource": source}))
    clusters = ["mine-c1", "mine-c2", "mine-c3"]
    env.api.add(kueue.MultiKueueConfig.manifest("mine", spec={"clusters": clusters}))

    async with env.beating(hub_uid="uid-hub"):
        assert env.lists("mine") == clusters
        first, second = sorted(env.events("ListedByMistake"))
        assert first.startswith("mine-c2: it is the same cluster as mine-c1; Kueue deletes")
        assert second.startswith(f"mine-c3: {HUB}; Kueue deletes")
