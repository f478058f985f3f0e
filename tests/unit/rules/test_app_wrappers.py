"""Which pods the components of an AppWrapper come to."""

import pytest

from fleetqueue.api.fields import value_at
from fleetqueue.rules.app_wrappers import field_of, inferred, pod_sets_of

PODS = {"spec": {"containers": []}}
INDEX = "workload.codeflare.dev.appwrapper/tas-pod-index-label"


def wrapped(api_version, kind, spec):
    return {"apiVersion": api_version, "kind": kind, "spec": spec}


RAY = {
    "headGroupSpec": {"template": PODS},
    "workerGroupSpecs": [{"groupName": "g", "replicas": 3, "numOfHosts": 2, "template": PODS}],
}


@pytest.mark.parametrize(
    ("template", "pods"),
    [
        pytest.param(wrapped("v1", "Pod", {}), {"template": 1}, id="Pod"),
        pytest.param(
            wrapped("apps/v1", "Deployment", {"replicas": 3, "template": PODS}),
            {"template.spec.template": 3},
            id="Deployment",
        ),
        pytest.param(
            wrapped("apps/v1", "StatefulSet", {"template": PODS}), {"template.spec.template": 1}, id="StatefulSet"
        ),
        pytest.param(
            wrapped("batch/v1", "Job", {"parallelism": 4, "completions": 2, "template": PODS}),
            {"template.spec.template": 2},
            id="Job",
        ),
        pytest.param(
            wrapped(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {
                    "replicatedJobs": [
                        {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": PODS}}}
                    ]
                },
            ),
            {"template.spec.replicatedJobs[0].template.spec.template": 6},
            id="JobSet",
        ),
        pytest.param(
            wrapped(
                "kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": PODS}}}
            ),
            {"template.spec.pytorchReplicaSpecs.Worker.template": 2},
            id="PyTorchJob",
        ),
        pytest.param(
            wrapped("ray.io/v1", "RayCluster", RAY),
            {"template.spec.headGroupSpec.template": 1, "template.spec.workerGroupSpecs[0].template": 3},
            id="RayCluster",
        ),
        pytest.param(
            wrapped("ray.io/v1", "RayJob", {"rayClusterSpec": RAY}),
            {
                "template.spec.rayClusterSpec.headGroupSpec.template": 1,
                "template.spec.rayClusterSpec.workerGroupSpecs[0].template": 3,
            },
            id="RayJob",
        ),
        pytest.param(wrapped("v1", "Service", {}), {}, id="a kind without pods"),
    ],
)
def test_what_is_known_of_wrapped_kinds(template, pods):
    sets = inferred(template)

    assert {one["path"]: one["replicas"] for one in sets} == pods
    assert all(value_at(template, field_of(path)) in (PODS, template) for path in pods)


def test_what_is_known_of_the_numbering_of_pods():
    (job,) = inferred(wrapped("batch/v1", "Job", {"template": PODS}))
    replicated = [{"name": "a", "replicas": 2, "template": {"spec": {"template": PODS}}}]
    (job_set,) = inferred(wrapped("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": replicated}))

    assert job["annotations"] == {INDEX: "batch.kubernetes.io/job-completion-index"}
    assert sorted(job_set["annotations"].values()) == [
        "2",
        "batch.kubernetes.io/job-completion-index",
        "jobset.sigs.k8s.io/job-index",
    ]


def test_what_a_component_says_itself_counts():
    declared = [{"path": "template.spec.template", "replicas": 7}]

    assert pod_sets_of({"podSets": declared, "template": wrapped("batch/v1", "Job", {"template": PODS})}) == declared


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("template", ()),
        ("template.spec.a[1].b", ("spec", "a", 1, "b")),
        ("template.spec.a[0][2]", ("spec", "a", 0, 2)),
        ("spec.template", None),
        ("template.spec.a[x]", None),
        ("templates", None),
    ],
)
def test_where_a_path_leads(path, field):
    assert field_of(path) == field
