"""Jobs that are to be submitted: read, looked at, refused with a word that helps, created."""

import pytest
import yaml

from fleetqueue.admin import submitting
from fleetqueue.admin.submitting import CannotSubmit
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.job_kinds import RayJob
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP, Configuration
from fleetqueue.client import Client
from fleetqueue.testing.builders import pod_template

LABELS = {kueue.QUEUE_LABEL: "queue"}


def job(name="train", **metadata):
    manifest = Job.manifest(name, spec={"suspend": True, "template": pod_template()}, labels=LABELS)
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def test_a_file_may_hold_several_documents_and_lists():
    listed = {"apiVersion": "v1", "kind": "List", "items": [job("b"), job("c")]}

    found = submitting.documents(yaml.safe_dump_all([job("a"), None, listed]), "jobs.yaml")

    assert [one["metadata"]["name"] for one in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", "is not YAML: .* in line 1", id="not YAML"),
        pytest.param("---\n", "there is no object", id="nothing"),
        pytest.param("kind: Job", "no apiVersion and kind", id="no apiVersion"),
        pytest.param("- 1", "no apiVersion and kind", id="no map"),
        pytest.param("{apiVersion: batch/v1, kind: Job}", "neither a name nor a generateName", id="no name"),
    ],
)
def test_what_is_no_job_is_refused(text, message):
    with pytest.raises(CannotSubmit, match=message):
        submitting.documents(text, "jobs.yaml")


@pytest.mark.parametrize(
    ("own", "wanted", "namespace"),
    [("", "", "mine"), ("", "team-a", "team-a"), ("team-b", "", "team-b"), ("team-a", "team-a", "team-a")],
)
def test_a_job_goes_where_it_says_or_where_it_is_told_to(own, wanted, namespace):
    placed = submitting.placed(job(namespace=own), queue="other", namespace=wanted, default_namespace="mine")

    assert placed["metadata"]["namespace"] == namespace
    assert placed["metadata"]["labels"] == {kueue.QUEUE_LABEL: "other"}


@pytest.mark.parametrize(
    ("labels", "queue", "wanted"),
    [
        pytest.param(LABELS, "", LABELS, id="its own"),
        pytest.param(LABELS, "other", {kueue.QUEUE_LABEL: "other"}, id="another one"),
        pytest.param({"a": "b"}, "other", {"a": "b", kueue.QUEUE_LABEL: "other"}, id="beside its labels"),
        pytest.param(None, "other", {kueue.QUEUE_LABEL: "other"}, id="where there were none"),
    ],
)
def test_a_job_names_the_queue_that_it_is_told_to(labels, queue, wanted):
    assert submitting.with_queue(job(labels=labels), queue)["metadata"]["labels"] == wanted


def test_two_namespaces_for_one_job_are_refused():
    with pytest.raises(CannotSubmit, match='Job "train" is for namespace team-b, and -n says team-a'):
        submitting.placed(job(namespace="team-b"), queue="", namespace="team-a", default_namespace="default")


FOO = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}}
FOO_NAME = "Foo.v1.example.com"


@pytest.mark.parametrize(
    ("document", "configuration", "word"),
    [
        pytest.param(job(), Configuration(), "", id="a Job"),
        pytest.param(RayJob.manifest("x"), Configuration(), "does not manage RayJob", id="not managed"),
        pytest.param(RayJob.manifest("x"), None, "", id="nobody may know"),
        pytest.param(ConfigMap.manifest("x"), None, 'ConfigMap "x" is no job', id="no job"),
        pytest.param({**job(), "kind": "CronJob"}, Configuration(), "on the hub alone, with the label", id="a CronJob"),
        pytest.param(FOO, Configuration(), "does not manage Foo", id="a stranger"),
        pytest.param(FOO, None, "", id="a stranger, and nobody may know"),
        pytest.param(FOO, Configuration(external_frameworks=(FOO_NAME,)), "", id="an external framework"),
        pytest.param(FOO, Configuration(frameworks_elsewhere=(FOO_NAME,)), "", id="managed by others"),
    ],
)
def test_a_kind_that_kueue_does_not_queue_is_refused(document, configuration, word):
    found = submitting.refusal(document, configuration)

    assert word in found
    assert bool(found) == bool(word)


@pytest.fixture
def hub(api):
    api.add(kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "cq"}))
    api.add(
        ConfigMap.manifest(CONFIG_MAP, "kueue-system", data={CONFIG_KEY: "integrations: {frameworks: [batch/job]}"})
    )
    return Client(api)


def placed(**metadata):
    return job(namespace="team-a", **metadata)


async def test_a_look_writes_nothing_and_a_submission_creates(api, hub):
    prepared = await submitting.prepare(hub, [placed()])
    assert await hub.find(Job.resource, "train", "team-a") is None

    (one,) = [await submitting.submit(hub, one) for one in prepared]

    assert (one.job, one.queue, one.is_new) == ("Job/train", "queue", True)
    assert one.row["uid"] == api.get(Job, "train", "team-a").uid


async def test_a_job_that_is_there_is_left_as_it_is(api, hub):
    api.add(placed())

    (prepared,) = await submitting.prepare(hub, [placed()])

    assert (prepared.is_new, prepared.job) == (False, "Job/train")
    assert await submitting.submit(hub, prepared) == prepared


async def test_a_queue_that_is_not_there_is_told_with_those_that_are(hub):
    with pytest.raises(errors.NotFound) as refused:
        await submitting.prepare(hub, [placed(labels={kueue.QUEUE_LABEL: "nope"})])

    assert str(refused.value) == 'there is no LocalQueue "nope" in namespace team-a; there are: queue'


async def test_who_may_not_see_queues_may_submit(api, hub):
    api.fail_on("get localqueues*", errors.Forbidden("no"))

    assert await submitting.prepare(hub, [placed(labels={kueue.QUEUE_LABEL: "nope"})])


async def test_a_job_without_a_queue_is_refused(hub):
    with pytest.raises(CannotSubmit, match='Job "train" names no queue: name one with --queue'):
        await submitting.prepare(hub, [placed(labels={})])


async def test_a_version_that_is_not_served_is_told_with_the_one_that_is(hub):
    with pytest.raises(errors.NotFound, match="this hub serves no Job of batch/v7; it serves batch/v1"):
        await submitting.prepare(hub, [{**placed(), "apiVersion": "batch/v7"}])


async def test_a_field_that_the_kind_does_not_have_is_refused_as_by_kubectl(hub):
    mistyped = {**placed(), "spec": {**placed()["spec"], "paralelism": 4}}

    with pytest.raises(errors.BadRequest, match=r'unknown field "spec\.paralelism"'):
        await submitting.prepare(hub, [mistyped])


async def test_of_several_jobs_none_is_created_where_one_is_refused(hub):
    with pytest.raises(errors.ApiError):
        await submitting.prepare(hub, [placed(), {**placed(), "spec": {}}])

    assert (await hub.list(Job.resource, "team-a")).items == []
