"""ClusterRoles that are made of others hold the rules of those."""

import pytest

from fleetqueue.embedded.kubernetes.cluster_roles import ClusterRole, ClusterRoleController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}
MADE_OF = {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}


async def rules(env, name="whole"):
    return (await env.get(ClusterRole, name)).get("rules")


async def part(env, name, rule):
    await env.add(ClusterRole, name, labels={"part": "yes"}, rules=[rule])


async def test_a_role_holds_the_rules_of_its_parts_by_name(env):
    await env.add(ClusterRole, "whole", aggregationRule=MADE_OF, rules=[])
    await part(env, "b", PODS)
    await part(env, "a", JOBS)
    await part(env, "c", JOBS)
    await env.add(ClusterRole, "other", rules=[{**PODS, "verbs": ["*"]}])

    async with env.running(ClusterRoleController):
        assert await rules(env) == [JOBS, PODS]


async def test_it_follows_its_parts(env):
    await env.add(ClusterRole, "whole", aggregationRule=MADE_OF)

    async with env.running(ClusterRoleController):
        await part(env, "a", PODS)
        await settle()
        assert await rules(env) == [PODS]
        await env.change(ClusterRole, "a", rules=[JOBS])
        await settle()
        assert await rules(env) == [JOBS]
        await env.delete(ClusterRole, "a")
        await settle()

        assert await rules(env) in ([], None)


async def test_a_second_look_writes_nothing(env):
    await env.add(ClusterRole, "whole", aggregationRule=MADE_OF)
    await part(env, "a", PODS)

    async with env.running(ClusterRoleController) as (controller,):
        env.writes.clear()
        controller.wake("whole")
        await settle()

        assert env.writes == []


async def test_a_write_that_fails_is_tried_again(env):
    await env.add(ClusterRole, "whole", aggregationRule=MADE_OF)

    async with env.running(ClusterRoleController):
        env.fail_once("PATCH")
        await part(env, "a", PODS)
        await advance(1)

        assert await rules(env) == [PODS]


async def test_roles_that_are_not_made_of_others_are_left_alone(env):
    await part(env, "a", PODS)

    async with env.running(ClusterRoleController):
        assert not [line for line in env.writes if line.endswith("/a")]
