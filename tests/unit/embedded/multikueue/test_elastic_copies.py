"""Copies of elastic jobs: which slice may change them, and to what."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.job_kinds import RAY_CLUSTER
from fleetqueue.embedded.multikueue.elastic_copies import resized_job, resized_ray_cluster
from fleetqueue.rules.workload_names import workload_name

RayCluster = RAY_CLUSTER.kind


def named(kind, version):
    return workload_name(kind.resource.kind, kind.resource.group, "j", "u", version)


def obj(spec, *, bound="", elastic=True):
    annotations = {**({"kueue.x-k8s.io/elastic-job": "true"} if elastic else {})}
    if bound:
        annotations[kueue.PREBUILT_WORKLOAD] = bound
    return {"metadata": {"name": "j", "uid": "u", "generation": 3, "annotations": annotations}, "spec": spec}


def groups(**replicas):
    return {"workerGroupSpecs": [{"groupName": name, "replicas": count} for name, count in replicas.items()]}


OLD, NEW = named(Job, "1"), named(Job, "3")


@pytest.mark.parametrize(
    ("hub", "there", "bound", "slice_", "expected"),
    [
        pytest.param(2, 2, OLD, OLD, (2, OLD), id="nothing has changed"),
        pytest.param(3, 2, OLD, NEW, (3, NEW), id="it grows by the slice of the job as it is"),
        pytest.param(3, 2, OLD, OLD, (2, OLD), id="an older slice does not make it larger"),
        pytest.param(1, 2, OLD, OLD, (1, OLD), id="it shrinks by the same slice"),
        pytest.param(2, 2, OLD, NEW, (2, NEW), id="it is of the right size, and of another slice now"),
    ],
)
def test_the_copy_of_a_job(hub, there, bound, slice_, expected):
    wanted = resized_job(Job, obj({"parallelism": hub}), obj({"parallelism": there}, bound=bound), slice_)

    assert (wanted["spec"]["parallelism"], wanted["metadata"]["annotations"][kueue.PREBUILT_WORKLOAD]) == expected


def test_the_copy_of_a_job_that_is_not_elastic_stays_as_it_is():
    there = obj({"parallelism": 2}, bound="w", elastic=False)

    assert resized_job(Job, obj({"parallelism": 3}, elastic=False), there, "other") is there


def test_the_workers_of_a_ray_cluster_follow_group_by_group():
    there = obj(groups(a=1, b=2, own=1), bound="w")

    wanted = resized_ray_cluster(RayCluster, obj(groups(b=4, a=1)), there, named(RayCluster, "3"))

    assert wanted["spec"] == groups(a=1, b=4, own=1)


def test_an_older_slice_does_not_make_a_ray_cluster_larger():
    there = obj(groups(a=1), bound="w")

    assert resized_ray_cluster(RayCluster, obj(groups(a=2)), there, "w") is there
