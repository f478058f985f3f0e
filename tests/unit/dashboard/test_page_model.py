"""What of the page changes when something of the hub does, and what a user sees who may not see all."""

from contextlib import asynccontextmanager
from decimal import Decimal

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, credentials_secret
from fleetqueue.client import Client
from fleetqueue.dashboard.page_model import PageModel
from fleetqueue.dashboard.watched_hub import WatchedHub
from fleetqueue.runtime.events import Recorder
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import running, settle

from .objects import ADMITTED, QUOTA, cluster_queue, local_queue, managed, member, score, workload

RUNNING = {"conditions": [QUOTA, ADMITTED], "clusterName": "gpu-cluster1"}


@pytest.fixture
async def arranged(api):
    api.add(managed("cluster1", cpu="8"), member("gpu-cluster1", condition("Active")))
    api.add(cluster_queue("cq", condition("Active")), local_queue("queue", "cq"))
    return api


@asynccontextmanager
async def followed(api, namespace=""):
    hub = WatchedHub(Client(api), namespace=namespace, kueue_namespace="kueue-system")
    model = PageModel(hub, kueue_namespace="kueue-system")
    async with running(hub.run()):
        await settle()
        await model.refresh()
        yield model


async def after(model):
    await settle()
    change = await model.refresh()
    return {} if change is None else change["changes"]


async def test_all_that_there_is_comes_first(arranged):
    arranged.add(workload("w"))

    async with followed(arranged) as model:
        rows = model.snapshot()["rows"]

    assert {name: list(found) for name, found in rows.items()} == {
        "clusters": ["cluster1"],
        "queues": ["cq"],
        "localQueues": ["ns/queue"],
        "jobs": ["ns/w"],
        "events": [],
    }


async def test_nothing_is_sent_while_nothing_changes(arranged):
    async with followed(arranged) as model:
        assert await after(model) == {}


async def test_a_job_that_starts_changes_itself_and_the_room_of_its_cluster(arranged):
    arranged.add(workload("w"), workload("other"))
    admission = workload("w", QUOTA)["status"]["admission"]

    async with followed(arranged) as model:
        arranged.change(kueue.Workload, "w", "ns", status={**RUNNING, "admission": admission})
        changes = await after(model)

    assert list(changes["jobs"]["put"]) == ["ns/w"]
    assert changes["jobs"]["put"]["ns/w"]["clusters"] == ["cluster1"]
    assert changes["clusters"]["put"]["cluster1"]["room"] == {"cpu": [float(Decimal(1)), 8.0]}


async def test_a_job_that_is_gone_goes(arranged):
    arranged.add(workload("w"))

    async with followed(arranged) as model:
        arranged.remove(kueue.Workload, "w", "ns")
        changes = await after(model)

    assert changes == {"jobs": {"put": {}, "gone": ["ns/w"]}}


async def test_a_queue_that_becomes_inactive_gives_all_its_jobs_another_reason(arranged):
    arranged.add(workload("a"), workload("b"))

    async with followed(arranged) as model:
        status = {"conditions": [condition("Active", False, "Stopped", "it is stopped")]}
        arranged.change(kueue.ClusterQueue, "cq", status=status)
        changes = await after(model)

    assert [row["why"] for row in changes["jobs"]["put"].values()] == [
        "ClusterQueue cq is inactive: there is no ResourceFlavor default"
    ] * 2


async def test_numbers_of_a_queue_leave_its_jobs_alone(arranged):
    arranged.add(workload("a"))

    async with followed(arranged) as model:
        arranged.change(kueue.ClusterQueue, "cq", status={"pendingWorkloads": 1})
        changes = await after(model)

    assert list(changes) == ["queues"]


async def test_a_word_of_the_dispatcher_reaches_its_job(arranged):
    check = {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    spec = {"controllerName": kueue.MULTIKUEUE_CONTROLLER}
    arranged.add(kueue.AdmissionCheck.manifest("mk", spec=spec, status={"conditions": [condition("Active")]}))
    arranged.add(workload("w", QUOTA, admissionChecks=[check]), workload("other"))

    async with followed(arranged) as model:
        about = arranged.get(kueue.Workload, "w", "ns")
        await Recorder(Client(arranged)).warning(about, "NoClusterToNominate", "all are full")
        changes = await after(model)

    assert [row["note"] for row in changes["events"]["put"].values()] == ["all are full"]
    assert list(changes["jobs"]["put"]) == ["ns/w"]
    assert changes["jobs"]["put"]["ns/w"]["why"].endswith("all are full")


async def test_a_score_that_changes_becomes_a_point_of_its_line(arranged):
    arranged.namespace("cluster1")
    arranged.add(score("cluster1", cpuClusterAvailable=10))

    async with followed(arranged) as model:
        scores = [{"name": "cpuClusterAvailable", "value": 20}]
        arranged.change(cluster.AddOnPlacementScore, "resource-usage-score", "cluster1", status={"scores": scores})
        changes = await after(model)

    assert [value for _, value in changes["clusters"]["put"]["cluster1"]["history"]["cpu"]] == [10, 20]


async def test_a_new_credential_changes_its_cluster_alone(arranged):
    arranged.add(managed("cluster2"))
    manifest = secret(credentials_secret("cluster1"), "kueue-system", {"kubeconfig": "hush"})
    manifest["metadata"] |= {
        "labels": {CLUSTER_LABEL: "cluster1"},
        "annotations": {"fleetqueue.dev/expires": "2026-01-02T00:00:00Z"},
    }

    async with followed(arranged) as model:
        arranged.add(manifest)
        changes = await after(model)

    assert list(changes["clusters"]["put"]) == ["cluster1"]
    assert changes["clusters"]["put"]["cluster1"]["until"] is not None


async def test_what_may_not_be_seen_is_named_and_the_rest_is_shown(arranged):
    arranged.add(workload("w"))
    arranged.fail_on("* secrets*", errors.Forbidden("secrets is forbidden"))
    arranged.fail_on("* managedclusters", errors.Forbidden("managedclusters is forbidden"))

    async with followed(arranged) as model:
        notices, rows = model.notices, model.snapshot()["rows"]

    assert {problem["kind"]: problem["message"] for problem in notices["problems"]} == {
        "Secret": "secrets is forbidden",
        "ManagedCluster": "managedclusters is forbidden",
    }
    assert not any(problem["stale"] for problem in notices["problems"])
    assert notices["loading"] == []
    assert list(rows["jobs"]) == ["ns/w"]


async def test_only_jobs_of_the_chosen_namespace_are_followed(arranged):
    arranged.namespace("team-a")
    arranged.add(workload("w"))

    async with followed(arranged, namespace="team-a") as model:
        rows = model.snapshot()["rows"]

    assert rows["jobs"] == {}
    assert "list workloads" not in arranged.requests


async def test_the_page_writes_nothing(arranged):
    arranged.add(workload("w"))

    async with followed(arranged):
        pass

    assert arranged.writes == []
