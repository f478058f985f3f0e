"""Clusters that are not well are tainted, and others' taints stay."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import AVAILABLE, UNAVAILABLE_TAINT, UNREACHABLE_TAINT, ManagedCluster
from fleetqueue.embedded.ocm.registration.hub.taints import TaintController, wanted_taints
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.unit.embedded.ocm.registration.objects import cluster_manifest

UNREACHABLE = {"key": UNREACHABLE_TAINT, "effect": "NoSelect"}
UNAVAILABLE = {"key": UNAVAILABLE_TAINT, "effect": "NoSelect"}
DATED = {**UNREACHABLE, "timeAdded": "2026-01-01T00:00:00Z"}
OTHER = {"key": "gpu", "value": "yes", "effect": "NoSelect"}
SOFT = {**UNREACHABLE, "effect": "PreferNoSelect"}


@pytest.mark.parametrize(
    ("live", "available", "wanted"),
    [
        pytest.param([], "", [UNREACHABLE], id="never heard"),
        pytest.param([], "Unknown", [UNREACHABLE], id="silent"),
        pytest.param([], "False", [UNAVAILABLE], id="not well"),
        pytest.param([], "True", [], id="well"),
        pytest.param([UNREACHABLE], "True", [], id="well again"),
        pytest.param([UNREACHABLE], "False", [UNAVAILABLE], id="heard, and not well"),
        pytest.param([UNAVAILABLE], "Unknown", [UNREACHABLE], id="not well, and then silent"),
        pytest.param([OTHER, UNREACHABLE], "True", [OTHER], id="a taint of others stays"),
        pytest.param([DATED], "Unknown", [DATED], id="when it was added does not matter"),
        pytest.param([SOFT], "True", [SOFT], id="with another effect it is somebody's"),
        pytest.param([SOFT], "Unknown", [SOFT, UNREACHABLE], id="and does not count"),
    ],
)
def test_wanted_taints(live, available, wanted):
    assert wanted_taints(live, available) == wanted


async def test_the_second_look_writes_nothing(env):
    env.api.add(cluster_manifest("c"))

    first = await env.run(TaintController)
    second = await env.run(TaintController)

    assert first == ["patch managedclusters/c"]
    assert second == []


async def test_a_change_of_the_condition_wakes(env):
    env.api.add(cluster_manifest("c"))

    async with env.working(TaintController):
        env.api.change(ManagedCluster, "c", status={"conditions": [condition(AVAILABLE)]})
        await settle()

    assert env.cluster().spec.taints == ()


async def test_a_failed_write_is_tried_again(env):
    env.api.add(cluster_manifest("c"))
    env.api.fail_on("patch managedclusters/c", errors.ServerError("no leader"), times=1)

    async with env.working(TaintController):
        await advance(1)

    assert [taint.key for taint in env.cluster().spec.taints] == [UNREACHABLE_TAINT]


async def test_a_cluster_that_goes_is_left_alone(env):
    deleted = cluster_manifest("c", finalizers=["example.com/held"])
    deleted["metadata"]["deletionTimestamp"] = "now"
    env.api.add(deleted)

    assert await env.run(TaintController) == []
