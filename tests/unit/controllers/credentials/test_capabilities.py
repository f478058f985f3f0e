"""What the hub serves decides where credentials come from."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.admin_kubeconfigs import AdminKubeconfigs
from fleetqueue.controllers.credentials.capabilities import Capabilities, discover
from fleetqueue.controllers.credentials.managed_accounts import ManagedAccounts
from fleetqueue.runtime.metrics import Metrics

MSA = "GET /apis/authentication.open-cluster-management.io/v1beta1"
PERMISSION = "GET /apis/rbac.open-cluster-management.io/v1alpha1"
PROFILE = "GET /apis/multicluster.x-k8s.io/v1alpha1"


def serve(api, path, *plurals):
    api.answers[path] = {"resources": [{"name": plural} for plural in plurals]}


def add_profile_crd(api, *fields):
    status = {"properties": {field: {} for field in fields}}
    schema = {"openAPIV3Schema": {"properties": {"status": status}}}
    versions = [{"name": "v1alpha1", "schema": schema}]
    name = "clusterprofiles.multicluster.x-k8s.io"
    api.add(CustomResourceDefinition.manifest(name, spec={"versions": versions}))
    serve(api, PROFILE, "clusterprofiles")


async def test_bare_hub_has_nothing(api):
    assert await discover(Client(api)) == Capabilities()


@pytest.mark.parametrize(
    ("served", "found"),
    [
        pytest.param([MSA], False, id="only accounts"),
        pytest.param([PERMISSION], False, id="only permissions"),
        pytest.param([MSA, PERMISSION], True, id="both"),
    ],
)
async def test_managed_accounts_need_both_apis(api, served, found):
    for path in served:
        serve(api, path, "managedserviceaccounts" if path == MSA else "clusterpermissions")

    assert (await discover(Client(api))).managed_accounts is found


async def test_only_fields_that_the_crd_knows_are_filled(api):
    add_profile_crd(api, "conditions", "accessProviders")

    assert (await discover(Client(api))).profile_fields == {"accessProviders"}


async def test_profiles_are_left_alone_where_their_schema_may_not_be_read(api):
    add_profile_crd(api, "accessProviders")
    api.fail_on("get customresourcedefinitions/*", errors.Forbidden("no"))

    assert (await discover(Client(api))).profile_fields == frozenset()


def test_managed_accounts_come_first_where_they_are_served(world):
    bare = world.controller()
    world.metrics = Metrics()
    (full,) = world.room(capabilities=Capabilities(managed_accounts=True)).controllers

    assert [type(source) for source in bare.sources] == [AdminKubeconfigs]
    assert [type(source) for source in full.sources] == [ManagedAccounts, AdminKubeconfigs]
