"""SparkApplications on a cluster, by themselves and under Kueue."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.job_kinds import SparkApplication
from fleetqueue.embedded.operators.spark_applications import SparkApplicationController, plan
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance

from .queued_cluster import NAMESPACE, QUEUED, QueuedCluster

pytestmark = pytest.mark.virtual_time
FRAMEWORKS = ("batch/job", "sparkoperator.k8s.io/sparkapplication")


@pytest.fixture
async def world(broken):
    operators = (lambda cluster, metrics: [SparkApplicationController(cluster, metrics)],)
    async with QueuedCluster.open(("spark-operator",), operators, FRAMEWORKS, broken) as cluster:
        yield cluster


def section(runs="1000s", fails=False, **more):
    notes = {"fleetqueue.dev/run-for": runs, **({"fleetqueue.dev/fails": "true"} if fails else {})}
    return {"annotations": notes, "coreRequest": "100m", **more}


def application(labels=None, **spec):
    whole = {
        "type": "Scala",
        "mode": "cluster",
        "sparkVersion": "4.0.0",
        "mainApplicationFile": "local:///a.jar",
        "driver": section(),
        "executor": section(instances=2),
        **spec,
    }
    return SparkApplication.manifest("s", NAMESPACE, labels=labels, spec=whole)


async def state(world):
    return (await world.get(SparkApplication, "s"))["status"]["applicationState"]


async def names(world):
    return sorted(pod["metadata"]["name"] for pod in await world.pods())


async def test_a_driver_and_then_executors_run_until_the_driver_ends(world):
    async with world.running(kueue_too=False):
        await world.add(SparkApplication, application(driver=section("20s")))
        first, running = await names(world), (await world.get(SparkApplication, "s"))["status"]
        await advance(40)

    assert first == ["s-driver", "s-exec-1", "s-exec-2"]
    assert running["applicationState"] == {"state": "RUNNING"}
    assert running["executorState"] == {"s-exec-1": "RUNNING", "s-exec-2": "RUNNING"}
    assert await state(world) == {"state": "COMPLETED"}
    assert await names(world) == ["s-driver"]


async def test_an_application_whose_driver_fails_fails(world):
    async with world.running(kueue_too=False):
        await world.add(SparkApplication, application(driver=section("5s", fails=True)), seconds=30)

    assert await state(world) == {
        "state": "FAILED",
        "errorMessage": "driver container failed with ExitCode: 1, Reason: Error",
    }


async def test_a_suspended_one_has_no_pods_and_a_resumed_one_has_them_again(world):
    async with world.running(kueue_too=False):
        await world.add(SparkApplication, application())
        await world.client.merge(SparkApplication.resource, "s", NAMESPACE, {"spec": {"suspend": True}})
        await advance(20)
        stopped, left = await state(world), await names(world)
        await world.client.merge(SparkApplication.resource, "s", NAMESPACE, {"spec": {"suspend": False}})
        await advance(20)

    assert (stopped, left) == ({"state": "SUSPENDED"}, [])
    assert await state(world) == {"state": "RUNNING"}
    assert len(await names(world)) == 3


async def test_its_pods_go_with_it(world):
    async with world.running(kueue_too=False):
        await world.add(SparkApplication, application())
        await world.client.delete(SparkApplication.resource, "s", NAMESPACE)
        await advance(30)

    assert await names(world) == []


async def test_pods_that_could_not_be_made_are_made_later(world):
    async with world.running(kueue_too=False):
        world.fleet.hub.way.failures.append(Failure("create pods/*", errors.ServerError("no"), times=3))
        await world.add(SparkApplication, application(), seconds=30)

    assert len(await names(world)) == 3


async def test_under_kueue_it_waits_runs_with_its_flavor_and_ends(world):
    async with world.running():
        await world.add(SparkApplication, application(labels=QUEUED, driver=section("30s")), seconds=15)
        workload, pods = await world.workload(), await world.pods()
        await advance(60)

    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("driver", 1), ("executor", 2)]
    assert workload["metadata"]["name"].startswith("sparkapplication-s-")
    assert [pod["spec"]["nodeSelector"] for pod in pods] == [{"kubernetes.io/os": "linux"}] * 3
    assert await world.finished() == "Succeeded: "


async def test_under_kueue_an_evicted_one_stops_keeps_only_its_templates_and_runs_again(world):
    async with world.running():
        await world.add(SparkApplication, application(labels=QUEUED), seconds=15)
        await world.evict()
        stopped, left, status = (
            await world.get(SparkApplication, "s"),
            await names(world),
            (await world.workload())["status"],
        )
        await world.admit_again()

    assert stopped["spec"]["suspend"] is True
    template = {"spec": {"containers": [{"name": "spark-kubernetes-driver"}]}}
    assert stopped["spec"]["driver"] == {**section(), "template": template}
    assert left == []
    assert "admission" not in status
    assert len(await names(world)) == 3


async def test_kueue_refuses_a_mode_in_which_it_cannot_hold_the_driver(world):
    async with world.running():
        with pytest.raises(errors.Forbidden, match="only Cluster mode is supported for a kueue managed job"):
            await world.add(SparkApplication, application(labels=QUEUED, mode="client"))


def pod(name, role, phase):
    return Pod.view({"metadata": {"name": name, "labels": {"spark-role": role}}, "status": {"phase": phase}})


DRIVER = {phase: {"s-driver": pod("s-driver", "driver", phase)} for phase in ("Pending", "Running", "Succeeded")}
EXECUTORS = {"s-exec-1": pod("s-exec-1", "executor", "Running")}


@pytest.mark.parametrize(
    ("before", "suspend", "pods", "after", "creates", "deletes"),
    [
        pytest.param("", False, {}, "SUBMITTED", ["s-driver"], [], id="new"),
        pytest.param("", True, {}, "SUSPENDED", [], [], id="new and suspended"),
        pytest.param("SUBMITTED", False, {}, "SUBMITTED", ["s-driver"], [], id="its driver was not made"),
        pytest.param("SUBMITTED", False, DRIVER["Pending"], "SUBMITTED", [], [], id="its driver starts"),
        pytest.param(
            "SUBMITTED", False, DRIVER["Running"], "RUNNING", ["s-exec-1", "s-exec-2"], [], id="its driver runs"
        ),
        pytest.param("RUNNING", False, EXECUTORS, "FAILED", [], [], id="its driver was deleted"),
        pytest.param("RUNNING", False, DRIVER["Succeeded"] | EXECUTORS, "COMPLETED", [], [], id="its driver has ended"),
        pytest.param("COMPLETED", False, DRIVER["Succeeded"] | EXECUTORS, "COMPLETED", [], ["s-exec-1"], id="ended"),
        pytest.param("RUNNING", True, DRIVER["Running"], "SUSPENDING", [], ["s-driver"], id="suspended"),
        pytest.param("SUSPENDING", True, {}, "SUSPENDED", [], [], id="nothing is left"),
        pytest.param("SUSPENDING", False, DRIVER["Running"], "SUSPENDING", [], [], id="resumed too early"),
        pytest.param("SUSPENDED", False, {}, "SUBMITTED", ["s-driver"], [], id="resumed"),
        pytest.param("COMPLETED", True, {}, "COMPLETED", [], [], id="ended and suspended"),
    ],
)
def test_what_it_needs_next(before, suspend, pods, after, creates, deletes):
    app = application(suspend=suspend)
    app["metadata"]["uid"] = "u"
    app["status"] = {"applicationState": {"state": before}, "driverInfo": {}}

    result = plan(app, pods)

    assert result.status["applicationState"]["state"] == after
    assert [made["metadata"]["name"] for made in result.create] == creates
    assert [gone.name for gone in result.delete] == deletes
