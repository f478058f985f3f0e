"""What story 2 asks: the one way that a profile names into its cluster."""

import pytest

from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.demo.story2 import has_one_way_in
from fleetqueue.testing.virtual_time import settle

OURS, OTHERS = ({"name": name, "cluster": {"server": "https://there"}} for name in ("fleetqueue", "other"))


def profile(*providers: dict) -> dict:
    spec = {"displayName": "cluster1", "clusterManager": {"name": "open-cluster-management"}}
    return ClusterProfile.manifest("cluster1", KUEUE_NAMESPACE, spec=spec, status={"accessProviders": [*providers]})


@pytest.mark.parametrize(
    ("providers", "is_one"),
    [
        pytest.param((OURS,), True, id="ours alone"),
        pytest.param((), False, id="none"),
        pytest.param((OTHERS,), False, id="somebody else's"),
        pytest.param((OURS, OTHERS), False, id="a second one"),
    ],
)
async def test_has_one_way_in(story, providers, is_one):
    story.hub.add(profile(*providers))
    await settle()

    assert has_one_way_in(story.run, "cluster1") is is_one


async def test_without_a_profile_there_is_no_way_in(story):
    assert not has_one_way_in(story.run, "cluster1")
