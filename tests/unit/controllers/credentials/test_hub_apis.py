"""What the hub serves decides where credentials come from."""

import pytest

from fleetqueue.api import errors
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.admin_kubeconfigs import AdminKubeconfigs
from fleetqueue.controllers.credentials.hub_apis import CredentialApis, discover
from fleetqueue.controllers.credentials.managed_accounts import ManagedAccounts
from fleetqueue.runtime.metrics import Metrics

MSA = "GET /apis/authentication.open-cluster-management.io/v1beta1"
PERMISSION = "GET /apis/rbac.open-cluster-management.io/v1alpha1"
PROFILE = "GET /apis/multicluster.x-k8s.io/v1alpha1"


def lack(api, *paths):
    """Make a hub that does not serve some groups."""
    for path in paths:
        api.fail_on(path, errors.NotFound("the server could not find the requested resource"))


async def test_bare_hub_has_nothing(api):
    lack(api, MSA, PERMISSION, PROFILE)

    assert await discover(Client(api)) == CredentialApis()


@pytest.mark.parametrize(
    ("served", "is_served"),
    [
        pytest.param([MSA], False, id="only accounts"),
        pytest.param([PERMISSION], False, id="only permissions"),
        pytest.param([MSA, PERMISSION], True, id="both"),
    ],
)
async def test_managed_accounts_need_both_apis(api, served, is_served):
    lack(api, *{MSA, PERMISSION}.difference(served))

    assert (await discover(Client(api))).managed_accounts is is_served


async def test_only_fields_that_the_crd_knows_are_filled(api):
    assert (await discover(Client(api))).profile_fields == {"accessProviders"}


async def test_profiles_are_left_alone_where_their_schema_may_not_be_read(api):
    api.fail_on("get customresourcedefinitions/*", errors.Forbidden("no"))

    assert (await discover(Client(api))).profile_fields == frozenset()


def test_managed_accounts_come_first_where_they_are_served(world):
    bare = world.controller()
    world.metrics = Metrics()
    (full,) = world.room(capabilities=CredentialApis(managed_accounts=True)).controllers

    assert [type(source) for source in bare.sources] == [AdminKubeconfigs]
    assert [type(source) for source in full.sources] == [ManagedAccounts, AdminKubeconfigs]
