"""Which job a pod runs for: every kind has its own way to say that."""

import pytest

from .job_pods import JobName, JobPods, waits_by_itself


def made(name, *, by=None, **labels):
    owners = [{"kind": by[0], "name": by[1], "uid": "-".join(by), "controller": True}] if by else []
    return {"metadata": {"name": name, "namespace": "ns", "uid": name, "labels": labels, "ownerReferences": owners}}


def of(kind, name, *, by):
    """Return something between a job and its pods."""
    between = made(name, by=by)
    between["metadata"]["uid"] = f"{kind}-{name}"
    return between


@pytest.mark.parametrize(
    ("pod", "between", "job"),
    [
        pytest.param(made("p"), [], ("Pod", "p"), id="a pod"),
        pytest.param(made("p", **{"kueue.x-k8s.io/pod-group-name": "g"}), [], ("pod group", "g"), id="one of a group"),
        pytest.param(made("p", by=("Job", "j")), [], ("Job", "j"), id="of a Job"),
        pytest.param(
            made("p", by=("Job", "j")),
            [of("Job", "j", by=("JobSet", "s")), of("JobSet", "s", by=("TrainJob", "t"))],
            ("TrainJob", "t"),
            id="of a TrainJob",
        ),
        pytest.param(
            made("w", by=("StatefulSet", "l-0"), **{"kueue.x-k8s.io/pod-group-name": "g"}),
            [
                of("StatefulSet", "l-0", by=("Pod", "l-0")),
                of("Pod", "l-0", by=("StatefulSet", "l")),
                of("StatefulSet", "l", by=("LeaderWorkerSet", "l")),
            ],
            ("LeaderWorkerSet", "l"),
            id="a worker of a LeaderWorkerSet",
        ),
        pytest.param(
            made("p", by=("ReplicaSet", "d-1")),
            [of("ReplicaSet", "d-1", by=("Deployment", "d"))],
            ("Pod", "p"),
            id="of a Deployment, whose pods are sent one by one",
        ),
    ],
)
def test_the_job_of_a_pod(pod, between, job):
    pods = JobPods()
    for one in between:
        pods.see(one)

    kind, name = job
    assert pods.job_of(pod) == JobName(kind, "ns", name)


def test_where_the_pods_of_a_job_run():
    pods = JobPods()
    for cluster, name in (("cluster1", "a"), ("cluster1", "b"), ("cluster2", "c")):
        pods.note(cluster, made(name, by=("Job", "j")), is_live=True)
    pods.note("cluster1", made("a", by=("Job", "j")), is_live=False)
    pods.note("cluster2", made("c", by=("Job", "j")), is_live=False)

    assert pods.places(JobName("Job", "ns", "j")) == {"cluster1": {"b"}}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param(made("p"), True, id="without an owner"),
        pytest.param(made("p", by=("ReplicaSet", "d-1")), True, id="a pod of a Deployment"),
        pytest.param(made("p", by=("StatefulSet", "s")), False, id="a pod of a StatefulSet"),
    ],
)
def test_what_waits_by_itself(raw, expected):
    assert waits_by_itself(raw) is expected
