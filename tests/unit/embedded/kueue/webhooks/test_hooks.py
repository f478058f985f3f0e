"""What Kueue completes and refuses, asked through the server."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.hooks import hooks
from fleetqueue.embedded.kueue.wiring import INTEGRATIONS
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import job_manifest, template
from tests.unit.embedded.kueue.scheduling.objects import (
    NAMESPACE,
    group,
    local_queue_manifest,
    pod_set,
    queue_manifest,
    quota,
    workload_manifest,
)

pytestmark = pytest.mark.virtual_time


@pytest.fixture
async def asked(world):
    """A cluster on which Kueue has a say in writes."""
    server = world.fleet.hub.server
    server.webhooks.install("kueue", hooks(KueueSettings(), INTEGRATIONS, server.find))
    return world


async def refusal(world, manifest):
    with pytest.raises(errors.Forbidden) as refused:
        await world.add(manifest)
    return str(refused.value)


async def test_a_job_with_a_queue_is_suspended(asked):
    await asked.add(job_manifest("a", suspend=False), job_manifest("b", suspend=False, queue=""))

    assert (await asked.get("Job", "a", NAMESPACE))["spec"]["suspend"] is True
    assert (await asked.get("Job", "b", NAMESPACE))["spec"]["suspend"] is False


async def test_a_job_gets_the_default_queue(asked):
    await asked.add(local_queue_manifest("default", to="q"), job_manifest(suspend=False, queue=""))

    job = await asked.get("Job", "j", NAMESPACE)
    assert job["metadata"]["labels"][kueue.QUEUE_LABEL] == "default"
    assert job["spec"]["suspend"] is True


async def test_a_job_of_a_queue_with_multikueue_is_given_to_it(asked):
    check = kueue.AdmissionCheck.manifest("mk", spec={"controllerName": kueue.MULTIKUEUE_CONTROLLER})
    listed = {"admissionChecksStrategy": {"admissionChecks": [{"name": "mk"}]}}
    stopped = local_queue_manifest("stopped", to="far", stop="Hold")
    await asked.add(check, queue_manifest("far", **listed), local_queue_manifest("far"), stopped)
    await asked.add(job_manifest("a", queue="far"), job_manifest("b"), job_manifest("c", queue="stopped"))

    assert (await asked.get("Job", "a", NAMESPACE))["spec"]["managedBy"] == kueue.MULTIKUEUE_CONTROLLER
    assert "managedBy" not in (await asked.get("Job", "b", NAMESPACE))["spec"]
    assert "managedBy" not in (await asked.get("Job", "c", NAMESPACE))["spec"]


async def test_queues_and_flavors_are_held_from_the_beginning(asked):
    await asked.add(queue_manifest("other"), kueue.ResourceFlavor.manifest("other", spec={}))

    for kind in ("ClusterQueue", "ResourceFlavor"):
        found = await asked.get(kind, "other")
        assert found["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]


async def test_the_amounts_of_a_new_queue_are_written_as_go_writes_them(asked):
    quotas = [
        {"name": "cpu", "nominalQuota": "4000", "borrowingLimit": "0.5"},
        {"name": "memory", "nominalQuota": 1024},
    ]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default", "resources": quotas}]}]

    weight = {"weight": "0.5"}
    await asked.add(queue_manifest("other", cohortName="c", resourceGroups=groups, fairSharing=weight))

    spec = (await asked.get("ClusterQueue", "other"))["spec"]
    [group] = spec["resourceGroups"]
    cpu, memory = group["flavors"][0]["resources"]
    assert spec["fairSharing"] == {"weight": "500m"}
    assert (cpu["nominalQuota"], cpu["borrowingLimit"], memory["nominalQuota"]) == ("4k", "500m", "1024")


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        pytest.param(
            job_manifest(labels={"kueue.x-k8s.io/max-exec-time-seconds": "soon"}),
            'admission webhook "vjob.kb.io" denied the request: '
            "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: "
            '"soon": strconv.Atoi: parsing "soon": invalid syntax',
            id="no time",
        ),
        pytest.param(
            job_manifest(annotations={"kueue.x-k8s.io/job-min-parallelism": "4"}, parallelism=3),
            'admission webhook "vjob.kb.io" denied the request: '
            "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: 4: should be between 0 and 2",
            id="more than there are",
        ),
        pytest.param(
            job_manifest(queue="UPPER"),
            'admission webhook "vjob.kb.io" denied the request: '
            'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "UPPER": a lowercase RFC 1123 subdomain',
            id="no queue name",
        ),
        pytest.param(
            workload_manifest("w", pod_set("a", count=2, least=1), pod_set("b", count=2, least=1)),
            'admission webhook "vworkload.kb.io" denied the request: '
            "spec.podSets: Invalid value: 2: at most one podSet can use minCount",
            id="two sets with a least count",
        ),
        pytest.param(
            workload_manifest("w", pod_set(requests={"pods": "1"})),
            'admission webhook "vworkload.kb.io" denied the request: '
            "spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "
            '"pods": the key is reserved for internal kueue use',
            id="pods as a resource",
        ),
        pytest.param(
            queue_manifest("x", group(a=quota(1)), group(b=quota(1))),
            'admission webhook "vclusterqueue.kb.io" denied the request: '
            'spec.resourceGroups[1].coveredResources[0]: Duplicate value: "cpu"',
            id="a resource in two groups",
        ),
        pytest.param(
            queue_manifest("x", group(a=quota(1, lend=2)), cohort="c"),
            'admission webhook "vclusterqueue.kb.io" denied the request: '
            'spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "2": '
            "must be less than or equal to the nominalQuota",
            id="lends more than it has",
        ),
        pytest.param(
            queue_manifest("x", admissionChecksStrategy={"admissionChecks": [{"name": "c", "onFlavors": ["missing"]}]}),
            'admission webhook "vclusterqueue.kb.io" denied the request: '
            "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "
            '"missing": supported values: "default"',
            id="a check on a flavor that is not there",
        ),
    ],
)
async def test_what_is_refused_and_in_which_words(asked, manifest, says):
    assert (await refusal(asked, manifest)).startswith(says)


async def test_a_running_job_keeps_its_queue(asked):
    await asked.add(job_manifest(pods=template()))
    await asked.client.merge(Job.resource, "j", NAMESPACE, {"spec": {"suspend": False}})

    with pytest.raises(errors.Forbidden) as refused:
        await asked.client.merge(Job.resource, "j", NAMESPACE, {"metadata": {"labels": {kueue.QUEUE_LABEL: "other"}}})

    assert str(refused.value) == (
        'admission webhook "vjob.kb.io" denied the request: '
        'metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "other": field is immutable'
    )


async def test_a_workload_with_quota_keeps_its_pod_sets(asked):
    async with asked.managed():
        await asked.add(workload_manifest("a"))
        await advance(2)
        raw = await asked.workload("a")
        sets = [{**raw["spec"]["podSets"][0], "count": 2}]
        with pytest.raises(errors.Forbidden) as refused:
            await asked.client.merge(kueue.Workload.resource, "a", NAMESPACE, {"spec": {"podSets": sets}})

    assert str(refused.value).startswith(
        'admission webhook "vworkload.kb.io" denied the request: spec.podSets.0: Invalid value: {'
    )


async def test_kueue_s_own_writes_pass(asked):
    async with asked.managed():
        await asked.add(job_manifest(suspend=False, pods=template(runs="5s")))
        await advance(30)

    job = await asked.get("Job", "j", NAMESPACE)
    assert job["status"]["succeeded"] == 1


async def test_a_topology_that_cannot_be_is_refused(asked):
    size = {"kueue.x-k8s.io/podset-slice-required-topology": "rack", "kueue.x-k8s.io/podset-slice-size": "2"}

    assert await refusal(asked, job_manifest(pods=template(annotations=size))) == (
        'admission webhook "vjob.kb.io" denied the request: '
        'spec.template.metadata.annotations[kueue.x-k8s.io/podset-slice-size]: Invalid value: "2": '
        "must not be greater than pod set count 1"
    )
