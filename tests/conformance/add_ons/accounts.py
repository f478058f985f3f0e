"""Give the ManagedServiceAccounts of a test to upstream's own agent, on a real hub and a real worker."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import yaml

from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Secret, ServiceAccount
from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE, ManagedServiceAccount
from fleetqueue.api.meta import O, Object, controller_reference, key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.lab.processes import Command
from fleetqueue.real.fleet import RealFleet
from fleetqueue.testing.arranged_objects import resource_of
from tests.conformance.add_ons.building import Built
from tests.unit.embedded.ocm.managed_service_accounts import upstream
from tests.unit.embedded.ocm.managed_service_accounts.conftest import CLUSTER

SEEN = (ManagedServiceAccount, Secret, ServiceAccount, Lease)
READY_SECONDS = 60.0
COLLECTED_SECONDS = 120.0
"""The garbage collector looks for new kinds every half minute."""


@dataclass
class Script:
    """What a test does to a cluster, to be done later."""

    client: Client
    doings: list[Callable[[], Awaitable[Any]]] = field(default_factory=list)

    def add(self, *manifests: Manifest) -> None:
        for manifest in manifests:
            self.doings.append(lambda made=manifest: self.client.create(resource_of(made), made))

    def remove(self, kind: type[Object], name: str, namespace: str) -> None:
        self.doings.append(lambda: self.client.delete(kind.resource, name, namespace))

    def change(self, kind: type[Object], name: str, namespace: str, **patch: Any) -> None:
        self.doings.append(lambda: self.client.merge(kind.resource, name, namespace, patch))

    async def act(self) -> None:
        doings, self.doings = self.doings, []
        for doing in doings:
            await doing()


@dataclass(frozen=True)
class Seen:
    """What a cluster has, as a test looks at it."""

    raws: dict[type[Object], dict[str, Manifest]]

    def list(self, kind: type[O]) -> list[O]:
        return [kind.view(raw) for _, raw in sorted(self.raws[kind].items())]

    def raw(self, kind: type[Object], name: str, namespace: str) -> Manifest:
        return self.raws[kind][key_of(namespace, name)]


async def run(folder: Path, built: Built) -> dict[str, Any]:
    """Return what upstream's agent makes of them."""
    async with RealFleet(folder, workers=1, ocm="none", kueue=False) as fleet:
        hub, worker = (connect(load(fleet.clusters[name].kubeconfig)) for name in ("hub", CLUSTER))
        try:
            await _arrange(fleet, hub, worker, built)
            return await _play(Script(hub), Script(worker))
        finally:
            await hub.close()
            await worker.close()


def record(ends: dict[str, Any]) -> None:
    lines = (f"{orjson.dumps(name).decode()}: {orjson.dumps(ends[name]).decode()}" for name in sorted(ends))
    upstream.RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n")


async def _play(hub: Script, worker: Script) -> dict[str, Any]:
    env = SimpleNamespace(hub=hub, worker=worker)
    for play, seconds in ((upstream.begin, 8), (upstream.meddle, 16)):
        play(env)
        await worker.act()
        await hub.act()
        await asyncio.sleep(seconds)
    found: dict[str, Any] = upstream.end_state(
        SimpleNamespace(hub=await _seen(hub.client), worker=await _seen(worker.client))
    )
    return found


async def _seen(client: Client) -> Seen:
    raws: dict[type[Object], dict[str, Manifest]] = {}
    for kind in SEEN:
        with_kind = kind is not ManagedServiceAccount or await _is_served(client)
        items = (await client.list(kind.resource)).items if with_kind else []
        raws[kind] = {key_of(raw["metadata"]["namespace"], raw["metadata"]["name"]): raw for raw in items}
    return Seen(raws)


async def _is_served(client: Client) -> bool:
    groups = (await client.read("/apis"))["groups"]
    return any(group["name"] == ManagedServiceAccount.resource.group for group in groups)


async def _arrange(fleet: RealFleet, hub: Client, worker: Client, built: Built) -> None:
    definitions = [
        yaml.safe_load(path.read_text()) for path in sorted((built.source / "config/crd/bases").glob("*.yaml"))
    ]
    async with fleet.clusters["hub"].api() as api:
        await api.ensure_all(definitions)
        await api.wait_served(definitions)
    await hub.create(Namespace.resource, Namespace.manifest(CLUSTER))
    await worker.create(Namespace.resource, Namespace.manifest(AGENT_NAMESPACE))
    await _orphan(hub)
    await fleet.processes.up(_agent(fleet, built))
    await _none_left(hub, Secret, "default")
    async with asyncio.timeout(READY_SECONDS):
        while not (await worker.list(Lease.resource, AGENT_NAMESPACE)).items:  # noqa: ASYNC110 - it says no more
            await asyncio.sleep(0.2)


async def _orphan(hub: Client) -> None:
    """Leave a secret whose account has gone: it goes when the garbage collector knows the new kind."""
    manifest = ManagedServiceAccount.manifest("gone", "default", spec={"rotation": {}})
    owner = await hub.create(ManagedServiceAccount.resource, manifest)
    orphan = Secret.manifest("orphan", "default")
    reference = controller_reference(ManagedServiceAccount.resource, "gone", owner["metadata"]["uid"])
    orphan["metadata"]["ownerReferences"] = [reference]
    await hub.create(Secret.resource, orphan)
    await hub.delete(ManagedServiceAccount.resource, "gone", "default")


async def _none_left(client: Client, kind: type[Object], namespace: str) -> None:
    async with asyncio.timeout(COLLECTED_SECONDS):
        while (await client.list(kind.resource, namespace)).items:  # noqa: ASYNC110 - nothing tells of it but itself
            await asyncio.sleep(0.5)


def _agent(fleet: RealFleet, built: Built) -> Command:
    hub, worker = fleet.clusters["hub"], fleet.clusters[CLUSTER]
    return Command(
        name=f"{CLUSTER}/managed-serviceaccount",
        arguments=(
            str(built.program),
            "agent",
            f"--kubeconfig={hub.kubeconfig}",
            f"--spoke-kubeconfig={worker.kubeconfig}",
            f"--cluster-name={CLUSTER}",
            "--feature-gates=EphemeralIdentity=true",
            "--lease-health-check=true",
            "--metrics-bind-address=0",
            "--health-probe-bind-address=0",
        ),
        log=worker.folder / "logs" / "managed-serviceaccount.log",
        environ={"NAMESPACE": AGENT_NAMESPACE, "HUB_KUBECONFIG": str(hub.kubeconfig)},
    )
