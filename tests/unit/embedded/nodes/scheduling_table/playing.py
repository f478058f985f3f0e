"""Play the cases on any cluster, one after the other since a message counts all nodes, and write down what is said."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from tests.unit.embedded.nodes.scheduling_table.cases import ANode, Case

NAMESPACE = "default"
STEADY = 0.5
"""Seconds after which what is said counts as the last word."""
PATIENCE = 15.0


async def play(client: Client, cases: Sequence[Case]) -> dict[str, Any]:
    for node in (await client.list(core.Node.resource)).items:
        await client.delete(core.Node.resource, node["metadata"]["name"])
    return {case.name: await _play(client, case) for case in cases}


async def _play(client: Client, case: Case) -> Manifest:
    for node in case.nodes:
        await _add_node(client, node)
    for node, requests in case.running.items():
        await client.create(core.Pod.resource, pod(f"on-{node}", requests, nodeName=node))
    await asyncio.sleep(STEADY)
    await client.create(core.Pod.resource, pod(case.name, case.requests, **case.pod))
    found = await _steady(client, case.name)
    events = [event for event in (await client.list(Event.resource, NAMESPACE)).items if _is_about(event, case.name)]
    await _clear(client, case)
    conditions = {one["type"]: one for one in found.get("status", {}).get("conditions") or ()}
    scheduled = conditions.get("PodScheduled") or {}
    return {
        "node": found["spec"].get("nodeName", ""),
        "scheduled": {
            field: scheduled.get(field, "") for field in ("status", "reason", "message", "observedGeneration")
        },
        "events": sorted({_event(event) for event in events}),
    }


def pod(name: str, requests: Mapping[str, str], **spec: Any) -> Manifest:
    limits = {resource: amount for resource, amount in requests.items() if "/" in resource}
    container = {
        "name": "main",
        "image": "example.com/work",
        "resources": {"requests": dict(requests), "limits": limits},
    }
    return core.Pod.manifest(name, NAMESPACE, spec={"containers": [container], **spec})


async def _add_node(client: Client, node: ANode) -> None:
    manifest = core.Node.manifest(node.name, labels=dict(node.labels), spec=node.spec)
    await client.create(core.Node.resource, manifest)
    amounts = {"capacity": dict(node.allocatable), "allocatable": dict(node.allocatable)}
    await client.merge(core.Node.resource, node.name, "", {"status": amounts}, subresource="status")


async def _steady(client: Client, name: str) -> Manifest:
    """Return the pod once nothing is said of its node any more."""
    before: Any = None
    deadline = clock.monotonic() + PATIENCE
    while True:
        await asyncio.sleep(STEADY)
        found = await client.get(core.Pod.resource, name, NAMESPACE)
        said = found["spec"].get("nodeName"), found.get("status", {}).get("conditions")
        if said == before:
            return found
        before = said
        assert clock.monotonic() < deadline, f"{name} does not come to rest"


async def _clear(client: Client, case: Case) -> None:
    for name in (case.name, *(f"on-{node}" for node in case.running)):
        with suppress(errors.NotFound):
            await client.delete(core.Pod.resource, name, NAMESPACE, grace=0)
    for node in case.nodes:
        await client.delete(core.Node.resource, node.name)


def _is_about(event: Manifest, name: str) -> bool:
    return (event["regarding"]["kind"], event["regarding"]["name"]) == ("Pod", name)


def _event(event: Manifest) -> str:
    kept = ("type", "reason", "action", "reportingController", "note")
    return " | ".join(event.get(field, "") for field in kept)
