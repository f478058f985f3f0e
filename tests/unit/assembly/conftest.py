"""A hub that serves Kueue and Open Cluster Management, or not, as far as discovery goes."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.api.meta import Object
from fleetqueue.api.requests import Request
from fleetqueue.testing.arranged_api import ArrangedApi


def lack(api: ArrangedApi, *kinds: type[Object]) -> None:
    """Let an API not serve some kinds, as far as discovery goes, until `api.answers.clear()`."""
    for version in {kind.resource.api_version for kind in kinds}:
        missing = {kind.resource.plural for kind in kinds if kind.resource.api_version == version}
        listed = api.server.ask(Request("GET", f"/apis/{version}")).body["resources"]
        left = [entry for entry in listed if entry["name"] not in missing]
        api.answers[f"GET /apis/{version}"] = {"resources": left}


def crd(limit: int | None) -> dict[str, object]:
    """The CRD of MultiKueueConfig, as far as the limit of its clusters goes."""
    clusters = {"type": "array"} if limit is None else {"type": "array", "maxItems": limit}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"clusters": clusters}}}}}
    versions = [{"name": "v1beta1"}, {"name": kueue.VERSION, "schema": schema}]
    return CustomResourceDefinition.manifest(str(kueue.MultiKueueConfig.resource), spec={"versions": versions})


@pytest.fixture
async def installed(api: ArrangedApi) -> ArrangedApi:
    """The hub with everything on it that our controller needs, and no more."""
    lack(api, ManagedServiceAccount, ClusterPermission, ClusterProfile)
    return api
