"""Accepted clusters are let in, denied ones are shut out, and others' mistakes are repaired."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ACCEPTED, CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding, RoleBinding
from fleetqueue.embedded.ocm.registration.hub.managed_clusters import ManagedClusterController
from fleetqueue.embedded.ocm.registration.hub.permissions import ROLE, SHARED, SharedRoleController
from fleetqueue.embedded.ocm.registration.names import AUTO_ACCEPTED, RBAC_FINALIZER
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.testing.virtual_time import advance, settle
from tests.unit.embedded.ocm.registration.objects import cluster_manifest

NAMES = [f"{ROLE}c", f"{ROLE}c:registration", f"{ROLE}c:work"]


def rights(env):
    """Return the names of all that was given to the cluster."""
    kinds = (ClusterRole, ClusterRoleBinding, RoleBinding)
    found = {each.name for kind in kinds for each in env.api.list(kind) if each.name.startswith(f"{ROLE}c")}
    return sorted(found)


async def run(env, **settings):
    return await env.run(ManagedClusterController, settings=RegistrationHubSettings(**settings))


def working(env, **settings):
    return env.working(ManagedClusterController, settings=RegistrationHubSettings(**settings))


async def test_a_cluster_that_is_let_in_has_all_that_it_needs(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))

    await run(env, labels={"team": "a"})

    assert env.said(ACCEPTED).is_true
    assert env.cluster().metadata.finalizers == (RBAC_FINALIZER,)
    assert env.api.get(Namespace, "c").metadata.labels[CLUSTER_NAME_LABEL] == "c"
    assert env.api.get(Namespace, "c").metadata.labels["team"] == "a"
    assert rights(env) == NAMES


async def test_the_second_look_writes_nothing(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    await run(env)

    assert await run(env) == []


async def test_a_namespace_that_is_there_becomes_the_clusters(env):
    env.api.add(Namespace.manifest("c", labels={"mine": "yes"}), cluster_manifest("c", hubAcceptsClient=True))

    await run(env)

    labels = env.api.get(Namespace, "c").metadata.labels
    assert (labels["mine"], labels[CLUSTER_NAME_LABEL]) == ("yes", "c")


async def test_a_right_that_somebody_takes_is_given_again(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))

    async with working(env):
        await env.client().delete(RoleBinding.resource, NAMES[1], "c")
        await settle()

    assert rights(env) == NAMES


async def test_what_cannot_be_given_is_told_and_tried_again(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    env.api.fail_on("create rolebindings/*", errors.Forbidden("not yours to give"))

    async with working(env):
        first = env.said(ACCEPTED)
        env.api.heal()
        await advance(1)

    assert (first.status, first.reason, first.message) == ("False", "Error", "not yours to give\nnot yours to give")
    assert env.said(ACCEPTED).is_true


async def test_a_write_that_fails_halfway_is_caught_up(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    env.api.fail_on("patch managedclusters/c/status", errors.Unreachable("cut"), times=1)

    async with working(env):
        await advance(1)

    assert env.said(ACCEPTED).is_true


async def test_who_is_accepted_by_itself_is_marked(env):
    env.api.add(cluster_manifest("c"))

    await run(env, auto_accept=True)

    assert env.cluster().spec.hub_accepts_client
    assert AUTO_ACCEPTED in env.cluster().metadata.annotations


async def test_who_is_marked_is_not_accepted_again(env):
    env.api.add(cluster_manifest("c", annotations={AUTO_ACCEPTED: "2026-01-01T00:00:00Z"}))

    assert await run(env, auto_accept=True) == []


async def test_a_denied_cluster_keeps_a_smaller_role_alone(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    async with working(env):
        env.api.change(ManagedCluster, "c", spec={"hubAcceptsClient": False})
        await settle()

    assert not env.said(ACCEPTED).is_true
    assert rights(env) == [f"{ROLE}c"]
    assert await run(env) == []


async def test_a_deleted_cluster_leaves_no_rights(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    async with working(env):
        env.api.remove(ManagedCluster, "c")
        await settle()

    assert env.cluster() is None
    assert rights(env) == []


async def test_the_finalizer_stays_while_a_right_cannot_be_taken(env):
    env.api.add(cluster_manifest("c", hubAcceptsClient=True))
    async with working(env):
        env.api.fail_on("delete clusterroles/*", errors.ServerError("no leader"))
        env.api.remove(ManagedCluster, "c")
        await advance(5)
        held = env.cluster()
        env.api.heal()
        await advance(60)

    assert held.metadata.finalizers == (RBAC_FINALIZER,)
    assert env.cluster() is None


@pytest.mark.parametrize("clusters", [1, 0])
async def test_shared_roles_are_there_while_there_is_a_cluster(env, clusters):
    env.api.add(cluster_manifest("c"))
    settings = RegistrationHubSettings()

    async with env.working(SharedRoleController, settings=settings):
        if not clusters:
            env.api.remove(ManagedCluster, "c")
            await settle()

    found = [each.name for each in env.api.list(ClusterRole) if each.name in SHARED]
    assert found == (list(SHARED) if clusters else [])
