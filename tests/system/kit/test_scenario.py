"""The fixture `fleet` with the whole environment: Kueue, OCM and fleetqueue at work, in virtual time."""

import pytest

from fleetqueue.testing import is_true
from tests.system.kit.queues import JOB, QUEUES, with_name

pytestmark = [pytest.mark.fleet(scenario="multikueue"), pytest.mark.timeout(300)]


async def sent_to(fleet, name):
    """Return the cluster to which a job was sent."""

    def cluster():
        owned = [one for one in fleet.list("Workload") if one["metadata"]["ownerReferences"][0]["name"] == name]
        return owned[0]["status"]["clusterName"].removeprefix("placement-gpu-")

    return await fleet.until(cluster)


async def test_a_job_runs_on_a_worker_and_ends_on_the_hub(fleet):
    fleet.add(QUEUES, JOB)

    cluster = await sent_to(fleet, "train")
    pods = await fleet.until(lambda: fleet[cluster].list("Pod", "default"))
    await fleet.until(lambda: is_true(fleet.get("Job", "train"), "Complete"), within="1h")

    assert len(pods) == 1
    assert fleet.list("Pod", "default") == []


async def test_each_test_begins_with_the_same_fleet(fleet):
    assert fleet.list("Job") == []
    assert all(is_true(one, "ManagedClusterConditionAvailable") for one in fleet.list("ManagedCluster"))


async def test_a_cut_worker_gets_no_job_and_a_healed_one_does(fleet):
    fleet.add(QUEUES)
    fleet.cut("cluster1", silently=True)
    await fleet.until(lambda: not is_true(fleet.get("MultiKueueCluster", "placement-gpu-cluster1"), "Active"))

    fleet.add(JOB)
    first = await sent_to(fleet, "train")
    fleet.heal()
    fleet.cut("cluster2")
    await fleet.until(lambda: is_true(fleet.get("MultiKueueCluster", "placement-gpu-cluster1"), "Active"))
    fleet.add(with_name("second"))

    assert first == "cluster2"
    assert await sent_to(fleet, "second") == "cluster1"
