"""Start and stop jobs."""

from typing import Final

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.meta import Object, precondition_of, replacement
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Integration, StillActive, StopCause
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, Flavor, FlavorMissing, of_admission, of_pod_sets
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder
from fleetqueue.runtime.logs import Log

PATIENCE: Final = 0.5
"""Seconds until a job that could not be restored is looked at again, unless it changes before."""
LOOK_AGAIN: Final = 5.0
"""Seconds until a job is looked at again that pods are left of. That they go wakes us: this only guards against a watch
that broke."""
STEPS: Final = 4
"""Writes that stopping a job takes at the most; more would mean that the server does not do what it says."""

log = Log("kueue")


class JobWrites:
    def __init__(self, hub: Cluster, integration: Integration, events: Recorder) -> None:
        self.hub = hub
        self.integration = integration
        self.events = events
        self._written: dict[str, int] = {}
        """The versions that we wrote of jobs, by their uids, until the cache shows them."""

    def is_behind(self, job: Manifest) -> bool:
        """Tell whether a cached job is older than what we wrote: it may run, and look as if it did not."""
        metadata = job["metadata"]
        if int(metadata["resourceVersion"]) >= self._written.get(metadata["uid"], 0):
            self._written.pop(metadata["uid"], None)
            return False
        return True

    def forget(self, uid: str) -> None:
        """Stop waiting for what was written of a job that has gone."""
        self._written.pop(uid, None)

    async def annotate(self, job: Manifest) -> Manifest:
        """Note on a job what its kind made of it; return it as it is then."""
        return await self._write(job, self.integration.annotated(job))

    async def start(self, job: Manifest, workload: Manifest) -> str:
        """Let a job run with what its Workload was given; return why it never can, or nothing."""
        try:
            wanted = self.integration.started(job, of_admission(workload, flavors_of(self.hub)))
        except CannotStart as error:
            return str(error)
        except FlavorMissing as error:
            raise errors.NotFound(str(error)) from None
        await self._write(job, wanted)
        queue = workload["status"]["admission"]["clusterQueue"]
        await self.say(job, "Started", f"Admitted by clusterQueue {queue}")
        return ""

    async def stop(self, job: Manifest, workload: Manifest | None, cause: StopCause) -> Manifest:
        """Stop a job and make it as it was before it was started; return it as it is then."""
        infos = of_pod_sets(workload) if workload is not None else []
        was_running, has_ended, is_active = not self.integration.is_suspended(job), False, False
        for _ in range(STEPS):
            try:
                step = self.integration.next_stop(job, infos)
                if step is None:
                    break
                job, has_ended = await self._write(job, step.wanted, step.subresource), step.ends
            except StillActive:
                is_active = True
                break
            except errors.Invalid as error:
                # Until its controller has noticed that it is suspended, a Job may refuse to be restored.
                raise errors.RetryLater(PATIENCE, str(error)) from None
        if is_active:
            raise errors.RetryLater(LOOK_AGAIN, "jobs are still active")
        if was_running or has_ended:
            await self.say(job, "Stopped", cause.message)
        return job

    async def suspend_child(self, job: Manifest) -> None:
        job = await self._write(job, self.integration.suspended(job))
        await self.say(job, "Suspended", "Kueue managed child job suspended")

    async def delete(self, job: Manifest, why: str) -> None:
        metadata = job["metadata"]
        resource = self.integration.kind.resource
        await self.hub.client.delete(resource, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        await self.say(job, "Deleted", why)

    async def finalize(self, job: Manifest) -> None:
        """Do nothing: nothing of Kueue's holds a job."""

    def view(self, job: Manifest) -> Object:
        return self.integration.kind.view(job)

    async def say(self, job: Manifest, reason: str, note: str) -> None:
        view = self.view(job)
        log.info("job changed", kind=view.resource.kind, job=view.key, reason=reason, why=note)
        await self.events.normal(view, reason, note)

    async def _write(self, job: Manifest, wanted: Manifest, subresource: str = "") -> Manifest:
        patch = replacement(job, wanted)
        if not patch:
            return job
        metadata = job["metadata"]
        patch["metadata"] = {**patch.get("metadata", {}), **precondition_of(metadata)}
        answer = await self.hub.client.merge(
            self.integration.kind.resource, metadata["name"], metadata["namespace"], patch, subresource=subresource
        )
        self._written[metadata["uid"]] = int(answer["metadata"]["resourceVersion"])
        return answer


def flavors_of(cluster: Cluster) -> Flavor:
    """Return what finds the ResourceFlavors of a cluster."""
    return cluster.informer(kueue.ResourceFlavor).store.raw
