"""What the inventory's ClusterProfile says about how to reach a cluster."""

import base64

import pytest

from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.controllers.credentials.cluster_profiles import with_ours
from fleetqueue.controllers.credentials.hub_apis import CredentialApis
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

PROXY = {"name": "open-cluster-management", "cluster": {"server": "https://proxy/c1", "tls-server-name": "x"}}
CONDITIONS = [condition("Joined", since="2025-12-31T23:00:00Z")]
SPEC = {"clusterManager": {"name": "open-cluster-management"}}


def at_work(world, fields=("accessProviders",)):
    room = world.room(capabilities=CredentialApis(profile_fields=frozenset(fields)))
    return managed(Manager(world.hub, room.controllers))


def add_profile(world, **status):
    world.add_cluster("c1")
    world.select("c1")
    world.api.add(ClusterProfile.manifest("c1", "kueue-system", spec=SPEC, status={"conditions": CONDITIONS, **status}))


def status_of(world):
    return world.api.raw(ClusterProfile, "c1", "kueue-system")["status"]


async def test_profile_says_where_the_cluster_is_and_which_secret_opens_it(world):
    add_profile(world)

    async with at_work(world):
        await settle()

        plugin = {"name": "kueue-admin-c1-kubeconfig", "key": "kubeconfig", "namespace": "kueue-system"}
        assert status_of(world)["accessProviders"] == [
            {
                "name": "fleetqueue",
                "cluster": {
                    "server": "https://c1.example:6443",
                    "certificate-authority-data": base64.b64encode(b"admin's CA").decode(),
                    "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": plugin}],
                },
            }
        ]


def serve_the_profile_of_the_seeds(api):
    """Let the hub have the older kind, whose status has credentials."""
    definition = api.raw(CustomResourceDefinition, str(ClusterProfile.resource))
    (version,) = definition["spec"]["versions"]
    credential = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]
    status["properties"]["credentials"] = {"type": "array", "items": credential}
    api.change(CustomResourceDefinition, str(ClusterProfile.resource), spec={"versions": [version]})


@pytest.mark.embedded_only("a real server would have the changed CRD for all tests that follow")
@pytest.mark.checklist("ENV-6")
async def test_profile_of_the_seeds_has_one_credential_for_kueue(world):
    serve_the_profile_of_the_seeds(world.api)
    add_profile(world)

    async with at_work(world, fields=["credentials"]):
        await settle()

        reference = {"kind": "Secret", "name": "kueue-admin-c1-kubeconfig", "namespace": "kueue-system"}
        assert status_of(world) == {
            "conditions": CONDITIONS,
            "credentials": [{"consumer": "kueue-admin", "accessRef": reference}],
        }


async def test_entries_of_others_stay_as_they_are(world):
    add_profile(world, accessProviders=[PROXY])

    async with at_work(world):
        await settle()
        assert [entry["name"] for entry in status_of(world)["accessProviders"]] == [PROXY["name"], "fleetqueue"]
        world.api.remove(Secret, "c1-admin", "fleetqueue-system")
        world.api.remove(Secret, "kueue-admin-c1-kubeconfig", "kueue-system")
        await settle()

        assert status_of(world)["accessProviders"] == [PROXY]
        assert status_of(world)["conditions"] == CONDITIONS


async def test_renewed_token_changes_nothing_in_the_profile(world):
    add_profile(world)

    async with at_work(world):
        await settle()
        world.api.writes.clear()
        await advance(20 * 3600)

        assert not [write for write in world.api.writes if "clusterprofiles" in write]


async def test_entry_that_somebody_changed_is_put_right(world):
    add_profile(world)

    async with at_work(world):
        await settle()
        before = status_of(world)
        wrong = [{"name": "fleetqueue", "cluster": {"server": "https://elsewhere"}}]
        world.api.change(ClusterProfile, "c1", "kueue-system", status={"accessProviders": wrong})
        await settle()

        assert status_of(world) == before


async def test_conflict_is_decided_again(world):
    add_profile(world)
    world.api.fail_on("patch clusterprofiles/*", errors.Conflict("stale"), times=2)

    async with at_work(world):
        await advance(5)

        assert [entry["name"] for entry in status_of(world)["accessProviders"]] == ["fleetqueue"]


async def test_profile_of_an_unknown_cluster_is_left_alone(world):
    world.api.add(ClusterProfile.manifest("other", "kueue-system", spec=SPEC, status={"accessProviders": [PROXY]}))

    async with at_work(world):
        await settle()

    assert world.api.writes == []


@pytest.mark.parametrize(
    ("live", "ours", "wanted"),
    [
        pytest.param([], None, [], id="nothing there, nothing wanted"),
        pytest.param([], {"name": "us"}, [{"name": "us"}], id="new"),
        pytest.param([{"name": "a"}], {"name": "us"}, [{"name": "a"}, {"name": "us"}], id="after the others"),
        pytest.param(
            [{"name": "us", "old": 1}, {"name": "a"}],
            {"name": "us"},
            [{"name": "us"}, {"name": "a"}],
            id="in place",
        ),
        pytest.param([{"name": "us"}, {"name": "a"}], None, [{"name": "a"}], id="removed"),
    ],
)
def test_with_ours(live, ours, wanted):
    assert with_ours(live, "name", "us", ours) == wanted
