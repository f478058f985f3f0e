"""The examples: what the stories apply and people copy."""

import pytest

from fleetqueue.manifests import example, folder, objects

NAMES = sorted(path.name for path in folder().iterdir())


def test_the_files_of_the_seeds_and_of_the_docs_are_there():
    assert NAMES == [
        "job-demo1.yaml",
        "job-demo2.yaml",
        "migrate-demo1.yaml",
        "multikueue-setup-demo1.yaml",
        "multikueue-setup-demo2.yaml",
        "multikueue-setup.yaml",
        "placement-demo2-1.yaml",
        "placement-demo2-2.yaml",
        "placement-spoke.yaml",
        "sample-job.yaml",
        "single-clusterqueue-setup.yaml",
        "single-clusterqueue.yaml",
        "topology-jobs.yaml",
        "topology-manager-setup.yaml",
        "topology-nodes.yaml",
        "topology-worker-setup.yaml",
        "worker-admin.yaml",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_each_begins_with_one_line_that_says_what_it_is_for(name):
    first, second = example(name).read_text().splitlines()[:2]

    assert first.startswith("# ")
    assert not second.startswith("#")


@pytest.mark.parametrize("name", NAMES)
def test_each_speaks_the_versions_that_are_served(name):
    versions = {found["apiVersion"] for found in objects(name)}

    of_kubernetes = {"v1", "batch/v1", "rbac.authorization.k8s.io/v1"}
    assert versions <= {*of_kubernetes, "kueue.x-k8s.io/v1beta2", "cluster.open-cluster-management.io/v1beta1"}


def test_hub_and_workers_have_queues_of_the_same_names():
    def queues(*names: str) -> set[str]:
        return {o["metadata"]["name"] for name in names for o in objects(name) if o["kind"].endswith("Queue")}

    assert queues("single-clusterqueue.yaml") == queues("multikueue-setup-demo1.yaml", "multikueue-setup-demo2.yaml")
    assert queues("single-clusterqueue-setup.yaml") == queues("multikueue-setup.yaml")


def test_the_second_placement_only_adds_to_the_first():
    (first,), (second,) = objects("placement-demo2-1.yaml"), objects("placement-demo2-2.yaml")

    assert first["metadata"] == second["metadata"]
    assert {key: second["spec"][key] for key in first["spec"]} == first["spec"]
    assert set(second["spec"]) - set(first["spec"]) == {"numberOfClusters", "prioritizerPolicy"}


def test_an_unknown_example_is_an_error_that_lists_them():
    with pytest.raises(FileNotFoundError, match=r'no example "nope\.yaml"; there are job-demo1\.yaml'):
        example("nope.yaml")
