"""Make and delete the pods of an owner: noted until the cache shows it, and said in an event."""

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kubernetes.own_writes import OwnWrites
from fleetqueue.embedded.kubernetes.pods import Pod
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.events import Recorder


class PodChanges:
    def __init__(self, cluster: Cluster, events: Recorder) -> None:
        self.cluster = cluster
        self.events = events
        self.writes = OwnWrites(cluster.informer(Pod).store)

    async def create(self, owner: Object, manifest: Manifest) -> None:
        name = manifest["metadata"]["name"]
        self.writes.creating(owner.key, name, owner.namespace)
        try:
            await self.cluster.client.create(Pod.resource, manifest)
        except errors.ApiError as error:
            self.writes.forget(name, owner.namespace)
            if _is_of_ending_namespace(error):
                return  # nothing will be made there any more
            await self.events.warning(owner, "FailedCreate", f"Error creating: {error}")
            raise
        await self.events.normal(owner, "SuccessfulCreate", f"Created pod: {name}")

    async def delete(self, owner: Object, pod: Pod) -> None:
        """Delete a pod that its owner no longer wants; one that has gone already will do."""
        self.writes.deleting(owner.key, pod)
        try:
            await self.cluster.client.delete(pod.resource, pod.name, pod.namespace, uid=pod.uid)
        except errors.NotFound:
            return
        except (errors.ApiError, errors.Unreachable) as error:
            self.writes.forget(pod.name, pod.namespace)
            await self.events.warning(owner, "FailedDelete", f"Error deleting: {error}")
            raise
        await self.events.normal(owner, "SuccessfulDelete", f"Deleted pod: {pod.name}")


def _is_of_ending_namespace(error: errors.ApiError) -> bool:
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.details.get("causes") or ())
