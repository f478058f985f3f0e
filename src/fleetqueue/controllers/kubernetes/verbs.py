"""Verbs of the API that only these controllers need: replace a part of an object, delete a whole collection."""

from collections.abc import Mapping
from typing import Any

from fleetqueue.api import errors
from fleetqueue.api.requests import Request
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client


async def replace(client: Client, resource: Resource, manifest: Manifest, subresource: str = "") -> Any:
    """PUT an object, or the part of it that a subresource is; with a resourceVersion, only that version."""
    metadata = manifest["metadata"]
    path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
    return await _send(client, "PUT", path, manifest)


async def delete_all(client: Client, resource: Resource, namespace: str) -> Any:
    """Delete everything of a kind in a namespace, each object with its own grace."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    return await _send(client, "DELETE", resource.path(namespace), options)


async def _send(client: Client, method: str, path: str, body: Mapping[str, Any]) -> Any:
    request = Request(method, path, {}, body)
    response = await client.door.request(request, timeout=client.timeout)
    client.observe(request, response.status)
    if response.status >= 400:
        raise errors.from_status(response.status, response.body)
    return response.body
