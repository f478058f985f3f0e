"""Pods that stand alone under Kueue: they wait at the gate, run as admitted, and end with their Workload."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import job_manifest, template
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE, pod_set, workload_manifest

from .objects import SETTINGS, ask, is_gated, pod, pod_manifest, pods, workload_name_of, workload_of

pytestmark = pytest.mark.virtual_time
FINALIZER = "kueue.x-k8s.io/managed"


@pytest.fixture
async def asked(world):
    ask(world)
    return world


async def test_a_pod_waits_gets_a_workload_runs_with_its_flavor_and_ends(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(runs="10s"))
        made = await pod(asked)
        await advance(3)
        running, workload = await pod(asked), await workload_of(asked)
        await advance(30)

    owner, labels = workload["metadata"]["ownerReferences"][0], running["metadata"]["labels"]
    assert is_gated(made)
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert [each["name"] for each in workload["spec"]["podSets"]] == ["main"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Pod", "p", True)
    assert "schedulingGates" not in running["spec"]
    assert running["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert (labels["kueue.x-k8s.io/podset"], labels["kueue.x-k8s.io/cluster-queue-name"]) == ("main", "q")
    assert running["metadata"]["annotations"]["kueue.x-k8s.io/workload"] == workload["metadata"]["name"]
    ended, name = await pod(asked), workload["metadata"]["name"]
    assert (ended["status"]["phase"], ended["metadata"].get("finalizers")) == ("Succeeded", None)
    assert (await asked.told(name))["Finished"].startswith("True Succeeded: ")
    assert set(await asked.events("p")) == {
        f"CreatedWorkload: Created Workload: {NAMESPACE}/{name}",
        f"FinishedWorkload: Workload '{NAMESPACE}/{name}' is declared finished",
        "Started: Admitted by clusterQueue q",
    }


async def test_a_pod_without_a_queue_runs(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(queue=""))
        await advance(10)

    assert (await pod(asked))["status"]["phase"] == "Running"
    assert (await asked.client.list(kueue.Workload.resource)).items == []


async def test_a_failed_pod_fails_its_workload(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(runs="2s", annotations={"fleetqueue.dev/fails": "true"}))
        await advance(20)

    assert (await asked.told((await workload_of(asked))["metadata"]["name"]))["Finished"].startswith("True Failed: ")
    assert "finalizers" not in (await pod(asked))["metadata"]


async def test_a_pod_that_does_not_fit_waits_until_another_has_ended(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest("a", cpu="4", runs="60s"))
        await advance(3)
        await asked.add(pod_manifest("b", cpu="4"))
        await advance(20)
        waiting = await pod(asked, "b")
        await advance(60)

    assert is_gated(waiting)
    assert (await pod(asked, "b"))["status"]["phase"] == "Running"


async def test_an_evicted_pod_is_told_why_and_its_workload_ends_with_it(asked):
    made = pod_manifest()
    made["metadata"]["finalizers"] = ["example.com/last-look"]
    async with asked.managed(SETTINGS):
        await asked.add(made)
        await advance(10)
        before, workload = await pod(asked), await workload_of(asked)
        await asked.change(workload, spec={"active": False})
        await advance(20)

    after = await pod(asked)
    told = find(Pod.view(after).status.conditions, "TerminationTarget")
    assert before["status"]["phase"] == "Running"
    assert (told.reason, told.message) == ("WorkloadEvictedDueToDeactivated", "The workload is deactivated")
    assert after["metadata"]["finalizers"] == ["example.com/last-look"]
    assert after["metadata"]["deletionTimestamp"]
    assert "Stopped: The workload is deactivated" in await asked.events("p")
    assert (await asked.told(workload["metadata"]["name"]))["Finished"].startswith("True OwnerNotFound: ")


async def test_a_waiting_pod_survives_an_eviction(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(cpu="9"))
        await advance(5)
        await asked.change(await workload_of(asked), spec={"active": False})
        await advance(20)

    assert is_gated(await pod(asked))


async def test_a_deleted_pod_goes_and_gives_its_quota_back(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest("a", cpu="4"))
        await advance(5)
        await asked.add(pod_manifest("b", cpu="4"))
        await advance(5)
        await asked.delete("Pod", "a", NAMESPACE)
        await advance(20)

    left = await pods(asked)
    assert list(left) == ["b"]
    assert left["b"]["status"]["phase"] == "Running"
    assert [raw["metadata"]["name"] for raw in (await asked.client.list(kueue.Workload.resource)).items] == [
        workload_name_of(left["b"])
    ]


async def test_a_pod_whose_workload_is_deleted_is_deleted(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(cpu="9"))
        await advance(5)
        await asked.delete("Workload", workload_name_of(await pod(asked)), NAMESPACE)
        await advance(20)

    assert await pods(asked) == {}


async def test_a_pod_takes_the_workload_that_was_made_before_it(asked):
    prebuilt = {"kueue.x-k8s.io/prebuilt-workload-name": "w"}
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest(annotations=prebuilt))
        await advance(5)
        waiting, made = await pod(asked), await pod(asked)
        spec = {"restartPolicy": "Never", **{name: made["spec"][name] for name in ("containers",)}}
        part = {**pod_set("main"), "template": {"spec": spec}}
        await asked.add(workload_manifest("w", part))
        await advance(10)

    owner = (await asked.workload("w"))["metadata"]["ownerReferences"][0]
    assert is_gated(waiting)
    assert (owner["kind"], owner["name"]) == ("Pod", "p")
    assert (await pod(asked))["status"]["phase"] == "Running"


async def test_pods_are_left_alone_where_they_are_not_managed(world):
    ask(world, KueueSettings())
    async with world.managed():
        await world.add(pod_manifest())
        await advance(10)

    assert (await pod(world))["status"]["phase"] == "Running"


async def test_pods_of_a_managed_job_are_not_gated_themselves(asked):
    async with asked.managed(SETTINGS):
        labelled = template(labels={kueue.QUEUE_LABEL: "q"})
        await asked.add(job_manifest(pods=labelled))
        await advance(10)

    [only] = (await pods(asked)).values()
    assert only["status"]["phase"] == "Running"
    assert len((await asked.client.list(kueue.Workload.resource)).items) == 1


async def test_all_is_quiet_when_a_pod_runs_and_another_waits(asked):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest("a"), pod_manifest("b", cpu="9"))
        await advance(20)
        before = await asked.revision()
        await advance(300)
        after = await asked.revision()
    async with asked.managed(SETTINGS):
        await advance(100)

    assert after == before
    assert await asked.revision() == before


@pytest.mark.parametrize("fails", ["patch pods/team/p", "delete pods/team/p", "apply pods/team/p/status"])
async def test_an_eviction_that_fails_halfway_is_finished_later(asked, fails):
    async with asked.managed(SETTINGS):
        await asked.add(pod_manifest())
        await advance(10)
        failure = Failure(fails, errors.ServerError("no"), times=2)
        asked.way.failures.append(failure)
        await asked.change(await workload_of(asked), spec={"active": False})
        await advance(60)

    assert failure.times == 0
    assert await pods(asked) == {}
    assert (await asked.client.list(kueue.Workload.resource)).items == []
