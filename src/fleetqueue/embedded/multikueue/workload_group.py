"""One Workload of the hub and all that the workers have of it, as far as we know.

What a worker is known to have may be old; that it may have a job is believed until the contrary is seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition, find
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.multikueue.adapters import Adapter
from fleetqueue.embedded.multikueue.delayed_topologies import placed_sets, waiting_sets
from fleetqueue.embedded.multikueue.names import DEACTIVATION_TARGET
from fleetqueue.rules.workload_slices import ELASTIC_JOB, REPLACED, REPLACES, counts, is_elastic, is_scaled_down


class RemoteCopy(NamedTuple):
    """What one worker has of a Workload."""

    cluster: str
    view: kueue.Workload | None = None
    is_same: bool = True
    """Whether its spec is the hub's."""
    is_same_but_priority: bool = False
    is_larger: bool = False
    """Whether it is a slice that has shrunk on the hub, and not there yet."""
    jobs: tuple[Manifest, ...] = ()
    """What it has of the job: one object, or the pods of a group."""
    has_all: bool = False
    """Whether that is all that it has to have."""
    is_sending: bool = False
    """Whether something was sent there that was not seen yet."""
    is_connected: bool = True
    is_known: bool = True
    """Whether it was ever connected since we started: else nobody knows what it has."""
    lost_for: float = 0.0
    """Seconds for which it has not been connected."""

    @property
    def can_follow(self) -> bool:
        """Whether it asks for what the hub asks for, or can be brought to that while its job runs."""
        return self.is_same or self.is_same_but_priority or self.is_larger

    @property
    def has_job(self) -> bool:
        return bool(self.jobs) or self.is_sending

    @property
    def uids(self) -> set[str]:
        """Those of the objects there: no two workers have one in common."""
        of_job = {job["metadata"]["uid"] for job in self.jobs}
        return of_job | ({self.view.uid} if self.view is not None else set())

    def condition(self, kind: str) -> Condition | None:
        """Return a condition that is true."""
        obj = find(self.view.status.conditions, kind) if self.view is not None else None
        return obj if obj is not None and obj.is_true else None

    @property
    def is_evicted(self) -> bool:
        return self.condition(kueue.EVICTED) is not None


class Siblings(NamedTuple):
    """The other Workloads of the same job: all of them go where the first one went."""

    is_complete: bool
    """Whether all of them are there."""
    is_first: bool
    """Whether this one is the first of them."""
    cluster: str = ""
    """Where others are already."""

    @property
    def leads(self) -> bool:
        """Whether this one may go anywhere."""
        return self.is_complete and self.is_first and not self.cluster


@dataclass(frozen=True, slots=True)
class WorkloadGroup:
    local: kueue.Workload
    check: kueue.CheckState
    """That of MultiKueue."""
    listed: tuple[str, ...] | None
    """The clusters of the check's config, in its order; None where there is no config."""
    copies: Mapping[str, RemoteCopy]
    """By cluster: every one that is listed, and every other one that has anything, or of which nothing is known.

    Of several MultiKueueClusters that are known to lead to one worker, there is one.
    """
    adapter: Adapter
    jobs: tuple[Manifest, ...] = ()
    """The hub's job: one object, or the pods of a group; nothing where it is gone."""
    siblings: Siblings | None = None
    now: datetime = field(kw_only=True)
    lost_timeout: float = 900.0
    is_older: bool = False
    """Whether it was made before we started: then somebody else may have sent it anywhere."""

    @property
    def nominated(self) -> tuple[str, ...]:
        """The clusters that may have it: those that are nominated, of several Workloads of a job only the others'."""
        names = self.local.status.nominated_cluster_names
        if self.is_slice_to_place:
            return (self.local.status.cluster_name,)
        if self.siblings is None or self.siblings.leads:
            return names
        return tuple(name for name in names if name == self.siblings.cluster)

    def lists(self, cluster: str) -> bool:
        """Tell whether a cluster may have it; while there is no config, all stays as it is."""
        return self.listed is None or cluster in self.listed

    @property
    def others_are_ready(self) -> bool:
        others = [check for check in self.local.status.admission_checks if check.name != self.check.name]
        return all(check.state == kueue.READY for check in others)

    @property
    def needs_nothing(self) -> bool:
        """Tell whether no worker may have anything of it."""
        return not self.local.is_live or not self.local.is_true(kueue.QUOTA_RESERVED)

    @property
    def is_left_alone(self) -> bool:
        """Tell whether it is a slice of which others decide: its place was taken, or it waits to take one."""
        if not self.is_elastic:
            return False
        finished = find(self.local.status.conditions, kueue.FINISHED)
        if finished is not None and finished.is_true:
            return finished.reason == REPLACED
        return not self.local.is_true(kueue.QUOTA_RESERVED) and REPLACES in self.local.metadata.annotations

    @property
    def is_elastic(self) -> bool:
        return self.local.metadata.annotations.get(ELASTIC_JOB) == "true"

    @property
    def is_slice_to_place(self) -> bool:
        """Tell whether it is a slice that has to go where the one before it is."""
        return self.is_elastic and bool(self.local.status.cluster_name) and self.check.state == kueue.PENDING

    @property
    def was_evicted(self) -> bool:
        return bool(self.local.status.scheduling_stats.evictions)

    def with_jobs(self) -> list[RemoteCopy]:
        """Return where a job of it is, or may be; who has been lost for too long is given up."""
        return [copy for copy in self.copies.values() if self.may_have_job(copy)]

    def may_have_job(self, copy: RemoteCopy) -> bool:
        if not copy.is_connected and copy.lost_for >= self.lost_timeout:
            return False
        return copy.has_job or (not copy.is_known and self._may_have_been_sent(copy.cluster))

    def may_be_anothers(self, copy: RemoteCopy) -> bool:
        """Tell whether a copy may be that of a cluster which was not seen yet: this worker by another name."""
        others = [other for other in self.copies.values() if other.cluster != copy.cluster and not other.is_known]
        return any(other.cluster in self.local.clusters and other.lost_for < self.lost_timeout for other in others)

    def _may_have_been_sent(self, cluster: str) -> bool:
        """Tell whether an earlier process may have sent the job to a cluster that we have not seen yet."""
        return self.is_older and (cluster in self.local.clusters or self.was_evicted)

    def wait_for(self, copies: Sequence[RemoteCopy]) -> float:
        """Return in how many seconds the first of some lost workers is given up; 0 where none is waited for."""
        return min((self.lost_timeout - copy.lost_for for copy in copies if not copy.is_connected), default=0.0)


def hub_facts(local: kueue.Workload) -> tuple[Any, ...]:
    """Return all of the hub's Workload that a group is decided by."""
    metadata, status = local.metadata, local.status
    asked = metadata.generation, metadata.deletion_timestamp, metadata.owner_references
    where = status.admission_checks, status.cluster_name, status.nominated_cluster_names, status.scheduling_stats
    return asked, where, waiting_sets(local), _said(local, kueue.QUOTA_RESERVED, kueue.EVICTED, kueue.FINISHED)


def copy_facts(view: kueue.Workload) -> tuple[Any, ...]:
    """Return all of a worker's Workload that a group is decided by."""
    conditions = _said(view, kueue.ADMITTED, kueue.EVICTED, kueue.FINISHED, DEACTIVATION_TARGET)
    return view.metadata.generation, view.metadata.deletion_timestamp, placed_sets(view), conditions


def _said(view: kueue.Workload, *kinds: str) -> list[Condition]:
    return [condition for condition in view.status.conditions if condition.type in kinds]


def is_same_spec(local: Manifest, remote: Manifest) -> bool:
    """Tell whether a copy asks for what the hub asks for.

    Gates are each cluster's own. A Workload that is deactivated on the hub is evicted there, which is what stops it.
    """
    if local["spec"] == remote["spec"]:
        return True
    without = ("active",) if local["spec"].get("active") is False else ()
    return bool(_plain(local["spec"], *without) == _plain(remote["spec"], *without))


def is_same_but_priority(local: Manifest, remote: Manifest) -> bool:
    """Tell whether only the priority differs, which may change while a job runs."""
    refs = [(raw["spec"].get("priorityClassRef") or {}).get("kind") for raw in (local, remote)]
    if refs != ["WorkloadPriorityClass", "WorkloadPriorityClass"]:
        return False
    return bool(_plain(local["spec"], *PRIORITY) == _plain(remote["spec"], *PRIORITY))


def is_larger(local: Manifest, remote: Manifest) -> bool:
    """Tell whether a slice has shrunk on the hub."""
    sizes = (counts(raw["spec"].get("podSets") or ()) for raw in (remote, local))
    return is_elastic(local) and is_scaled_down(*sizes)


PRIORITY = ("priority", "priorityClassRef")


def _plain(spec: Manifest, *without: str) -> Any:
    return _without_empty({name: value for name, value in spec.items() if name not in ("preemptionGates", *without)})


def _without_empty(value: Any) -> Any:
    """Drop what is absent in one way or another: Go does not tell those apart."""
    if isinstance(value, dict):
        kept = {name: _without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_without_empty(inner) for inner in value]
    return value
