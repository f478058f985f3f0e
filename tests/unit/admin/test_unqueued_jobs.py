"""Jobs that name a queue and have no Workload."""

import pytest

from fleetqueue.admin import inventory
from fleetqueue.admin.unqueued_jobs import why_not_queued, without_workload
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, Pod
from fleetqueue.api.job_kinds import PyTorchJob
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP, Configuration
from fleetqueue.api.kueue_pods import GROUP_NAME, GROUP_TOTAL_COUNT, OWNER_GVK, OWNER_NAME, SUSPENDING_PARENT
from fleetqueue.client import Client
from fleetqueue.testing.builders import pod_template

LABELS = {kueue.QUEUE_LABEL: "queue"}
QUEUED = Configuration(frameworks=("batch/job", "pod"))


def job(kind=Job, name="train", owner=None, labels=None, **annotations):
    manifest = kind.manifest(name, "team-a", labels={**LABELS, **(labels or {})}, annotations=annotations)
    manifest["metadata"] |= {"uid": f"uid-{name}", "ownerReferences": [owner] if owner else []}
    return manifest


def workload(name="w", owner="", **annotations):
    manifest = kueue.Workload.manifest(name, "team-a", annotations=annotations)
    manifest["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "x", "uid": owner}] if owner else []
    return kueue.Workload.view(manifest)


def grouped(name="p-0"):
    return job(Pod, name, labels={GROUP_NAME: "group"}, **{GROUP_TOTAL_COUNT: "2"})


JOB_SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "s", "controller": True}
CRON = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "c", "controller": True}
OF_SET = {OWNER_GVK: "apps/v1, Kind=StatefulSet", OWNER_NAME: "train"}


@pytest.mark.parametrize(
    ("kind", "found", "workloads", "is_told"),
    [
        pytest.param(Job, job(), [], True, id="a Job without one"),
        pytest.param(Job, job(), [workload(owner="uid-train")], False, id="a Job with one"),
        pytest.param(Job, job(), [workload(owner="uid-other")], True, id="that of another"),
        pytest.param(Job, job(owner=JOB_SET), [], False, id="a part of a JobSet"),
        pytest.param(Job, job(owner=CRON), [], True, id="of a CronJob, which is no job"),
        pytest.param(StatefulSet, job(StatefulSet), [workload(**OF_SET)], False, id="a set, by its name"),
        pytest.param(Pod, grouped(), [workload("group")], False, id="a pod of a group that has one"),
        pytest.param(Pod, job(Pod, **{SUSPENDING_PARENT: "statefulset"}), [], False, id="a pod of a set"),
        pytest.param(
            Job, job(labels={kueue.PREBUILT_WORKLOAD: "w"}), [workload("w")], False, id="one that was made before"
        ),
    ],
)
def test_a_job_is_told_of_where_no_workload_is_for_it(kind, found, workloads, is_told):
    assert bool(without_workload({kind.resource: [found]}, workloads)) == is_told


def test_the_pods_of_a_group_are_one_job():
    (found,) = without_workload({Pod.resource: [grouped("p-0"), grouped("p-1")]}, [])

    assert [pod["metadata"]["name"] for pod in found[1]] == ["p-0", "p-1"]


@pytest.mark.parametrize(
    ("kind", "found", "configuration", "why"),
    [
        pytest.param(Pod, grouped(), QUEUED, "1 of the 2 pods of its group are there", id="an incomplete group"),
        pytest.param(Job, job(), QUEUED, "no Workload for it yet", id="managed, and none yet"),
        pytest.param(Job, job(), None, "either it is about to, or it does not manage", id="nothing is known"),
        pytest.param(
            PyTorchJob,
            job(PyTorchJob),
            QUEUED,
            "does not list kubeflow.org/pytorchjob",
            id="a kind that is not managed",
        ),
    ],
)
def test_a_job_tells_why_it_has_no_workload(kind, found, configuration, why):
    assert why in why_not_queued(kind.resource, [found], configuration).sentence


def test_who_has_made_too_few_pods_of_a_group_is_told_to_make_the_others():
    cause = why_not_queued(Pod.resource, [grouped()], QUEUED)

    assert cause.step == "create the missing pods of the group"


def real_job():
    return Job.manifest("train", "team-a", labels=LABELS, spec={"suspend": True, "template": pod_template()})


async def test_a_job_without_a_workload_has_a_row_and_one_that_has_ended_says_so(api):
    api.add(real_job())

    (row,) = await inventory.jobs(Client(api), "team-a")

    assert (row["job"], row["queue"], row["state"], row["workload"]) == ("Job/train", "queue", "NotQueued", "")


async def test_what_kueue_manages_is_not_claimed_by_those_who_may_not_read_it(api):
    api.add(real_job())
    api.add(ConfigMap.manifest(CONFIG_MAP, "kueue-system", data={CONFIG_KEY: "integrations: {frameworks: [pod]}"}))

    (known,) = await inventory.jobs(Client(api), "team-a")
    api.fail_on("list deployments*", errors.Forbidden("no"))
    (unknown,) = await inventory.jobs(Client(api), "team-a")

    assert "does not list batch/job" in known["why"]
    assert "either it is about to" in unknown["why"]


async def test_a_name_chooses_with_its_kind_or_without(api):
    api.add(real_job())

    assert await inventory.jobs(Client(api), "team-a", "train")
    assert await inventory.jobs(Client(api), "team-a", "job/train")
    assert not await inventory.jobs(Client(api), "team-a", "pod/train")
    assert not await inventory.jobs(Client(api), "team-a", "tra")
