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


async def add_pod(env, name="pod", tolerations=(), node="node"):
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "x"}], "tolerations": list(tolerations)}
    await env.add(core.Pod, name, spec=spec)
    await settle()


async def is_leaving(env, name="pod"):
    return "deletionTimestamp" in (await env.get(core.Pod, name))["metadata"]


async def test_a_pod_leaves_at_once_and_says_why(env):
    await env.add(core.Node, "node")
    await add_pod(env)
    async with env.running(TaintEvictionController):
        await env.change(core.Node, "node", spec={"taints": [EVICT]})
        await settle()

        found = await env.get(core.Pod, "pod")
        assert "deletionTimestamp" in found["metadata"]
        (condition,) = found["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "DeletionByTaintManager")
        assert condition["observedGeneration"] == 1
        assert await env.events("TaintManagerEviction") == ["Marking for deletion Pod default/pod"]


async def test_a_pod_leaves_when_its_patience_is_over(env):
    await env.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(env, tolerations=[{"key": OWN, "operator": "Exists", "tolerationSeconds": 60, "effect": "NoExecute"}])
    async with env.running(TaintEvictionController):
        await advance(59)
        before = await is_leaving(env)
        await advance(2)

        assert (before, await is_leaving(env)) == (False, True)


async def test_a_taint_that_goes_in_time_is_forgiven(env):
    await env.add(core.Node, "node", spec={"taints": [{**EVICT, "key": LOST}]})
    await add_pod(env)
    async with env.running(TaintEvictionController):
        await advance(200)
        await env.change(core.Node, "node", spec={"taints": None})
        await advance(3600)

        assert not await is_leaving(env)
        assert await env.events("TaintManagerEviction") == ["Cancelling deletion of Pod default/pod"]


async def test_a_pod_that_comes_later_leaves_too(env):
    await env.add(core.Node, "node", spec={"taints": [EVICT]})
    await env.add(core.Node, "other")
    async with env.running(TaintEvictionController):
        await add_pod(env)
        await add_pod(env, "elsewhere", node="other")

        assert (await is_leaving(env), await is_leaving(env, "elsewhere")) == (True, False)


async def test_taints_that_only_keep_pods_out_evict_none(env):
    await env.add(core.Node, "node", spec={"taints": [{**EVICT, "effect": "NoSchedule"}]})
    async with env.running(TaintEvictionController):
        await add_pod(env)
        await advance(3600)

        assert env.writes == []


async def test_a_write_that_fails_is_made_later(env):
    await env.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(env)
    env.fail_once("DELETE")
    async with env.running(TaintEvictionController):
        await advance(1)

        assert await is_leaving(env)


async def test_a_pod_is_deleted_once(env):
    await env.add(core.Node, "node", spec={"taints": [EVICT]})
    await add_pod(env)
    async with env.running(TaintEvictionController) as (evictions,):
        env.writes.clear()
        evictions.wake("node")
        await settle()

        assert env.writes == []
