"""Which kinds of jobs a worker serves: what Kueue will want to watch there."""

import pytest

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.served_kinds import CUSTOM, served_job_kinds

OWN = ("batch/job", "pod", "statefulset")
"""Kubernetes' own kinds, which Kueue's shipped configuration lists."""


def not_found(request):
    raise errors.NotFound("the server could not find the requested resource")


@pytest.mark.parametrize(
    ("served", "kinds"),
    [
        pytest.param({}, [*OWN], id="a bare cluster"),
        pytest.param(
            {"jobset.x-k8s.io/v1alpha2": ["jobsets", "jobsets/status"]},
            [*OWN, "jobset.x-k8s.io/jobset"],
            id="with JobSet",
        ),
        pytest.param({"kubeflow.org/v2beta1": ["mpijobs"]}, [*OWN, "kubeflow.org/mpijob"], id="one of a group"),
        pytest.param({"kubeflow.org/v1": ["mpijobs"]}, [*OWN], id="in a version that Kueue does not ask for"),
        pytest.param({"ray.io/v1": []}, [*OWN], id="a group without our kinds"),
    ],
)
async def test_a_kind_is_named_where_it_is_served(api, served, kinds):
    for kind in CUSTOM.values():
        api.answers[f"GET /apis/{kind.group}/{kind.version}"] = not_found
    for version, names in served.items():
        api.answers[f"GET /apis/{version}"] = {"resources": [{"name": name} for name in names]}

    assert await served_job_kinds(Client(api)) == kinds


async def test_a_worker_is_asked_what_it_serves(api):
    kinds = await served_job_kinds(Client(api))

    assert kinds == [*OWN, "jobset.x-k8s.io/jobset"]
