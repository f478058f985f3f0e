"""Put systems on an embedded cluster: their kinds first, then what runs."""

from collections.abc import Iterable
from contextlib import suppress

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.apiserver.registry.kinds import definition_schemas
from fleetqueue.fleets.systems.part import Part
from fleetqueue.lab.concurrent_steps import together
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real.cluster_api import collection_path


async def install_kinds(client: Client, *systems: str) -> None:
    """Make the custom kinds of systems. Their schemas are ours, and tests look at them: no server needs to."""
    for system in systems:
        for definition in crds(system):
            definition_schemas.trust(definition)
    await together(*(_create(client, definition) for system in systems for definition in crds(system)))


async def install(client: Client, *parts: Part) -> None:
    """Let parts run."""
    for part in parts:
        await create_all(client, part.manifests())


async def create_all(client: Client, manifests: Iterable[Manifest]) -> None:
    """Create objects one after the other; those that are there stay as they are."""
    for manifest in manifests:
        await _create(client, manifest)


async def _create(client: Client, manifest: Manifest) -> None:
    with suppress(errors.AlreadyExists):
        await client.post(collection_path(manifest), manifest)
