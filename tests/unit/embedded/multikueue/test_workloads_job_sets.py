"""JobSets are sent as Jobs are."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.jobset_v1alpha2 import JobSet

from .objects import NAMESPACE, POD_SPEC, QUEUE, hub_workload

pytestmark = pytest.mark.fleet(scenario="api")
FRAMEWORKS = ("batch/job", "jobset.x-k8s.io/jobset")


def job_set(name="s"):
    template = {"spec": {"template": {"spec": POD_SPEC}, "backoffLimit": 0}}
    spec = {
        "suspend": True,
        "managedBy": kueue.MULTIKUEUE_CONTROLLER,
        "replicatedJobs": [{"name": "r", "replicas": 1, "template": template}],
    }
    return JobSet.manifest(name, NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, spec=spec)


async def test_a_job_set_runs_on_the_winner_and_its_status_comes_back(env):
    env.arrange()
    async with env.multikueue(frameworks=FRAMEWORKS):
        env.hub.add(job_set())
        made = hub_workload("s", env.hub.get(JobSet, "s", NAMESPACE).uid)
        owner = {"apiVersion": JobSet.resource.api_version, "kind": "JobSet"}
        made["metadata"]["ownerReferences"][0] |= owner
        env.hub.add(made)
        env.reserve("s")
        await env.fleet.settle()
        env.admit("cluster1", "s")
        await env.fleet.settle()
        copy = env.fleet["cluster1"].get(JobSet, "s", NAMESPACE)
        counted = {"name": "r", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
        env.fleet["cluster1"].change(JobSet, "s", NAMESPACE, status={"replicatedJobsStatus": [counted]})
        await env.fleet.advance(2)

    assert (copy.spec.suspend, copy.spec.managed_by) == (True, "")
    assert env.check("s").state == "Ready"
    assert env.hub.raw(JobSet, "s", NAMESPACE)["status"]["replicatedJobsStatus"] == [counted]


async def test_a_kind_that_is_not_sent_is_refused(env):
    env.arrange()
    async with env.multikueue():
        made = hub_workload("s", "00000000-0000-0000-0000-000000000000")
        made["metadata"]["ownerReferences"][0] |= {"apiVersion": "example.com/v1", "kind": "Other"}
        env.hub.add(made)
        env.reserve("s")
        await env.fleet.settle()

    told = 'No multikueue adapter found for owner kind "example.com/v1, Kind=Other", Previously: "Pending"'
    assert (env.check("s").state, env.check("s").message) == ("Rejected", told)
