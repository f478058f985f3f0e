"""What the smaller pages of the seeds promise, on an embedded fleet: see `test_seed_pages` for real clusters."""

import pytest

from .embedded_pages import ADD_ON, WORKERS, played

pytestmark = pytest.mark.timeout(300)

NAMESPACE = "open-cluster-management-agent-addon"


@pytest.mark.checklist("M-1")
def test_the_contexts_of_kueues_page_work():
    assert played().nodes == {
        "worker1-cluster": "node/cluster1-control-plane\n",
        "manager-cluster": "node/hub-control-plane\n",
    }


@pytest.mark.checklist("B-1")
def test_the_tree_of_cluster_sets_is_that_of_clusteradm():
    assert played().tree[0] == "<ManagedClusterSet> "
    assert played().tree[-4:] == [
        "└── <spoke> ",
        "    └── <BoundNamespace> default,kueue-system",
        "    └── <Status> 3 ManagedClusters selected",
        "    └── <Clusters> [cluster1 cluster2 cluster3]",
    ]


@pytest.mark.checklist("A-1")
def test_ocm_installs_the_add_on_on_every_cluster_by_itself():
    assert played().add_ons == [[cluster, ADD_ON, "True", "False"] for cluster in WORKERS]


@pytest.mark.checklist("A-1")
@pytest.mark.parametrize("cluster", WORKERS)
def test_the_add_on_brings_its_agent_and_rights(cluster):
    assert {
        f"ClusterRole//{ADD_ON}",
        f"ClusterRoleBinding//{ADD_ON}",
        f"ServiceAccount/{NAMESPACE}/{ADD_ON}",
        f"Deployment/{NAMESPACE}/{ADD_ON}",
        f"Secret/{NAMESPACE}/{ADD_ON}-hub-kubeconfig",
    } <= played().brought[cluster]


@pytest.mark.checklist("A-2")
def test_every_cluster_gets_one_score_object():
    assert [row[:2] for row in played().scores] == [[cluster, "resource-usage-score"] for cluster in WORKERS]


@pytest.mark.checklist("A-3")
def test_a_placement_chooses_the_cluster_with_most_memory_free():
    assert played().chosen == ["cluster3", "cluster2"]


@pytest.mark.checklist("A-4")
@pytest.mark.parametrize("cluster", ["hub", *WORKERS])
def test_deleting_the_add_on_leaves_nothing(cluster):
    assert played().after[cluster] == played().before[cluster]
