"""Which kinds of jobs a worker serves: what Kueue will want to watch there."""

import pytest

from fleetqueue.assembly.job_kinds import kinds_among, served_job_kinds
from fleetqueue.client import Client


@pytest.mark.parametrize(
    ("served", "kinds"),
    [
        pytest.param({}, ["batch/job"], id="a bare cluster"),
        pytest.param({"apps": ["statefulsets"], "": ["pods"]}, ["batch/job"], id="what Kueue leaves alone"),
        pytest.param(
            {"jobset.x-k8s.io": ["jobsets", "jobsets/status"]},
            ["batch/job", "jobset.x-k8s.io/jobset"],
            id="with JobSet",
        ),
        pytest.param({"kubeflow.org": ["mpijobs"]}, ["batch/job", "kubeflow.org/mpijob"], id="one kind of a group"),
        pytest.param({"ray.io": []}, ["batch/job"], id="a group without our kinds"),
    ],
)
def test_a_kind_is_named_where_it_is_served(served, kinds):
    assert kinds_among(served) == kinds


async def test_a_worker_is_asked_what_it_serves(api):
    found = await served_job_kinds(Client(api))

    assert found == ["batch/job", "jobset.x-k8s.io/jobset"]
