"""Which of the APIs that we can make use of the hub serves."""

from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.client import Client
from fleetqueue.runtime.logs import Log

PROFILE_FIELDS: Final = frozenset({"accessProviders", "credentials"})

log = Log("credentials")


@dataclass(frozen=True, slots=True)
class CredentialApis:
    managed_accounts: bool = False
    """ManagedServiceAccount and ClusterPermission are both served."""
    profile_fields: frozenset[str] = frozenset()
    """Those fields of a ClusterProfile's status that we fill; empty where the kind is not served."""


async def discover(hub: Client) -> CredentialApis:
    """Ask the hub what it serves."""
    return CredentialApis(
        managed_accounts=await hub.serves(ManagedServiceAccount.resource)
        and await hub.serves(ClusterPermission.resource),
        profile_fields=await _profile_fields(hub) if await hub.serves(ClusterProfile.resource) else frozenset(),
    )


async def _profile_fields(hub: Client) -> frozenset[str]:
    resource = ClusterProfile.resource
    try:
        raw = await hub.get(CustomResourceDefinition.resource, str(resource))
    except errors.Forbidden as error:
        log.warning("profiles are left alone", error=error)
        return frozenset()
    versions = {version["name"]: version for version in raw["spec"].get("versions") or ()}
    return PROFILE_FIELDS & set(_status_fields(versions.get(resource.version, {})))


def _status_fields(version: dict[str, Any]) -> dict[str, Any]:
    schema = version.get("schema", {}).get("openAPIV3Schema", {})
    fields: dict[str, Any] = schema.get("properties", {}).get("status", {}).get("properties", {})
    return fields
