"""Pods that have to leave a node for its taints, at once or after the time for which they tolerate them."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api.taints import Taint, Toleration
from fleetqueue.embedded.kubernetes.taint_evictions import TaintEvictionController, eviction_time
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN, LOST = "example.com/own", "node.kubernetes.io/unreachable"
EVICT = {"key": OWN, "effect": "NoExecute"}


def tolerating(key=OWN, seconds=None, operator="Exists"):
    return Toleration(key=key, operator=operator, effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("tolerations", "keys", "seconds"),
    [
        pytest.param([], [], None, id="no taint"),
        pytest.param([], [OWN], 0, id="not tolerated"),
        pytest.param([tolerating()], [OWN], None, id="tolerated for ever"),
        pytest.param([tolerating(seconds=30)], [OWN], 30, id="tolerated for a time"),
        pytest.param([tolerating(seconds=-1)], [OWN], 0, id="tolerated for less than no time"),
        pytest.param([tolerating(seconds=30), tolerating("", 10)], [OWN], 10, id="the shorter of two"),
        pytest.param([tolerating()], [OWN, "other"], 0, id="one of two taints"),
        pytest.param([tolerating("other")], [OWN], 0, id="another key"),
        pytest.param([], [LOST], 300, id="a lost node, as the API server lets every pod tolerate it"),
        pytest.param([tolerating(LOST, 5)], [LOST], 5, id="a lost node, by its own word"),
    ],
)
def test_eviction_time(tolerations, keys, seconds):
    taints = [(Taint(key=key, effect="NoExecute"), NOW) for key in keys]

    expected = None if seconds is None else NOW + timedelta(seconds=seconds)

    assert eviction_time(tolerations, taints) == expected


async def add_pod(scene, name="pod", tolerations=(), node="node"):
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "x"}], "tolerations": list(tolerations)}
    await scene.add(core.Pod, name, spec=spec)
    await settle()


async def is_leaving(scene, name="pod"):
    return "deletionTimestamp" in (await scene.get(core.Pod, name))["metadata"]


async def test_a_pod_leaves_at_once_and_says_why(scene):
    await scene.add(core.Node, "node")
    await add_pod(scene)
    async with scene.running(TaintEvictionController):
        await scene.change(core.Node, "node", spec={"taints": [EVICT]})
        await settle()

        found = await scene.get(core.Pod, "pod")
        assert "deletionTimestamp" in found["metadata"]
        (condition,) = found["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByTaintManager")
        assert condition["observedGeneration"] == 1
        assert await scene.events("TaintManagerEviction") == ["Marking for deletion Pod default/pod"]


async def test_a_pod_leaves_when_its_patience_is_over(scene):
    await scene.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(
        scene, tolerations=[{"key": OWN, "operator": "Exists", "tolerationSeconds": 60, "effect": "NoExecute"}]
    )
    async with scene.running(TaintEvictionController):
        await advance(59)
        before = await is_leaving(scene)
        await advance(2)

        assert (before, await is_leaving(scene)) == (False, True)


async def test_a_taint_that_goes_in_time_is_forgiven(scene):
    await scene.add(core.Node, "node", spec={"taints": [{**EVICT, "key": LOST}]})
    await add_pod(scene)
    async with scene.running(TaintEvictionController):
        await advance(200)
        await scene.change(core.Node, "node", spec={"taints": None})
        await advance(3600)

        assert not await is_leaving(scene)
        assert await scene.events("TaintManagerEviction") == ["Cancelling deletion of Pod default/pod"]


async def test_a_pod_that_comes_later_leaves_too(scene):
    await scene.add(core.Node, "node", spec={"taints": [EVICT]})
    await scene.add(core.Node, "other")
    async with scene.running(TaintEvictionController):
        await add_pod(scene)
        await add_pod(scene, "elsewhere", node="other")

        assert (await is_leaving(scene), await is_leaving(scene, "elsewhere")) == (True, False)


async def test_taints_that_only_keep_pods_out_evict_none(scene):
    await scene.add(core.Node, "node", spec={"taints": [{**EVICT, "effect": "NoSchedule"}]})
    async with scene.running(TaintEvictionController):
        await add_pod(scene)
        await advance(3600)

        assert scene.writes == []


async def test_a_write_that_fails_is_made_later(scene):
    await scene.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(scene)
    scene.fail_once("DELETE")
    async with scene.running(TaintEvictionController):
        await advance(1)

        assert await is_leaving(scene)


async def test_a_pod_is_deleted_once(scene):
    await scene.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(scene)
    async with scene.running(TaintEvictionController) as (evictions,):
        scene.writes.clear()
        evictions.wake("node")
        await settle()

        assert scene.writes == []
