"""What is asked about the environment: the form of the kubeconfigs, where profiles stand, and the scores."""

import copy

import pytest
import yaml

from fleetqueue.api.cluster_v1 import (
    CLUSTER_SET_LABEL,
    AddOnPlacementScore,
    ManagedCluster,
    ManagedClusterSet,
    ManagedClusterSetBinding,
)
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client.kubeconfig import render
from fleetqueue.demo.environment_story import (
    MANAGER,
    MANAGER_LABEL,
    bound,
    gpu_scores,
    own_authority,
    profiles,
    shape_problems,
)
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import settle

SERVER, CA = "https://127.0.0.1:1", "YXV0aG9yaXR5"
GOOD = yaml.safe_load(render("cluster1", server=SERVER, ca=b"authority", token="t", user="u"))


def changed(*path: str | int, to: object) -> dict:
    config = copy.deepcopy(GOOD)
    part = config
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = to
    return config


@pytest.mark.parametrize(
    ("config", "problems"),
    [
        pytest.param(GOOD, [], id="as we write it"),
        pytest.param(changed("clusters", 0, "cluster", "server", to="https://other"), ["wrong server"], id="elsewhere"),
        pytest.param(
            changed("clusters", 0, "cluster", "certificate-authority-data", to="eA=="),
            ["wrong certificate authority"],
            id="another authority",
        ),
        pytest.param(changed("contexts", 0, "name", to="x"), ["wrong context"], id="another context"),
        pytest.param(
            changed("contexts", 0, "context", "user", to="x"),
            ["wrong cluster or user of the context"],
            id="a context of nobody",
        ),
        pytest.param(
            changed("users", 0, "user", "exec", to={}), ["wrong user has a token and nothing else"], id="a program"
        ),
        pytest.param(
            changed("users", 0, "user", "token", to=""), ["wrong user has a token and nothing else"], id="empty"
        ),
        pytest.param(
            changed("clusters", 0, "cluster", "insecure-skip-tls-verify", to=True),
            ["wrong cluster has nothing else"],
            id="insecure",
        ),
    ],
)
def test_shape_problems(config, problems):
    assert shape_problems(config, "cluster1", server=SERVER, ca=CA) == problems


async def test_gpu_scores_are_those_of_cluster_and_node_alike(story):
    def score(name: str, node: int, cluster: int) -> dict:
        values = [{"name": "gpuNodeAvailable", "value": node}, {"name": "gpuClusterAvailable", "value": cluster}]
        return AddOnPlacementScore.manifest("resource-usage-score", name, status={"scores": values})

    story.hub.add(score("cluster1", -100, -100), score("cluster2", -70, -80))
    await settle()

    assert gpu_scores(story.run) == {"cluster1": -100, "cluster2": None, "cluster3": None}


def managed_cluster(name: str) -> dict:
    return ManagedCluster.manifest(name, labels={CLUSTER_SET_LABEL: "spoke"}, spec={})


def binding(namespace: str, *conditions: dict) -> dict:
    status = {"conditions": [*conditions]}
    return ManagedClusterSetBinding.manifest("spoke", namespace, spec={"clusterSet": "spoke"}, status=status)


def profile(name: str, namespace: str, manager: str = MANAGER) -> dict:
    spec = {"displayName": name, "clusterManager": {"name": manager}}
    return ClusterProfile.manifest(name, namespace, labels={MANAGER_LABEL: manager}, spec=spec)


async def test_profiles_are_wanted_where_a_set_is_bound(story):
    story.hub.add(
        ManagedClusterSet.manifest("spoke", spec={}),
        managed_cluster("cluster1"),
        managed_cluster("cluster2"),
        ManagedCluster.manifest("elsewhere", spec={}),
        binding("ns", condition("Bound")),
        binding("team-a", condition("Bound", False)),
    )
    await settle()

    assert bound(story.run) == {"ns": ["cluster1", "cluster2"]}


async def test_only_profiles_that_ocm_keeps_count(story):
    story.hub.add(profile("cluster2", "ns"), profile("cluster1", "ns"), profile("cluster1", "team-a", "somebody"))
    await settle()

    assert profiles(story.run) == {"ns": ["cluster1", "cluster2"]}


async def test_who_names_no_authority_is_known_by_the_one_of_its_pods(story):
    worker = story.apis["cluster1"]
    worker.add(ConfigMap.manifest("kube-root-ca.crt", "default", data={"ca.crt": "authority"}))

    assert await own_authority(story.run, "cluster1") == CA
