"""What the hub's objects say: marks that people may have edited, and who stands behind a member."""

from datetime import UTC, datetime

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission.hub_objects import marks_of
from fleetqueue.controllers.placement_admission.names import DRAINING
from fleetqueue.testing.virtual_time import settle

OURS = {"app.kubernetes.io/managed-by": "fleetqueue"}
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def config(text, labels=OURS):
    annotations = {DRAINING: text} if text is not None else None
    manifest = kueue.MultiKueueConfig.manifest("gpu", labels=dict(labels), annotations=annotations, spec={})
    return kueue.MultiKueueConfig.view(manifest)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        pytest.param(None, {}, id="no mark"),
        pytest.param("", {}, id="empty"),
        pytest.param("{}", {}, id="an empty object"),
        pytest.param('{"gpu-c1":"2026-01-01T00:00:00Z"}', {"gpu-c1": MOMENT}, id="as we write it"),
        pytest.param('{"gpu-c1":"2026-01-01T01:00:00+01:00"}', {"gpu-c1": MOMENT}, id="another time zone"),
        pytest.param('{"gpu-c1":"2026-01-01T00:00:00"}', {"gpu-c1": MOMENT}, id="no time zone: UTC"),
        pytest.param('{"gpu-c1":"2026-01-01"}', {"gpu-c1": MOMENT}, id="a day"),
        pytest.param('{"gpu-c1":"yesterday"}', {}, id="no moment"),
        pytest.param('{"gpu-c1":7}', {}, id="a number"),
        pytest.param('["gpu-c1"]', {}, id="a list"),
        pytest.param("gpu-c1", {}, id="not JSON"),
        pytest.param("null", {}, id="null"),
    ],
)
def test_marks_survive_an_editor(text, marks):
    assert marks_of(config(text)) == marks


def test_marks_on_a_foreign_config_mean_nothing():
    assert marks_of(config('{"gpu-c1":"2026-01-01T00:00:00Z"}', labels={})) == {}


def test_without_a_config_nothing_drains():
    assert marks_of(None) == {}


@pytest.fixture
async def objects(env, follow):
    env.fleet("c1", "c2")
    labels = {**OURS, "fleetqueue.dev/cluster": "c1"}
    source = {"kubeConfig": {"locationType": "Secret", "location": "kueue-admin-c1-kubeconfig"}}
    by_path = {"kubeConfig": {"locationType": "Path", "location": "/etc/kubeconfig"}}
    env.api.add(
        kueue.MultiKueueCluster.manifest("gpu-c1", labels=labels, spec={"clusterSource": source}),
        kueue.MultiKueueCluster.manifest("foreign", spec={"clusterSource": by_path}),
    )
    heart = env.heart()
    await follow(*heart.controllers)
    return heart.configs.objects


@pytest.mark.parametrize(
    ("member", "name"),
    [
        pytest.param("gpu-c1", "c1", id="by its label"),
        pytest.param("foreign", "foreign", id="a foreign one by its own name"),
        pytest.param("gpu-c2", "c2", id="a deleted one by how we name them"),
    ],
)
async def test_the_cluster_behind_a_member(objects, member, name):
    assert objects.cluster_of(member, "gpu") == name


@pytest.mark.parametrize(
    ("member", "secret_name"),
    [
        pytest.param("gpu-c1", "kueue-admin-c1-kubeconfig", id="its secret"),
        pytest.param("foreign", None, id="a file that only Kueue has"),
        pytest.param("gpu-c2", None, id="a deleted one"),
    ],
)
async def test_the_kubeconfig_of_a_member(objects, member, secret_name):
    secret = objects.kubeconfig_of(member)

    assert (secret.name if secret else None) == secret_name


@pytest.mark.parametrize(
    ("member", "answer"),
    [
        pytest.param("gpu-c1", False, id="its cluster is there"),
        pytest.param("gpu-c2", False, id="the member was deleted, its cluster is there"),
        pytest.param("gpu-c9", True, id="no such cluster"),
        pytest.param("foreign", False, id="unknown of a foreign one"),
    ],
)
async def test_whether_a_cluster_has_left_the_fleet(objects, member, answer):
    assert objects.has_left(member, "gpu") is answer


async def test_a_cluster_that_is_removed_has_left(env, objects):
    env.api.remove(cluster.ManagedCluster, "c1")
    await settle()

    assert objects.has_left("gpu-c1", "gpu")


async def test_kueues_configuration_is_read_once_for_every_version(env, objects):
    before = objects.kueue.written

    assert objects.kueue.written is before
    env.dispatcher(kueue.INCREMENTAL)
    await settle()
    assert objects.kueue.written.dispatcher_name == kueue.INCREMENTAL
    env.api.remove(core.ConfigMap, "kueue-manager-config", "kueue-system")
    await settle()
    assert objects.kueue.written.dispatcher_name == kueue.ALL_AT_ONCE


async def test_the_workloads_on_a_member_are_the_live_ones_of_its_config(env, objects):
    env.multikueue_check("mk-cpu", "cpu")
    env.workload("runs", on="gpu-c1")
    env.workload("waits", nominated=["gpu-c2", "gpu-c1"])
    env.workload("ended", on="gpu-c1", finished=True)
    env.workload("going", on="gpu-c1", deleting=True)
    env.workload("elsewhere", on="gpu-c1", checks={"mk-cpu": "Ready"})
    await settle()

    assert [workload.name for workload in objects.workloads_on("gpu-c1", "gpu")] == ["runs", "waits"]
