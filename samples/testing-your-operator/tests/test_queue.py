"""The queue, with Kueue, OCM and fleetqueue at work: hours of it, in virtual time."""

from pathlib import Path

import pytest

from fleetqueue.testing import is_true

FOLDER = Path(__file__).parents[1]
pytestmark = pytest.mark.fleet(scenario="multikueue")


def job(name):
    return (FOLDER / "job.yaml").read_text().replace("name: train", f"name: {name}")


async def test_a_job_runs_on_a_worker(fleet):
    fleet.add(FOLDER / "queue.yaml", FOLDER / "job.yaml")

    await fleet.until(lambda: is_true(fleet.get("Job", "train"), "Complete"), within="30m")

    assert fleet.list("Pod", "default") == []


async def test_a_second_job_waits_until_there_is_quota(fleet):
    fleet.add(FOLDER / "queue.yaml", job("first"), job("second"))

    await fleet.advance("5m")
    admitted = [is_true(workload, "Admitted") for workload in fleet.list("Workload")]
    await fleet.until(lambda: all(is_true(found, "Complete") for found in fleet.list("Job")), within="30m")

    assert sorted(admitted) == [False, True]


async def test_a_job_goes_to_the_worker_that_can_be_reached(fleet):
    fleet.add(FOLDER / "queue.yaml")
    await fleet.until(lambda: is_true(fleet.get("MultiKueueCluster", "training-cluster1"), "Active"))

    fleet.cut("cluster1")
    await fleet.until(lambda: not is_true(fleet.get("MultiKueueCluster", "training-cluster1"), "Active"))
    fleet.add(job("train"))

    await fleet.until(lambda: fleet["cluster2"].list("Pod", "default"))
    assert fleet["cluster1"].list("Pod", "default") == []
