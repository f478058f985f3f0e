"""StatefulSets under Kueue: one Workload for all pods of one, which wait for it and run for ever."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import controller_reference
from fleetqueue.embedded.kueue.pods import parent_pods
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.fleets.faults import Failure
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import job_manifest
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE, queue_manifest

from .objects import ask, is_gated, pods
from .stateful_sets import make_pods, pod_of, stateful_set, the_workload

pytestmark = pytest.mark.virtual_time
SETTINGS = KueueSettings(frameworks=("batch/job", "pod", "statefulset"))
PARENT = "kueue.x-k8s.io/pod-suspending-parent"


@pytest.fixture
async def asked(world):
    ask(world, SETTINGS)
    return world


async def add(world, made):
    await world.client.create(StatefulSet.resource, made)
    await advance(3)


async def change(world, **fields):
    await world.client.merge(StatefulSet.resource, "s", NAMESPACE, fields)
    await advance(10)


async def phases(world):
    return {name: raw["status"]["phase"] for name, raw in (await pods(world)).items()}


async def remove_pods(world):
    """Play the StatefulSet's controller where it has none: take the pods away."""
    for name in await pods(world):
        await world.client.delete(Pod.resource, name, NAMESPACE)
    await advance(10)


async def test_a_stateful_set_has_one_workload_and_its_pods_run_when_that_is_admitted(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        workload = await the_workload(asked)
        await make_pods(asked)
        running = await pods(asked)

    annotations, marks = workload["metadata"]["annotations"], running["s-1"]["metadata"]["annotations"]
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("main", 2)]
    assert annotations["kueue.x-k8s.io/job-owner-gvk"] == "apps/v1, Kind=StatefulSet"
    assert annotations["kueue.x-k8s.io/job-owner-name"] == "s"
    assert workload["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"
    assert {raw["status"]["phase"] for raw in running.values()} == {"Running"}
    assert marks["kueue.x-k8s.io/pod-group-name"] == workload["metadata"]["name"]
    assert marks[kueue.PREBUILT_WORKLOAD] == workload["metadata"]["name"]
    assert (marks["kueue.x-k8s.io/pod-group-total-count"], marks["kueue.x-k8s.io/role-hash"]) == ("2", "main")
    assert running["s-1"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
    assert len((await asked.client.list(kueue.Workload.resource)).items) == 1


async def test_a_stateful_set_below_a_job_with_a_queue_has_no_workload(asked):
    async with asked.managed(SETTINGS):
        await asked.add(job_manifest())
        job = await asked.get("Job", "j", NAMESPACE)
        made = stateful_set()
        made["metadata"]["ownerReferences"] = [controller_reference(Job.resource, "j", job["metadata"]["uid"])]
        await add(asked, made)
        workloads = (await asked.client.list(kueue.Workload.resource)).items

    assert [workload["metadata"]["ownerReferences"][0]["kind"] for workload in workloads] == ["Job"]


async def test_a_stateful_set_that_is_gated_no_more_says_so(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set(annotations={kueue.ADMISSION_GATED_BY: "example.com/gate"}))
        await change(asked, metadata={"annotations": {kueue.ADMISSION_GATED_BY: None}})
        said = [event["note"] for event in (await asked.client.list(Event.resource, NAMESPACE)).items]

    assert 'Updated workload AdmissionGatedBy to ""' in said


async def test_a_stateful_set_that_does_not_fit_waits(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set(cpu="3"))
        await make_pods(asked)

    assert {is_gated(raw) for raw in (await pods(asked)).values()} == {True}


async def test_an_evicted_stateful_set_runs_again_when_it_may(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked)
        await asked.change(await the_workload(asked), spec={"active": False})
        await advance(20)
        await make_pods(asked)
        waiting, told = await pods(asked), await asked.told((await the_workload(asked))["metadata"]["name"])
        await asked.change(await the_workload(asked), spec={"active": True})
        await advance(20)

    assert {is_gated(raw) for raw in waiting.values()} == {True}
    assert told["QuotaReserved"] == "False Pending: The workload is deactivated"
    assert await phases(asked) == {"s-0": "Running", "s-1": "Running"}


async def test_a_stateful_set_of_no_pods_is_on_hold_until_it_has_some_again(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked)
        await change(asked, spec={"replicas": 0})
        await remove_pods(asked)
        held = await asked.told((await the_workload(asked))["metadata"]["name"])
        await change(asked, spec={"replicas": 2})
        await make_pods(asked)

    assert held["QuotaReserved"] == "False OnHold: StatefulSet scaled to zero; workload on hold"
    assert await phases(asked) == {"s-0": "Running", "s-1": "Running"}


async def test_a_stateful_set_that_goes_takes_all_with_it(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked)
        await asked.client.delete(StatefulSet.resource, "s", NAMESPACE)
        await advance(30)

    assert await pods(asked) == {}
    assert (await asked.client.list(kueue.Workload.resource)).items == []


async def test_a_pod_that_comes_again_runs_with_the_others(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked)
        await asked.delete("Pod", "s-1", NAMESPACE)
        await advance(10)
        await make_pods(asked)

    assert await phases(asked) == {"s-0": "Running", "s-1": "Running"}


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(stateful_set(queue=""), id="without a queue"),
        pytest.param(
            stateful_set(template_annotations={PARENT: "leaderworkerset.x-k8s.io/leaderworkerset"}),
            id="below what is admitted itself",
        ),
    ],
)
async def test_a_stateful_set_that_is_not_ours_has_no_workload(asked, made):
    async with asked.managed(SETTINGS):
        await add(asked, made)
        await make_pods(asked)

    assert (await asked.client.list(kueue.Workload.resource)).items == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"spec": {"replicas": 3}}, "spec.replicas: Invalid value: 3: field is immutable", id="more pods"),
        pytest.param(
            {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
            'spec.template.spec.nodeSelector: Invalid value: {"a":"b"}: field is immutable',
            id="other nodes",
        ),
        pytest.param(
            {"metadata": {"labels": {kueue.QUEUE_LABEL: None}}},
            'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "": field is immutable',
            id="no queue any more",
        ),
    ],
)
async def test_what_may_not_change_in_a_stateful_set(asked, fields, says):
    await asked.client.create(StatefulSet.resource, stateful_set())

    with pytest.raises(errors.Forbidden) as refused:
        await asked.client.merge(StatefulSet.resource, "s", NAMESPACE, fields)

    assert f'admission webhook "vstatefulset.kb.io" denied the request: {says}' in str(refused.value)


async def test_a_stateful_set_may_say_other_things_of_its_pods(asked):
    await asked.client.create(StatefulSet.resource, stateful_set())

    fields = {"spec": {"template": {"metadata": {"labels": {"app": "s", "more": "x"}}}}}
    changed = await asked.client.merge(StatefulSet.resource, "s", NAMESPACE, fields)

    assert changed["spec"]["template"]["metadata"]["annotations"][PARENT] == "statefulset"


async def test_all_is_quiet_when_a_stateful_set_runs(asked):
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked)
        await advance(20)
        before = await asked.revision()
        await advance(300)
        after = await asked.revision()

    assert after == before


async def test_a_pod_that_could_not_be_marked_is_marked_later(asked):
    failure = Failure("patch pods/team/s-1", errors.ServerError("no"), times=2)
    asked.way.failures.append(failure)
    async with asked.managed(SETTINGS):
        await add(asked, stateful_set())
        await make_pods(asked, 60)

    assert failure.times == 0
    assert await phases(asked) == {"s-0": "Running", "s-1": "Running"}


@pytest.mark.parametrize(
    ("status", "is_outdated"),
    [
        pytest.param({}, False, id="it says nothing of revisions"),
        pytest.param({"currentRevision": "s-1", "updateRevision": "s-1"}, False, id="there is one revision"),
        pytest.param({"currentRevision": "s-1", "updateRevision": "s-2"}, True, id="another one comes"),
        pytest.param({"currentRevision": "s-0", "updateRevision": "s-1"}, False, id="it is of the one that comes"),
    ],
)
def test_a_pod_makes_place_for_another_revision(status, is_outdated):
    made = stateful_set() | {"status": status}
    made["metadata"]["uid"] = "u"

    assert parent_pods.is_outdated(pod_of(made, 0), made) is is_outdated


@pytest.mark.parametrize(
    ("controller", "queue", "goes_on"),
    [
        pytest.param("example.com/check", "q", True, id="its queue only asks others"),
        pytest.param(kueue.MULTIKUEUE_CONTROLLER, "q", False, id="its queue sends"),
        pytest.param("", "q", False, id="nobody knows what a check of its queue is"),
        pytest.param("example.com/check", "other", False, id="nobody knows its queue"),
    ],
)
async def test_pods_of_an_older_revision_wait_on_where_their_workload_may_be_sent(asked, controller, queue, goes_on):
    async with asked.managed(SETTINGS):
        if controller:
            await asked.add(kueue.AdmissionCheck.manifest("c", spec={"controllerName": controller}))
        strategy = {"admissionChecks": [{"name": "c"}]}
        await asked.change(queue_manifest(), spec={"admissionChecksStrategy": strategy})
        made = stateful_set(queue=queue)
        await add(asked, made)
        containers = [{**one, "image": "other"} for one in made["spec"]["template"]["spec"]["containers"]]
        await change(asked, spec={"template": {"spec": {"containers": containers}}})

    images = [raw["spec"]["containers"][0]["image"] for raw in (await pods(asked)).values()]
    assert images == ["other" if goes_on else made["spec"]["template"]["spec"]["containers"][0]["image"], "other"]
