"""The job above another one is found by its owner, and waited for where the cache does not show it yet."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.apps_v1 import ReplicaSet
from fleetqueue.api.job_kinds import RayService
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.runtime.cluster import Cluster

pytestmark = pytest.mark.virtual_time


def below(kind):
    owner = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "name": "o", "uid": "u"}
    return {"metadata": {"namespace": "ns", "name": "j", "ownerReferences": [{**owner, "controller": True}]}}


@pytest.fixture
def ancestors(world):
    """Look into a cache that shows nothing yet."""
    return Ancestors(Cluster("hub", world.client), [RayService], (), without_queue=False)


async def test_a_job_is_not_the_uppermost_one_because_the_cache_is_late(ancestors):
    with pytest.raises(errors.NotFound, match="workload owner not found: RayService o"):
        ancestors.of(below(RayService))


async def test_an_owner_of_another_kind_is_nobody_to_wait_for(ancestors):
    assert ancestors.of(below(ReplicaSet)) is None
