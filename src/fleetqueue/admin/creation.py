"""The few writes that a person asks for through the command line, where nothing is cached."""

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client


async def created(client: Client, kind: type[Object], manifest: Manifest) -> bool:
    """Create an object; False where one of its name is there, which is left as it is."""
    try:
        await client.create(kind.resource, manifest)
    except errors.AlreadyExists:
        return False
    return True


async def ensure_namespace(client: Client, name: str) -> bool:
    """Make a namespace; False where it is there."""
    return await created(client, Namespace, Namespace.manifest(name))
