"""Kueue's roles for people; tests/real/engine compares all of them with the real ones."""

import pytest

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.systems.kueue_roles import roles
from fleetqueue.fleets.systems.parts import create_all
from fleetqueue.testing.virtual_time import advance

pytestmark = pytest.mark.virtual_time

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
ACCOUNT = "system:serviceaccount:default:somebody"


@pytest.fixture
async def client():
    async with EmbeddedFleet.open(0) as fleet:
        client = fleet.hub.client()
        await create_all(client, roles())
        await client.create(ServiceAccount.resource, ServiceAccount.manifest("somebody", "default"))
        await advance(5)
        yield client


async def bind(client, role):
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subjects = [{"kind": "ServiceAccount", "name": "somebody", "namespace": "default"}]
    await client.create(ClusterRoleBinding.resource, ClusterRoleBinding.manifest("b", roleRef=ref, subjects=subjects))


async def may(client, verb, resource, group="kueue.x-k8s.io"):
    attributes = {"verb": verb, "group": group, "resource": resource}
    spec = {"user": ACCOUNT, "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return (await client.post(REVIEWS, review))["status"]["allowed"]


@pytest.mark.parametrize(
    ("role", "verb", "resource", "allowed"),
    [
        ("kueue-batch-admin-role", "update", "clusterqueues", True),
        ("kueue-batch-admin-role", "create", "localqueues", True),
        ("kueue-batch-user-role", "update", "clusterqueues", False),
        ("kueue-batch-user-role", "get", "localqueues", True),
        ("kueue-batch-user-role", "create", "localqueues", False),
        ("kueue-clusterqueue-viewer-role", "watch", "clusterqueues", True),
        ("kueue-clusterqueue-viewer-role", "patch", "clusterqueues", False),
        ("view", "list", "workloads", True),
        ("view", "list", "clusterqueues", False),
        ("admin", "list", "clusterqueues", True),
    ],
)
async def test_who_may_what(client, role, verb, resource, allowed):
    await bind(client, role)

    assert await may(client, verb, resource) is allowed


async def test_users_of_queues_may_make_jobs(client):
    await bind(client, "kueue-batch-user-role")

    assert await may(client, "create", "jobs", "batch")
    assert await may(client, "create", "trainjobs", "trainer.kubeflow.org")


async def test_the_roles_for_people_collect_the_rights_of_the_others(client):
    found = await client.get(ClusterRole.resource, "kueue-batch-admin-role")

    assert {resource for line in found["rules"] for resource in line["resources"]} >= {"cohorts", "rayservices"}
