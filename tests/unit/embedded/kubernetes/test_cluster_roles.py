"""ClusterRoles that are made of others hold the rules of those."""

import pytest

from fleetqueue.embedded.kubernetes.cluster_roles import ClusterRole, ClusterRoleController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
JOBS = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]}
MADE_OF = {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]}


async def rules(scene, name="whole"):
    return (await scene.get(ClusterRole, name)).get("rules")


async def part(scene, name, rule):
    await scene.add(ClusterRole, name, labels={"part": "yes"}, rules=[rule])


async def test_a_role_holds_the_rules_of_its_parts_by_name(scene):
    await scene.add(ClusterRole, "whole", aggregationRule=MADE_OF, rules=[])
    await part(scene, "b", PODS)
    await part(scene, "a", JOBS)
    await part(scene, "c", JOBS)
    await scene.add(ClusterRole, "other", rules=[{**PODS, "verbs": ["*"]}])

    async with scene.running(ClusterRoleController):
        assert await rules(scene) == [JOBS, PODS]


async def test_it_follows_its_parts(scene):
    await scene.add(ClusterRole, "whole", aggregationRule=MADE_OF)

    async with scene.running(ClusterRoleController):
        await part(scene, "a", PODS)
        await settle()
        assert await rules(scene) == [PODS]
        await scene.change(ClusterRole, "a", rules=[JOBS])
        await settle()
        assert await rules(scene) == [JOBS]
        await scene.delete(ClusterRole, "a")
        await settle()

        assert await rules(scene) in ([], None)


async def test_a_second_look_writes_nothing(scene):
    await scene.add(ClusterRole, "whole", aggregationRule=MADE_OF)
    await part(scene, "a", PODS)

    async with scene.running(ClusterRoleController) as (controller,):
        scene.writes.clear()
        controller.wake("whole")
        await settle()

        assert scene.writes == []


async def test_a_write_that_fails_is_tried_again(scene):
    await scene.add(ClusterRole, "whole", aggregationRule=MADE_OF)

    async with scene.running(ClusterRoleController):
        scene.fail_once("PATCH")
        await part(scene, "a", PODS)
        await advance(1)

        assert await rules(scene) == [PODS]


async def test_roles_that_are_not_made_of_others_are_left_alone(scene):
    await part(scene, "a", PODS)

    async with scene.running(ClusterRoleController):
        assert not [line for line in scene.writes if line.endswith("/a")]
