"""The profiles that people look at say which secret holds the credential, as the walkthroughs' OCM had it."""

import pytest

from fleetqueue.api import core_v1 as core
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.hub_apis import discover
from fleetqueue.embedded.ocm.cluster_profiles.profiles import profile_manifest
from fleetqueue.embedded.ocm.cluster_profiles.seed_credentials import (
    SeedCredentialsController,
    with_credentials,
    with_entry,
)
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

KUEUE = "kueue-system"
SECRET = "kueue-admin-c1-kubeconfig"
ENTRY = {"consumer": "kueue-admin", "accessRef": {"kind": "Secret", "name": SECRET, "namespace": KUEUE}}
HERE_ONLY = pytest.mark.embedded_only("a real server would have the changed CRD for all tests that follow")
OTHER = {"consumer": "somebody", "accessRef": {"kind": "Secret", "name": "theirs", "namespace": "default"}}


@pytest.mark.parametrize(
    ("live", "secret", "wanted"),
    [
        pytest.param([], SECRET, [ENTRY], id="the first"),
        pytest.param([ENTRY], SECRET, [ENTRY], id="as it is"),
        pytest.param([OTHER], SECRET, [OTHER, ENTRY], id="beside somebody else's"),
        pytest.param([ENTRY, OTHER], "", [OTHER], id="the secret is gone"),
        pytest.param([], "", [], id="there was none"),
    ],
)
def test_with_entry(live, secret, wanted):
    assert with_entry(live, secret) == wanted


@pytest.fixture
async def profiles(api):
    """Return what the profiles of c1 say, by namespace; there are one for people and one for Kueue."""
    [definition] = crds("cluster-inventory")
    versions = with_credentials(definition)["spec"]["versions"]
    api.change(CustomResourceDefinition, definition["metadata"]["name"], spec={"versions": versions})
    await advance(1)
    api.add(profile_manifest("c1", "default"), profile_manifest("c1", KUEUE))
    return lambda: {each.namespace: list(each.status.credentials) for each in api.list(ClusterProfile)}


def at_work(hub):
    return managed(Manager(hub, [SeedCredentialsController(hub, Metrics())]))


@HERE_ONLY
@pytest.mark.checklist("ENV-6")
async def test_a_profile_names_the_secret_while_there_is_one(api, hub, profiles):
    async with at_work(hub):
        await settle()
        assert profiles()["default"] == []
        api.add(core.secret(SECRET, KUEUE, {"kubeconfig": "x"}))
        await settle()
        assert profiles()["default"] == [ENTRY]
        api.remove(core.Secret, SECRET, KUEUE)
        await settle()

        assert profiles()["default"] == []


@HERE_ONLY
async def test_the_profiles_of_kueues_namespace_are_left_to_who_writes_the_secrets(api, hub, profiles):
    api.add(core.secret(SECRET, KUEUE, {"kubeconfig": "x"}))

    async with at_work(hub):
        await settle()

        assert profiles() == {"default": [ENTRY], KUEUE: []}


@HERE_ONLY
async def test_a_profile_of_another_manager_is_left_alone(api, hub, profiles):
    api.add(core.secret(SECRET, KUEUE, {"kubeconfig": "x"}))
    api.change(ClusterProfile, "c1", "default", metadata={"labels": {"x-k8s.io/cluster-manager": "somebody"}})

    async with at_work(hub):
        await settle()

        assert profiles()["default"] == []


def definition():
    [found] = [each for each in crds("cluster-inventory") if each["spec"]["names"]["kind"] == "ClusterProfile"]
    return found


def test_nothing_else_of_the_definition_changes():
    before = definition()

    after = with_credentials(before)

    assert "credentials" not in before["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    for version, changed in zip(before["spec"]["versions"], after["spec"]["versions"], strict=True):
        old, new = (each["schema"]["openAPIV3Schema"]["properties"]["status"] for each in (version, changed))
        assert {**old["properties"], "credentials": new["properties"]["credentials"]} == new["properties"]
        assert {**changed, "schema": version["schema"]} == version


@pytest.mark.checklist("ENV-6")
@pytest.mark.fleet(workers=0, scenario="api")
async def test_who_fills_profiles_finds_the_field_and_the_server_keeps_it(fleet):
    client = Client(fleet.hub)
    name = definition()["metadata"]["name"]
    patch = {"spec": {"versions": with_credentials(definition())["spec"]["versions"]}}
    assert (await discover(client)).profile_fields == {"accessProviders"}

    await client.merge(CustomResourceDefinition.resource, name, "", patch)
    await advance(1)
    fleet.hub.add(profile_manifest("c1", "kueue-system"))
    fleet.hub.change(ClusterProfile, "c1", "kueue-system", status={"credentials": [ENTRY]})

    assert (await discover(client)).profile_fields == {"accessProviders", "credentials"}
    assert fleet.hub.raw(ClusterProfile, "c1", "kueue-system")["status"]["credentials"] == [ENTRY]
