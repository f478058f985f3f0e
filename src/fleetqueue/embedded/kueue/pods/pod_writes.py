"""Write pods: let them run, end them, let go of them. What was written is not judged before the cache shows it."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import TRUE, timestamp
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.kueue_pods import MANAGED, TERMINATION_TARGET, is_deleting
from fleetqueue.api.meta import Object, precondition_of, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import StopCause
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo
from fleetqueue.embedded.kueue.pods.single_pods import started
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log

KUEUE: Final = "kueue"
"""The field manager of what a pod is told when it is ended."""
QUEUES: Final = (kueue.LocalQueue, kueue.ClusterQueue, kueue.AdmissionCheck)
"""What is read to know whether MultiKueue may send a Workload."""

UNSURE_SECONDS: Final = 1.0
"""How long a write without an answer may take to show in the cache; after that it has not happened."""

log = Log("kueue")


class PodWrites:
    def __init__(self, hub: Cluster, events: Recorder) -> None:
        self.hub = hub
        self.events = events
        self._written: dict[str, int] = {}
        """The versions that we wrote of pods, by their uids, until the cache shows them."""
        self._unsure: dict[str, tuple[int, float]] = {}
        """Of pods whose write got no answer, by their uids: the version before it, and when that was."""
        self._deleted: set[str] = set()
        """The uids of pods that we deleted and the cache does not show so yet."""

    def is_behind(self, pods: Iterable[Manifest]) -> bool:
        """Tell whether cached pods are older than what we wrote."""
        return any([self._is_behind(pod) for pod in pods])

    def _is_behind(self, pod: Manifest) -> bool:
        metadata = pod["metadata"]
        uid = metadata["uid"]
        if is_deleting(pod):
            self._deleted.discard(uid)
        version = int(metadata["resourceVersion"])
        if version >= self._written.get(uid, 0):
            self._written.pop(uid, None)
        if uid in self._unsure:
            before, since = self._unsure[uid]
            if version > before or clock.monotonic() - since >= UNSURE_SECONDS:
                del self._unsure[uid]
        return uid in self._written or uid in self._unsure or uid in self._deleted

    def forget_gone(self, old: Object | None, new: Object | None) -> None:
        """Stop waiting for what was written of a pod that has gone."""
        if old is not None and (new is None or new.uid != old.uid):
            self._written.pop(old.uid, None)
            self._unsure.pop(old.uid, None)
            self._deleted.discard(old.uid)

    async def ungate(self, pod: Manifest, info: PodSetInfo, note: str) -> None:
        """Let a pod run with what its set was given; raises CannotStart."""
        await self.change(pod, started(pod, info))
        await self.say(pod, "Started", note)

    async def end(self, pod: Manifest, cause: StopCause) -> None:
        """Delete a pod, and leave on it why."""
        metadata = pod["metadata"]
        condition = {
            "type": TERMINATION_TARGET,
            "status": TRUE,
            "lastTransitionTime": timestamp(clock.now()),
            "reason": cause.reason,
            "message": cause.message,
        }
        manifest = Pod.manifest(metadata["name"], metadata["namespace"], status={"conditions": [condition]})
        manifest["metadata"]["uid"] = metadata["uid"]
        with suppress(errors.NotFound):
            await self.hub.client.apply(Pod.resource, manifest, subresource="status", manager=KUEUE)
            await self.delete(pod)
        await self.say(pod, "Stopped", cause.message)

    async def delete(self, pod: Manifest) -> None:
        metadata = pod["metadata"]
        await self.hub.client.delete(Pod.resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        self._deleted.add(metadata["uid"])

    async def let_go(self, pod: Manifest) -> None:
        """Take Kueue's finalizer from a pod."""
        finalizers = pod["metadata"].get("finalizers") or []
        if MANAGED in finalizers:
            kept = [finalizer for finalizer in finalizers if finalizer != MANAGED]
            with suppress(errors.NotFound):
                await self.change(pod, {**pod, "metadata": _with_finalizers(pod["metadata"], kept)})

    async def change(self, pod: Manifest, wanted: Manifest) -> None:
        """Make what is wanted of the very pod that was seen."""
        patch = replacement(pod, wanted)
        if not patch:
            return
        metadata = pod["metadata"]
        patch["metadata"] = {**patch.get("metadata", {}), **precondition_of(metadata)}
        try:
            answer = await self.hub.client.merge(Pod.resource, metadata["name"], metadata["namespace"], patch)
        except errors.Unreachable:
            self._unsure[metadata["uid"]] = int(metadata["resourceVersion"]), clock.monotonic()
            raise
        self._written[metadata["uid"]] = int(answer["metadata"]["resourceVersion"])

    async def say(self, pod: Manifest, reason: str, note: str) -> None:
        view = Pod.view(pod)
        log.info("pod changed", pod=view.key, reason=reason, why=note)
        await self.events.normal(view, reason, note)


def runs_elsewhere(hub: Cluster, workload: Manifest) -> bool:
    """Tell whether MultiKueue sends a Workload: then its pods here stay at the gate."""
    states = (workload.get("status") or {}).get("admissionChecks") or ()
    checks = (hub.get(kueue.AdmissionCheck, state["name"]) for state in states)
    return any(check is not None and check.is_multikueue for check in checks)


def runs_only_here(hub: Cluster, workload: Manifest | None) -> bool:
    """Tell whether MultiKueue will never send a Workload: its queue is known, and so are all checks that it may get."""
    if workload is None:
        return False
    queue = hub.get(kueue.LocalQueue, workload["spec"].get("queueName", ""), workload["metadata"]["namespace"])
    target = hub.get(kueue.ClusterQueue, queue.spec.cluster_queue) if queue is not None else None
    if target is None or runs_elsewhere(hub, workload):
        return False
    checks = [hub.get(kueue.AdmissionCheck, name) for name in target.checks]
    return all(check is not None and not check.is_multikueue for check in checks)


def _with_finalizers(metadata: Manifest, finalizers: list[str]) -> Manifest:
    rest = {field: value for field, value in metadata.items() if field != "finalizers"}
    return {**rest, "finalizers": finalizers} if finalizers else rest
