"""What a hub serves, and what is said where it does not serve enough."""

import pytest

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.controllers.processes.capabilities import OLD_LIMIT, NotInstalled, detect, listed_clusters
from tests.unit.unserved_kinds import lack

from .conftest import crd


async def test_a_hub_with_everything_is_enough(installed):
    capabilities = await detect(Client(installed))

    assert capabilities.listed_clusters == 20
    assert capabilities.limit == "a MultiKueueConfig may list 20 clusters"
    assert not capabilities.credentials.managed_accounts


async def test_without_kueue_the_error_says_what_to_install(api):
    api.fail_on(f"GET /apis/{kueue.Workload.resource.api_version}", errors.NotFound("no such group"))

    with pytest.raises(
        NotInstalled, match=r"does not serve .*workloads\.kueue\.x-k8s\.io.*install Kueue 0\.15 or newer"
    ):
        await detect(Client(api))


async def test_without_ocm_the_error_says_what_to_install(api):
    lack(api, cluster.Placement, cluster.PlacementDecision)

    with pytest.raises(NotInstalled, match=r"does not serve placements.*install Open Cluster Management"):
        await detect(Client(api))


async def test_a_forbidden_crd_means_the_limit_that_every_kueue_takes(installed):
    installed.fail_on("get customresourcedefinitions/*", errors.Forbidden("no"))

    capabilities = await detect(Client(installed))

    assert capabilities.listed_clusters == OLD_LIMIT
    assert capabilities.limit == "this kubeconfig may not read how many clusters a MultiKueueConfig may list"


@pytest.mark.parametrize(
    ("limit", "clusters"),
    [
        pytest.param(20, 20, id="Kueue 0.16 and newer"),
        pytest.param(10, 10, id="older"),
        pytest.param(None, OLD_LIMIT, id="the schema does not say"),
    ],
)
def test_the_limit_is_read_from_the_crd(limit, clusters):
    assert listed_clusters(crd(limit)["spec"]) == clusters


def test_a_crd_without_our_version_has_the_old_limit():
    assert listed_clusters({"versions": [{"name": "v1beta1"}]}) == OLD_LIMIT
