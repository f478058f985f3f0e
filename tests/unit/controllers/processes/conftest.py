"""A hub that serves Kueue and Open Cluster Management, or not, as far as discovery goes."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.testing.arranged_api import ArrangedApi
from tests.unit.unserved_kinds import lack


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
