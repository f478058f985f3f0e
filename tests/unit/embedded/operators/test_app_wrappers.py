"""AppWrappers on a cluster, by themselves and under Kueue."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.job_kinds import AppWrapper
from fleetqueue.embedded.jobset.job_sets import Service
from fleetqueue.embedded.operators.app_wrappers import AppWrapperController
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance

from .queued_cluster import NAMESPACE, QUEUED, QueuedCluster, template

pytestmark = pytest.mark.virtual_time
NOTE = "workload.codeflare.dev.appwrapper/"
ONE_TRY = {f"{NOTE}retryLimit": "0"}


@pytest.fixture
async def world(broken):
    operators = (lambda cluster, metrics: [AppWrapperController(cluster, metrics)],)
    frameworks = ("batch/job", "workload.codeflare.dev/appwrapper")
    async with QueuedCluster.open(("appwrapper",), operators, frameworks, broken) as cluster:
        yield cluster


def job(name="j", **pods):
    spec = {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": template(**pods)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def service():
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "None"}}


def wrapper(*wrapped, labels=None, annotations=None, **spec):
    components = [{"template": one} for one in wrapped or (job(), service())]
    spec = {"components": components, **spec}
    return AppWrapper.manifest("w", NAMESPACE, labels=labels, annotations=annotations, spec=spec)


async def phase(world):
    return (await world.get(AppWrapper, "w"))["status"]["phase"]


async def made(world):
    kinds = (Job, Service)
    found = [raw for kind in kinds for raw in (await world.client.list(kind.resource, NAMESPACE)).items]
    return sorted(raw["metadata"]["name"] for raw in found if raw["metadata"].get("ownerReferences"))


async def test_what_it_wraps_is_made_and_runs_to_its_end(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(job(runs="20s"), service()))
        running, first = await world.told(AppWrapper, "w"), await made(world)
        await advance(60)

    assert first == ["j", "s"]
    assert running["PodsReady"] == "True SufficientPodsReady"
    assert await phase(world) == "Succeeded"
    assert (await world.told(AppWrapper, "w"))["QuotaReserved"] == "False Succeeded"
    assert await made(world) == ["j", "s"]


async def test_one_whose_component_fails_is_tried_again_and_then_fails(world):
    pause = {f"{NOTE}retryPausePeriodDuration": "10s", f"{NOTE}retryLimit": "1"}
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(job(runs="2s", fails=True), annotations=pause), seconds=30)
        between = await world.get(AppWrapper, "w")
        await advance(120)

    assert between["status"]["resettingCount"] == 1
    assert await phase(world) == "Failed"
    assert await made(world) == []
    assert (await world.told(AppWrapper, "w"))["Unhealthy"] == "True FailedComponent"


async def test_a_component_of_an_unknown_kind_fails_at_once(world):
    odd = {"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "o"}, "spec": {}}
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(job(), odd), seconds=40)

    unhealthy = next(
        one for one in (await world.get(AppWrapper, "w"))["status"]["conditions"] if one["type"] == "Unhealthy"
    )
    assert await phase(world) == "Failed"
    assert unhealthy["message"] == 'error creating components: no matches for kind "Odd" in version "example.com/v1"'
    assert await made(world) == []


async def test_somebody_elses_object_of_the_same_name_is_left_alone(world):
    foreign = {**job(), "metadata": {"name": "j", "namespace": NAMESPACE}}
    async with world.running(kueue_too=False):
        await world.add(Job, foreign)
        await world.add(AppWrapper, wrapper(), seconds=30)

    assert await phase(world) == "Failed"
    assert "ownerReferences" not in (await world.get(Job, "j"))["metadata"]


async def test_a_component_that_somebody_deletes_is_a_failure(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper())
        await world.client.delete(Service.resource, "s", NAMESPACE)
        await advance(90)

    assert await phase(world) == "Failed"
    assert (await world.told(AppWrapper, "w"))["Unhealthy"] == "True MissingComponent"


async def test_what_could_not_be_made_is_made_later(world):
    async with world.running(kueue_too=False):
        world.fleet.hub.way.failures.append(Failure("create jobs/*", errors.ServerError("no"), times=3))
        await world.add(AppWrapper, wrapper(), seconds=20)

    assert await phase(world) == "Running"
    assert await made(world) == ["j", "s"]


@pytest.fixture
def no_services(world):
    """The operator has no right to anything of services."""
    why = errors.Forbidden('services is forbidden: User "operator" cannot do that')
    world.fleet.hub.way.failures.append(Failure("* services/*", why))


@pytest.mark.usefixtures("no_services")
async def test_one_whose_component_is_refused_is_tried_again_and_fails_with_the_reason(world):
    pause = {f"{NOTE}retryPausePeriodDuration": "10s", f"{NOTE}retryLimit": "1"}
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(annotations=pause), seconds=200)
        told = (await world.get(AppWrapper, "w"))["status"]
        events = (await world.client.list(Event.resource, NAMESPACE)).items

    why = "error creating components: services is forbidden"
    unhealthy = next(one for one in told["conditions"] if one["type"] == "Unhealthy")
    assert told["phase"] == "Failed"
    assert unhealthy["message"].startswith(why)
    assert [one["note"] for one in events if one["reason"] == "CreateFailed"] == [unhealthy["message"]]


@pytest.mark.usefixtures("no_services")
async def test_one_whose_component_is_refused_can_be_deleted(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(), seconds=20)
        resuming = await phase(world)
        await world.client.delete(AppWrapper.resource, "w", NAMESPACE)
        await advance(60)

    assert resuming == "Resuming"
    assert (await world.client.list(AppWrapper.resource, NAMESPACE)).items == []


async def test_all_goes_with_it(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper())
        await world.client.delete(AppWrapper.resource, "w", NAMESPACE)
        await advance(60)

    assert (await world.client.list(AppWrapper.resource, NAMESPACE)).items == []
    assert await made(world) == []
    assert await world.pods() == []


async def test_one_of_multikueue_is_left_alone(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(managedBy="kueue.x-k8s.io/multikueue"))

    assert "status" not in await world.get(AppWrapper, "w")


async def test_it_is_quiet_when_all_runs(world):
    async with world.running(kueue_too=False):
        await world.add(AppWrapper, wrapper(), seconds=20)
        before = (await world.get(AppWrapper, "w"))["metadata"]["resourceVersion"]
        await advance(300)

    assert (await world.get(AppWrapper, "w"))["metadata"]["resourceVersion"] == before


async def test_under_kueue_it_waits_runs_with_its_flavor_and_ends(world):
    async with world.running():
        await world.add(AppWrapper, wrapper(job(runs="30s"), service(), labels=QUEUED), seconds=15)
        workload, wrapped, pods = await world.workload(), await world.get(Job, "j"), await world.pods()
        await advance(60)

    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("w-0", 2)]
    assert workload["metadata"]["name"].startswith("appwrapper-w-")
    assert wrapped["spec"]["suspend"] is False
    assert wrapped["spec"]["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert len(pods) == 2
    assert await world.finished() == "Succeeded: AppWrapper finished successfully"


async def test_under_kueue_one_that_is_too_large_makes_nothing(world):
    async with world.running():
        await world.add(AppWrapper, wrapper(job(cpu="9"), labels=QUEUED), seconds=20)

    assert await phase(world) == "Suspended"
    assert await made(world) == []


async def test_under_kueue_one_that_fails_finishes_its_workload_when_nothing_is_left(world):
    async with world.running():
        await world.add(AppWrapper, wrapper(job(runs="2s", fails=True), labels=QUEUED, annotations=ONE_TRY), seconds=60)

    assert await world.finished() == "Failed: AppWrapper failed"
    assert await world.pods() == []


async def test_under_kueue_an_evicted_one_takes_all_away_and_runs_again(world):
    async with world.running():
        await world.add(AppWrapper, wrapper(labels=QUEUED), seconds=15)
        await world.evict()
        stopped, left, status = await world.get(AppWrapper, "w"), await made(world), (await world.workload())["status"]
        await world.admit_again()

    assert stopped["spec"]["suspend"] is True
    assert not any("podSetInfos" in component for component in stopped["spec"]["components"])
    assert stopped["status"]["phase"] == "Suspended"
    assert left == []
    assert "admission" not in status
    assert await made(world) == ["j", "s"]
    assert await phase(world) == "Running"
