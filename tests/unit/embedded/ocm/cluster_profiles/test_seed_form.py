"""Profiles in the walkthroughs' form say which secret holds the credential."""

import pytest

from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.hub_apis import discover
from fleetqueue.embedded.ocm.cluster_profiles.profiles import profile_manifest
from fleetqueue.embedded.ocm.cluster_profiles.seed_form import with_credentials
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.testing.virtual_time import advance

ENTRY = {
    "consumer": "kueue-admin",
    "accessRef": {"kind": "Secret", "name": "kueue-admin-c1-kubeconfig", "namespace": "kueue-system"},
}


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
@pytest.mark.fleet(workers=0, parts=False)
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
