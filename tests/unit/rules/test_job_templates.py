"""Where each kind of job keeps the templates of its pods, and how many pods they are for."""

import pytest

from fleetqueue.rules.job_templates import job_set_templates, pods_at_once, ray_templates, replica_templates


@pytest.mark.parametrize(
    ("spec", "pods"),
    [({}, 1), ({"parallelism": 3}, 3), ({"parallelism": 3, "completions": 2}, 2), ({"completions": 5}, 1)],
)
def test_how_many_pods_a_job_has_at_once(spec, pods):
    assert pods_at_once({"spec": spec}) == pods


def test_a_job_set_has_a_template_for_each_replicated_job():
    replicated = [
        {"name": "Workers", "replicas": 2, "template": {"spec": {"parallelism": 3}}},
        {"name": "driver", "template": {"spec": {}}},
    ]

    templates = job_set_templates({"spec": {"replicatedJobs": replicated}})

    assert [(template.name, template.pods) for template in templates] == [("workers", 6), ("driver", 1)]
    assert templates[1].field == ("spec", "replicatedJobs", 1, "template", "spec", "template")


def test_the_roles_of_a_kubeflow_job_come_in_their_order():
    replicas = {"Worker": {"replicas": 4}, "Chief": {}, "Evaluator": None}

    templates = replica_templates(
        {"spec": {"tfReplicaSpecs": replicas}}, ("spec", "tfReplicaSpecs"), ("Chief", "Worker")
    )

    assert [(template.name, template.pods) for template in templates] == [("chief", 1), ("worker", 4)]
    assert templates[0].field == ("spec", "tfReplicaSpecs", "Chief", "template")


def test_a_ray_cluster_has_a_head_and_groups_of_workers():
    groups = [
        {"groupName": "Small"},
        {"groupName": "tpu", "replicas": 2, "numOfHosts": 4},
        {"groupName": "none", "replicas": 0},
    ]

    templates = ray_templates({"spec": {"workerGroupSpecs": groups}}, ("spec",))

    assert [(template.name, template.pods) for template in templates] == [
        ("head", 1),
        ("small", 1),
        ("tpu", 8),
        ("none", 0),
    ]
