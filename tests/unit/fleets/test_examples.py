"""The examples: what the stories apply and people copy."""

from hashlib import sha256

import orjson
import pytest

from fleetqueue.manifests import example, folder, objects

KUEUES_OWN = {
    "single-clusterqueue-setup.yaml": "f073e2cdc21c2deacf79077e93ab05becfc45260d6381ba1ce704b08f1a3931f",
    "multikueue-setup.yaml": "14144e4018bb53f32429fea7abe2a23a3e706ad5c7a5140cb61dfe2771ba6a91",
    "topology-worker-setup.yaml": "b26e7663cdd4db390168991368c2e0b60a80740f88d7263cc2158f962a1d2f68",
    "topology-manager-setup.yaml": "8c4e3f3b4d6c2e6b42ea18f59664b5103e922fa8d5983a11e5a6b5d65d572c5e",
    "topology-jobs.yaml": "df2c1084139fd1558952f92d0777e160fd9d8eec9779d0069772dac068555177",
}
"""Of what Kueue 0.19.2 shows on its page about MultiKueue, and in the guide that it names: a digest of the objects.

Made of its files `admin/single-clusterqueue-setup`, `multikueue/multikueue-setup`, `multikueue/tas/worker-setup`,
`multikueue/tas/manager-setup` and `multikueue/dev/sample-tas-job` in `site/static/examples`, read as below.
"""
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


@pytest.mark.parametrize("name", KUEUES_OWN)
def test_what_is_said_to_be_kueues_own_is(name):
    written = orjson.dumps(objects(name), option=orjson.OPT_SORT_KEYS)

    assert sha256(written).hexdigest() == KUEUES_OWN[name]


def test_each_node_has_the_level_of_the_topology_that_only_a_kubelet_would_give_it():
    nodes = objects("topology-nodes.yaml")

    assert [node["metadata"]["labels"]["kubernetes.io/hostname"] for node in nodes] == ["tas-node-1", "tas-node-2"]


def test_the_second_placement_only_adds_to_the_first():
    (first,), (second,) = objects("placement-demo2-1.yaml"), objects("placement-demo2-2.yaml")

    assert first["metadata"] == second["metadata"]
    assert {key: second["spec"][key] for key in first["spec"]} == first["spec"]
    assert set(second["spec"]) - set(first["spec"]) == {"numberOfClusters", "prioritizerPolicy"}


def test_an_unknown_example_is_an_error_that_lists_them():
    with pytest.raises(FileNotFoundError, match=r'no example "nope\.yaml"; there are job-demo1\.yaml'):
        example("nope.yaml")
