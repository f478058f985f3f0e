"""Find, create, number, adopt and delete ControllerRevisions: noted until the cache shows it."""

from fleetqueue.api import errors
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kubernetes.adoption import Adoption
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision, age
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.own_writes import OwnWrites


class RevisionControl:
    """The revisions of the objects of one kind."""

    def __init__(self, cluster: Cluster, owners: Resource) -> None:
        self.cluster = cluster
        self.index = f"{owners.kind}-revisions"
        informer = cluster.informer(ControllerRevision)
        informer.store.add_index(self.index, keys_of_owner(owners))
        self.writes = OwnWrites(informer.store)
        self._adoption = Adoption(cluster, ControllerRevision, self.writes)

    def subscribe(self) -> None:
        self.cluster.informer(ControllerRevision).subscribe(self.writes.seen)

    def of(self, owner: Object) -> list[ControllerRevision]:
        """Return the revisions of an object, the oldest first."""
        found = self.cluster.by_index(ControllerRevision, self.index, owner.key)
        return sorted((one for one in found if owner_uid(one) == owner.uid), key=age)

    async def adopt(self, owner: Object, selector: LabelSelector) -> bool:
        """Take over revisions that nobody answers for; return whether there were any."""
        return await self._adoption.settle(owner, selector, ())

    async def create(self, owner: Object, manifest: Manifest) -> ControllerRevision | None:
        """Create a revision; the one that is there will do where it keeps the same, and None says that it does not."""
        name = manifest["metadata"]["name"]
        self.writes.creating(owner.key, name, owner.namespace)
        try:
            return ControllerRevision.view(await self.cluster.client.create(ControllerRevision.resource, manifest))
        except errors.AlreadyExists:
            self.writes.forget(name, owner.namespace)
            there = await self.cluster.client.get(ControllerRevision.resource, name, owner.namespace)
            found = ControllerRevision.view(there)
            return found if found.data == manifest["data"] else None
        except errors.ApiError:
            self.writes.forget(name, owner.namespace)
            raise

    async def renumber(self, owner: Object, revision: ControllerRevision, number: int) -> ControllerRevision:
        """Give a revision, whose template has come back, a new number."""
        patch = {"metadata": revision.precondition, "revision": number}
        answer = await self.cluster.client.merge(revision.resource, revision.name, revision.namespace, patch)
        self.writes.wrote(owner.key, answer)
        return ControllerRevision.view(answer)

    async def delete(self, owner: Object, revision: ControllerRevision) -> None:
        if revision.is_deleting:
            return
        self.writes.deleting(owner.key, revision)
        await self.cluster.client.delete_seen(revision)
