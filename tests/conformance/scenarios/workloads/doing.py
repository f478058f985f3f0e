"""Do what a scenario says.

A scenario has `steps`, each a round: `put` are objects to be there (made, or changed by a merge, their status as a part
of its own), `gone` names objects to be deleted (`Pod db-0`; `StatefulSet db orphan` leaves what belongs to it). `$P`
stands for what the names of the scenario begin with; what has a namespace is in that of the scenario. `wait` is how
many seconds then pass. `-5m` as `lastScheduleTime` is a moment before now.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import orjson

from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Node, Pod
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.cron_job_objects import CronJob
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet
from fleetqueue.embedded.kubernetes.stateful_set_claims import PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet

from ..running import dated  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252

KINDS: dict[str, type[Object]] = {
    kind.resource.kind: kind
    for kind in (StatefulSet, DaemonSet, CronJob, Job, Pod, PersistentVolumeClaim, ControllerRevision, Node)
}


class Actor:
    """One scenario on its way."""

    def __init__(self, client: Client, described: Described, prefix: str) -> None:
        self.client = client
        self.name: str = described["name"]
        self.prefix = prefix
        self.namespace = f"{prefix}ns"
        self.steps = orjson.loads(orjson.dumps(described["steps"]).decode().replace("$P", prefix))

    def wait(self, number: int) -> float:
        return float(self.steps[number].get("wait", 0)) if number < len(self.steps) else 0.0

    async def prepare(self) -> None:
        await self.client.create(Namespace.resource, Namespace.manifest(self.namespace))

    async def act(self, number: int) -> None:
        """Do one step, if there are so many."""
        if number >= len(self.steps):
            return
        step = self.steps[number]
        for manifest in step.get("put") or ():
            await self._put(dated(manifest))
        await self._delete(step.get("gone") or ())

    async def _put(self, manifest: Manifest) -> None:
        resource = KINDS[manifest["kind"]].resource
        namespace = self.namespace if resource.namespaced else ""
        metadata = {**manifest["metadata"], **({"namespace": namespace} if namespace else {})}
        body = {"apiVersion": resource.api_version, **manifest, "metadata": metadata}
        status = body.pop("status", None)
        if await self.client.find(resource, metadata["name"], namespace) is None:
            await self.client.create(resource, body)
        else:
            await self.client.merge(resource, metadata["name"], namespace, body)
        if status is not None:
            patch = {"status": status}
            await self.client.merge(resource, metadata["name"], namespace, patch, subresource="status")

    async def _delete(self, gone: Iterable[str]) -> None:
        for words in gone:
            kind, name, *how = words.split()
            resource = KINDS[kind].resource
            options: dict[str, Any] = {"propagation": how[0].capitalize()} if how else {}
            with suppress(errors.NotFound):
                await self.client.delete(resource, name, self.namespace if resource.namespaced else "", **options)
