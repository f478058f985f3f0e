"""Who wakes the controller of the configs: one test for every kind that it watches."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_configuration import CONFIG_MAP
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.testing.builders import by_secret
from fleetqueue.testing.virtual_time import settle
from fleetqueue.testing.waking import woken

from .conftest import condition

KUEUE = "kueue-system"
OURS = {"app.kubernetes.io/managed-by": "fleetqueue"}


@pytest.fixture
async def configs(env, follow):
    """Placement gpu lists c1, which drains, and c2; Placement cpu lists c2."""
    env.fleet("c1", "c2")
    env.placement("gpu", "c2")
    env.placement("cpu", "c2")
    env.check("ac", "gpu")
    env.check("cpu", "cpu")
    drain = {DRAINING: '{"gpu-c1":"2025-12-31T23:00:00Z"}'}
    config = kueue.MultiKueueConfig
    env.api.add(
        config.manifest("gpu", labels=dict(OURS), annotations=drain, spec={"clusters": ["gpu-c1", "gpu-c2"]}),
        config.manifest("cpu", labels=dict(OURS), spec={"clusters": ["cpu-c2"]}),
    )
    env.multikueue_check("mk-cpu", "cpu")
    for placement, name in (("gpu", "c1"), ("gpu", "c2"), ("cpu", "c2")):
        labels = {**OURS, "fleetqueue.dev/cluster": name, "fleetqueue.dev/placement": placement}
        env.api.add(kueue.MultiKueueCluster.manifest(f"{placement}-{name}", labels=labels, spec=by_secret()))
    heart = env.heart()
    await follow(*heart.controllers)
    await woken(heart.configs)
    return heart.configs


async def test_a_check_wakes_its_placement(env, configs):
    env.api.change(kueue.AdmissionCheck, "ac", metadata={"labels": {"a": "b"}})

    assert await woken(configs) == {"gpu"}


async def test_a_check_that_moves_wakes_both_placements(env, configs):
    env.api.change(kueue.AdmissionCheck, "ac", spec={"parameters": {"name": "other"}})

    assert await woken(configs) == {"gpu", "other"}


async def test_a_check_that_names_no_placement_wakes_itself(env, configs):
    env.check("bad", parameters={})

    assert await woken(configs) == {"!bad"}


async def test_a_queue_that_shows_whether_it_is_active_wakes_the_placements_of_its_checks(env, configs):
    checks = {"admissionChecks": [{"name": "mk-cpu"}, {"name": "cpu"}, {"name": "gone"}]}
    env.api.add(kueue.ClusterQueue.manifest("team", spec={"admissionChecksStrategy": checks}))
    assert await woken(configs) == {"cpu"}
    env.api.change(kueue.ClusterQueue, "team", status={"pendingWorkloads": 3})
    assert await woken(configs) == set()
    env.api.change(kueue.ClusterQueue, "team", status={"conditions": [condition("Active", "False")]})
    assert await woken(configs) == set()
    env.api.change(kueue.ClusterQueue, "team", status={"conditions": [condition("Active", "True")]})

    assert await woken(configs) == {"cpu"}


async def test_checks_of_others_wake_nobody(env, configs):
    env.multikueue_check("mk-2", "gpu")

    assert await woken(configs) == set()


async def test_a_placement_wakes_itself(env, configs):
    env.api.change(cluster.Placement, "gpu", KUEUE, spec={"numberOfClusters": 1})

    assert await woken(configs) == {"gpu"}


async def test_placements_in_other_namespaces_wake_nobody(env, configs):
    env.api.add(cluster.Placement.manifest("gpu", "team-a", spec={}))

    assert await woken(configs) == set()


async def test_a_decision_wakes_its_placement(env, configs):
    env.select("c1")

    assert await woken(configs) == {"gpu"}


async def test_a_config_wakes_itself(env, configs):
    env.api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": ["gpu-c2"]})

    assert await woken(configs) == {"gpu"}


async def test_a_member_wakes_its_placement(env, configs):
    env.connect("gpu-c2")

    assert await woken(configs) == {"gpu"}


async def test_a_shared_member_wakes_who_lists_it(env, configs):
    env.api.add(kueue.MultiKueueCluster.manifest("shared", labels=dict(OURS), spec=by_secret()))
    env.api.change(kueue.MultiKueueConfig, "cpu", spec={"clusters": ["cpu-c2", "shared"]})
    await woken(configs)

    env.connect("shared")

    assert await woken(configs) == {"cpu"}


async def test_a_workload_that_comes_to_or_leaves_a_draining_cluster_wakes_its_config(env, configs):
    env.workload("one", on="gpu-c1")
    came = await woken(configs)
    env.change_workload("one", finished=True, on="gpu-c1")

    assert (came, await woken(configs)) == ({"gpu"}, {"gpu"})


async def test_workloads_that_go_elsewhere_wake_nobody(env, configs):
    env.workload("one")
    env.workload("two", checks={"mk-cpu": "Pending"}, nominated=["cpu-c2"])
    env.workload("stays", on="gpu-c1")
    await woken(configs)
    env.change_workload("one", nominated=["gpu-c2"])
    env.change_workload("stays", on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})

    assert await woken(configs) == set()


async def test_a_cluster_that_leaves_wakes_who_lists_it(env, configs):
    env.api.remove(cluster.ManagedCluster, "c2")

    assert await woken(configs) == {"gpu", "cpu"}


async def test_a_cluster_that_joins_or_changes_wakes_nobody(env, configs):
    env.cluster("c3", secret=False)
    env.api.change(cluster.ManagedCluster, "c2", metadata={"labels": {"a": "b"}})

    assert await woken(configs) == set()


@pytest.mark.parametrize("labels", [None, {"fleetqueue.dev/cluster": "c2"}], ids=["by its name", "with our label too"])
async def test_a_secret_wakes_the_placements_that_selected_its_cluster(env, configs, labels):
    env.api.change(core.Secret, "kueue-admin-c2-kubeconfig", KUEUE, metadata={"labels": labels}, data={"a": "Yg=="})

    assert await woken(configs) == {"gpu", "cpu"}


async def test_other_secrets_wake_nobody(env, configs):
    env.api.add(core.secret("something", KUEUE, {"a": "b"}), core.secret("kueue-admin-c9-kubeconfig", KUEUE, {}))

    assert await woken(configs) == set()


async def test_kueues_configuration_wakes_every_placement(env, configs):
    env.dispatcher(kueue.INCREMENTAL)

    assert await woken(configs) == {"gpu", "cpu"}


async def test_other_config_maps_wake_nobody(env, configs):
    env.api.add(core.ConfigMap.manifest("other", KUEUE, data={}))
    env.api.add(core.ConfigMap.manifest(CONFIG_MAP, "elsewhere", data={}))
    await settle()

    assert await woken(configs) == set()
