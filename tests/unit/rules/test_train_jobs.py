"""The JobSet that a TrainJob becomes."""

import pytest

from fleetqueue.api.job_kinds import ClusterTrainingRuntime, TrainingRuntime
from fleetqueue.rules.train_jobs import ANCESTOR, job_set_of, runtime_kind, unsupported


def part(name="node", *, ancestor="trainer", container="node", replicas=1, **job):
    labels = {"metadata": {"labels": {ANCESTOR: ancestor}}} if ancestor else {}
    pods = {"spec": {"containers": [{"name": container, "image": "old", "env": [{"name": "A", "value": "1"}]}]}}
    return {"name": name, "replicas": replicas, "template": {**labels, "spec": {"template": pods, **job}}}


def runtime(*parts, policy=None, **metadata):
    template = {"metadata": metadata, "spec": {"replicatedJobs": [*(parts or (part(),))]}}
    return {"spec": {"template": template, **({"mlPolicy": policy} if policy is not None else {})}}


def train_job(**spec):
    return {"metadata": {"name": "t", "namespace": "ns"}, "spec": {"runtimeRef": {"name": "r"}, **spec}}


def patch(name="node", manager="me", metadata=None, **template):
    jobs = [{"name": name, "template": template}]
    whole = {"spec": {"replicatedJobs": jobs}, **({"metadata": metadata} if metadata else {})}
    return {"manager": manager, "trainingRuntimeSpec": {"template": whole}}


def pods_of(job_set):
    return {
        one["name"]: (one["replicas"], one["template"]["spec"]["parallelism"])
        for one in job_set["spec"]["replicatedJobs"]
    }


def container_of(job_set, number=0):
    return job_set["spec"]["replicatedJobs"][number]["template"]["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("job", "made_of", "pods"),
    [
        pytest.param(train_job(), runtime(part(parallelism=3)), (1, 3), id="nobody says how many"),
        pytest.param(train_job(), runtime(policy={}), (1, 1), id="a policy without a number"),
        pytest.param(
            train_job(), runtime(part(parallelism=3), policy={"numNodes": 2}), (1, 2), id="the runtime's policy"
        ),
        pytest.param(
            train_job(trainer={"numNodes": 5}),
            runtime(policy={"numNodes": 2, "torch": {}}),
            (1, 5),
            id="the job, torch",
        ),
        pytest.param(train_job(trainer={"numNodes": 5}), runtime(), (1, 5), id="the job, without a policy"),
        pytest.param(train_job(trainer={"numNodes": 5}), runtime(part(replicas=4)), (1, 5), id="always one Job"),
        pytest.param(
            train_job(trainer={"numNodes": 5}), runtime(part(ancestor="", replicas=4)), (4, 1), id="a part of its own"
        ),
        pytest.param(
            train_job(trainer={"numNodes": 5}), runtime(part(ancestor=""), policy={"mpi": {}}), (1, 5), id="MPI's nodes"
        ),
        pytest.param(
            train_job(trainer={"numNodes": 5}),
            runtime(part(ancestor=""), policy={"mpi": {"runLauncherAsNode": True}}),
            (1, 4),
            id="MPI's nodes beside a launcher that trains, too",
        ),
        pytest.param(
            train_job(trainer={"numNodes": 5}),
            runtime(part("launcher"), policy={"mpi": {}}),
            (1, 1),
            id="MPI's launcher",
        ),
    ],
)
def test_how_many_pods_train(job, made_of, pods):
    job_set = job_set_of(job, made_of)

    assert [*pods_of(job_set).values()] == [pods]
    assert job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == pods[1]


def test_the_container_that_trains_is_what_the_job_says():
    resources = {"requests": {"cpu": "3"}, "claims": []}
    own = {"image": "new", "command": ["c"], "args": ["a"], "resourcesPerNode": resources}
    env = [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]

    made = container_of(job_set_of(train_job(trainer={**own, "env": env}), runtime()))

    assert made == {
        "name": "node",
        "image": "new",
        "command": ["c"],
        "args": ["a"],
        "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "3"}},
    }


def test_beside_a_launcher_that_trains_nodes_get_resources_but_keep_their_image():
    trainer = {"image": "new", "resourcesPerNode": {"limits": {"cpu": "3"}}}
    policy = {"mpi": {"runLauncherAsNode": True}}

    made = container_of(job_set_of(train_job(trainer=trainer), runtime(part(ancestor=""), policy=policy)))

    assert (made["image"], made["resources"]) == ("old", {"limits": {"cpu": "3"}})


def test_a_container_of_another_name_stays_as_it_is():
    before = runtime(part(container="side"))

    made = container_of(job_set_of(train_job(trainer={"image": "new"}), before))

    assert (
        made
        == before["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
            "containers"
        ][0]
    )


def test_initializers_are_told_where_things_are():
    name = "model-initializer"
    model = {"storageUri": "hf://m", "env": [{"name": "T", "value": "t"}], "secretRef": {"name": "s"}}

    job_set = job_set_of(
        train_job(initializer={"model": model}), runtime(part(name, ancestor=name, container=name, replicas=3))
    )

    made = container_of(job_set)
    assert {variable["name"]: variable["value"] for variable in made["env"]} == {
        "A": "1",
        "STORAGE_URI": "hf://m",
        "T": "t",
    }
    assert made["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert pods_of(job_set) == {name: (1, 1)}


def test_patches_are_merged_as_kubernetes_merges():
    before = part()
    before["template"]["spec"]["template"] |= {"metadata": {"labels": {"old": "1"}}}
    before["template"]["spec"]["template"]["spec"] |= {
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "old"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    pods = {
        "metadata": {"labels": {"new": "2"}},
        "spec": {
            "nodeSelector": {"gpu": "yes"},
            "tolerations": [{"key": "new"}],
            "volumes": [{"name": "w", "emptyDir": {}}],
            "containers": [{"name": "node", "securityContext": {"runAsUser": 1}}],
            "serviceAccountName": None,
        },
    }

    job = train_job(
        runtimePatches=[patch(spec={"template": pods}), patch("other", spec={"template": {}}), {"manager": "x"}]
    )
    template = job_set_of(job, runtime(before))["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]

    assert template["metadata"]["labels"] == {"old": "1", "new": "2"}
    assert template["spec"]["nodeSelector"] == {"zone": "a", "gpu": "yes"}
    assert template["spec"]["tolerations"] == [{"key": "new"}]
    assert [volume["name"] for volume in template["spec"]["volumes"]] == ["v", "w"]
    assert template["spec"]["containers"] == [
        {"name": "node", "image": "old", "env": [{"name": "A", "value": "1"}], "securityContext": {"runAsUser": 1}}
    ]
    assert "serviceAccountName" not in template["spec"]


def test_the_job_set_has_the_labels_of_the_template_and_of_patches():
    made = job_set_of(
        train_job(runtimePatches=[patch(metadata={"labels": {"b": "2"}, "annotations": {"c": "3"}})]),
        runtime(labels={"a": "1", "b": "1"}),
    )

    assert made["metadata"] == {
        "name": "t",
        "namespace": "ns",
        "labels": {"a": "1", "b": "2"},
        "annotations": {"c": "3"},
    }


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ({}, ClusterTrainingRuntime),
        ({"kind": "TrainingRuntime"}, TrainingRuntime),
        ({"apiGroup": "example.com"}, None),
        ({"kind": "Other"}, None),
    ],
)
def test_which_kind_of_runtime_a_job_names(reference, kind):
    assert runtime_kind(train_job(runtimeRef=reference)) is kind


def test_what_is_said_of_a_runtime_that_nobody_knows():
    assert unsupported(train_job(runtimeRef={"kind": "Other"})) == "unsupported runtime: Other.trainer.kubeflow.org"
