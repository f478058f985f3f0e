"""What is asked about the environment: the form of the kubeconfigs, and the scores."""

import copy

import pytest
import yaml

from fleetqueue.api.cluster_v1 import AddOnPlacementScore
from fleetqueue.assembly.stories.environment import gpu_scores, shape_problems
from fleetqueue.client.kubeconfig import render
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


async def test_gpu_scores_are_those_of_cluster_and_node_alike(scene):
    def score(name: str, node: int, cluster: int) -> dict:
        values = [{"name": "gpuNodeAvailable", "value": node}, {"name": "gpuClusterAvailable", "value": cluster}]
        return AddOnPlacementScore.manifest("resource-usage-score", name, status={"scores": values})

    scene.hub.add(score("cluster1", -100, -100), score("cluster2", -70, -80))
    await settle()

    assert gpu_scores(scene.stage) == {"cluster1": -100, "cluster2": None, "cluster3": None}
