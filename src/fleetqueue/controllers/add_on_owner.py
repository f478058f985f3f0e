"""What an agent makes on the hub goes when the add-on goes that brought the agent."""

from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.meta import owner_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client


async def owned_by_add_on(hub: Client, add_on: str, manifest: Manifest) -> Manifest:
    """Return an object with an add-on of its namespace as the owner; as it is where no add-on is named."""
    if not add_on:
        return manifest
    kind = ManagedClusterAddOn.resource
    found = await hub.get(kind, add_on, manifest["metadata"]["namespace"])
    owner = owner_reference(kind, add_on, found["metadata"]["uid"])
    return {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
