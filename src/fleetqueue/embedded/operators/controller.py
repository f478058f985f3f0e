"""Run the jobs of one kind: make what they need, say how they are, and take away what they need no more.

Reads:   the jobs, and what was made for them; a job once more before something is made for it
Writes:  what they need (create, patch, delete), the jobs' status, Events; deletes jobs whose time to live is over

All that kinds differ in is data and a pure plan.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.events_v1 import NORMAL
from fleetqueue.api.job_kinds import JobKind
from fleetqueue.api.meta import Object, key_of, precondition_of, split_key
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.plan import OperatorPlan, Patch, Seen
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.informer import Informer
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.own_writes import OwnWrites
from fleetqueue.runtime.statuses import write_status

LAG_SECONDS: Final = 1.0
"""The change that we wait for wakes us; this only guards against a watch that broke."""

log = Log("operators")


@dataclass(frozen=True, slots=True)
class ChildKind:
    """A kind of object that is made for jobs."""

    kind: type[Object]
    label: str
    """The label that names its job."""
    follows_all: bool = False
    """Whether all of the kind are followed, since they are jobs themselves, and not only those with the label."""

    def job_of(self, child: Object) -> Iterable[str]:
        name = child.metadata.labels.get(self.label)
        return (key_of(child.namespace, name),) if name else ()

    @property
    def selector(self) -> str:
        return "" if self.follows_all else self.label


@dataclass(frozen=True, slots=True)
class OperatedKind:
    job_kind: JobKind
    component: str
    """Who says what is said in Events."""
    children: tuple[ChildKind, ...]
    """Those that make others come before what they make."""
    plan: Callable[[Seen], OperatorPlan]


class OperatorController(Controller):
    def __init__(self, hub: Cluster, metrics: Metrics, operated: OperatedKind) -> None:
        super().__init__(hub, metrics)
        self.name = operated.job_kind.kind.resource.plural
        self.operated = operated
        self.kind = operated.job_kind.kind
        self.events = CountingRecorder(hub.client, operated.component)
        self.jobs = hub.informer(self.kind)
        self._children: dict[str, tuple[ChildKind, Informer[Any]]] = {}
        for child in operated.children:
            informer = hub.informer(child.kind, labels=child.selector)
            informer.store.add_index(child.label, child.job_of)
            self._children[child.kind.resource.kind] = child, informer
        self._job_writes = OwnWrites(self.jobs.store)
        self._writes = {kind: OwnWrites(informer.store) for kind, (_, informer) in self._children.items()}

    def watches(self) -> Iterable[Watch[Any]]:
        yield Watch(self.kind, by_key)
        for child in self.operated.children:
            yield Watch(child.kind, child.job_of, labels=child.selector)

    def subscribe(self) -> None:
        self.jobs.subscribe(self._job_writes.seen)  # first, so that who is woken finds it settled
        for kind, (_, informer) in self._children.items():
            informer.subscribe(self._writes[kind].seen)
        super().subscribe()

    async def reconcile(self, key: str) -> None:
        if any(writes.are_unseen(key) for writes in (self._job_writes, *self._writes.values())):
            raise errors.RetryLater(LAG_SECONDS, "the cache does not show our own writes yet")
        job, view = self.jobs.store.raw(key), self.jobs.store.get(key)
        if job is None or view is None or view.is_deleting or not self.operated.job_kind.is_for_own_controller(job):
            return
        plan = self.operated.plan(Seen(job, self._made_for(view), clock.now(), clock.suffix))
        if plan.create and not await self._is_there(view):
            return
        await self._act(view, plan)
        await self._tell(view, job, plan)
        if plan.deletes_itself:
            namespace, name = split_key(key)
            await self.hub.client.delete(self.kind.resource, name, namespace, uid=view.uid)
        elif plan.again_in is not None:
            raise errors.RetryLater(plan.again_in, "time changes something then")

    def _made_for(self, job: Object) -> Mapping[str, Sequence[Manifest]]:
        """Return what was made for this very job, and for what was made for it."""
        owners, found = {job.uid}, {}
        for kind, (child, informer) in self._children.items():
            store, head = informer.store, {"apiVersion": child.kind.resource.api_version, "kind": kind}
            views = [view for view in store.by_index(child.label, job.key) if _owner(view) in owners]
            found[kind] = [head | (store.raw(view.key) or {}) for view in views]  # lists leave out what kind it is
            owners |= {view.uid for view in views}
        return found

    async def _is_there(self, job: Object) -> bool:
        """Ask for the very job: what is made for one that has gone is deleted at once, and would be made again."""
        live = await self.hub.client.find(self.kind.resource, job.name, job.namespace)
        return live is not None and live["metadata"]["uid"] == job.uid

    async def _act(self, job: Object, plan: OperatorPlan) -> None:
        for child in plan.delete:
            await self._delete(job, child)
        for manifest in plan.create:
            await self._create(job, manifest)
        for child, patches in plan.change:
            await self._change(job, child, patches)

    async def _create(self, job: Object, manifest: Manifest) -> None:
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        child, _ = self._children[kind]
        self._writes[kind].creating(job.key, name, job.namespace)
        try:
            await self.hub.client.create(child.kind.resource, manifest)
        except errors.ApiError as error:
            self._writes[kind].forget(name, job.namespace)
            await self.events.warning(job, f"FailedCreate{kind}", f"Error creating: {error}")
            raise
        log.info("made for a job", job=job.key, kind=kind, name=name)

    async def _delete(self, job: Object, child: Manifest) -> None:
        """Delete what a job needs no more; that it has gone already will do."""
        kind, metadata = child["kind"], child["metadata"]
        child_kind, _ = self._children[kind]
        self._writes[kind].deleting(job.key, child_kind.kind.view(child))
        try:
            await self.hub.client.delete(
                child_kind.kind.resource, metadata["name"], metadata["namespace"], uid=metadata["uid"]
            )
        except errors.NotFound:
            return
        except (errors.ApiError, errors.Unreachable):
            self._writes[kind].forget(metadata["name"], metadata["namespace"])
            raise

    async def _change(self, job: Object, child: Manifest, patches: Sequence[Patch]) -> None:
        child_kind, _ = self._children[child["kind"]]
        metadata = child["metadata"]
        for patch in patches:
            answer = await self.hub.client.merge(
                child_kind.kind.resource,
                metadata["name"],
                metadata["namespace"],
                {"metadata": precondition_of(metadata), **patch.fields},
                subresource=patch.subresource,
            )
            metadata = answer["metadata"]
            self._writes[child["kind"]].wrote(job.key, answer)

    async def _tell(self, view: Object, job: Manifest, plan: OperatorPlan) -> None:
        answer = await write_status(self.hub, view, job.get("status") or {}, plan.status)
        if answer is not None:
            self._job_writes.wrote(view.key, answer)
        for event in plan.says:
            log.info("job changed", job=view.key, kind=self.kind.resource.kind, reason=event.reason)
            say = self.events.normal if event.type == NORMAL else self.events.warning
            await say(view, event.reason, event.note)


def _owner(child: Object) -> str:
    """Return the uid of what made a child."""
    return next((owner.uid for owner in child.metadata.owner_references if owner.controller), "")
