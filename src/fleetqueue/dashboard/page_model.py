"""What the page shows, as collections of rows, and what has changed of them since the last look.

Handlers of informers only note which rows have to be looked at again; `refresh` looks, and tells which differ. What
concerns all jobs or clusters (a check, a connection, the state of a queue) makes it look at all live ones.
"""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.admin.hub_state import HubState
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, credentials_secret
from fleetqueue.api.meta import O, key_of
from fleetqueue.api.quantity import add
from fleetqueue.api.usage_scores import SCORE_RESOURCE
from fleetqueue.dashboard.fleet_rows import cluster_row, members_by_cluster
from fleetqueue.dashboard.held_amounts import HeldAmounts
from fleetqueue.dashboard.job_rows import job_row
from fleetqueue.dashboard.kinds import DatedWorkload, SecretLabel, ShownEvent, SlimJob
from fleetqueue.dashboard.queue_rows import cluster_queue_row, local_queue_row
from fleetqueue.dashboard.rows import Row
from fleetqueue.dashboard.score_history import ScoreHistory
from fleetqueue.dashboard.watched_hub import WatchedHub

CLUSTERS, QUEUES, LOCAL_QUEUES, JOBS, EVENTS = "clusters", "queues", "localQueues", "jobs", "events"
PIECE: Final = 100
"""After how many rows others have a turn: a row takes some 20 µs."""


class PageModel:
    def __init__(self, hub: WatchedHub, *, kueue_namespace: str) -> None:
        self.hub = hub
        self.kueue_namespace = kueue_namespace
        self.rows: dict[str, dict[str, Row]] = {name: {} for name in (CLUSTERS, QUEUES, LOCAL_QUEUES, JOBS, EVENTS)}
        self.state = HubState()
        self.notices: Row = {}
        self._since = clock.now().timestamp()
        self._dirty: dict[str, set[str]] = {name: set() for name in self.rows}
        """The keys of rows that have to be looked at again."""
        self._held = HeldAmounts()
        self._history = ScoreHistory()
        self._members: dict[str, list[kueue.MultiKueueCluster]] = {}
        self._cluster_names: dict[str, str] = {}
        """The ManagedCluster of each MultiKueueCluster."""
        self._standing: Any = None
        hub.follow(DatedWorkload, self._workload_changed)
        hub.follow(SlimJob, self._job_changed)
        hub.follow(ShownEvent, self._event_changed)
        hub.follow(cluster.AddOnPlacementScore, self._score_changed)
        hub.follow(SecretLabel, self._secret_changed)
        hub.follow(cluster.ManagedCluster, lambda old, new: self._mark(CLUSTERS, either(old, new).name))
        hub.follow(kueue.ClusterQueue, lambda old, new: self._mark(QUEUES, either(old, new).key))
        hub.follow(kueue.LocalQueue, lambda old, new: self._mark(LOCAL_QUEUES, either(old, new).key))

    def snapshot(self) -> Row:
        """Return all that the page shows."""
        return {"now": clock.now().timestamp(), "notices": self.notices, "rows": self.rows}

    async def refresh(self) -> Row | None:
        """Look again at what may have changed; return what differs, or None."""
        self.state = self.hub.state()
        self._members = members_by_cluster(self.hub.all(kueue.MultiKueueCluster))
        self._cluster_names = {member.name: name for name, members in self._members.items() for member in members}
        self._mark_all_if_needed()
        dirty, self._dirty = self._dirty, {name: set() for name in self.rows}
        changes = {name: await self._refresh(name, sorted(keys)) for name, keys in dirty.items() if name != EVENTS}
        if dirty[EVENTS]:
            changes[EVENTS] = self._replace_events()
        return self._change({name: change for name, change in changes.items() if change})

    def _mark_all_if_needed(self) -> None:
        standing = standing_of(self.state, self._cluster_names)
        if standing == self._standing:
            return
        self._standing = standing
        self._mark(CLUSTERS, *(managed.name for managed in self.hub.all(cluster.ManagedCluster)))
        shown = self.rows[JOBS]
        self._mark(JOBS, *(one.key for one in self.hub.all(DatedWorkload) if one.is_live or one.key not in shown))

    async def _refresh(self, collection: str, keys: Iterable[str]) -> Row:
        rows, put, gone = self.rows[collection], {}, []
        for number, key in enumerate(keys, 1):
            row = self._row(collection, key)
            if row is None:
                if rows.pop(key, None) is not None:
                    gone.append(key)
            elif rows.get(key) != row:
                rows[key] = put[key] = row
            if number % PIECE == 0:
                await asyncio.sleep(0)
        return {"put": put, "gone": gone} if put or gone else {}

    def _row(self, collection: str, key: str) -> Row | None:
        """Return a row as it is to be shown; None where there is none any more."""
        if collection == JOBS:
            workload = self.hub.get(DatedWorkload, key)
            return None if workload is None else job_row(workload, self.state, self._cluster_names)
        if collection == QUEUES:
            queue = self.hub.get(kueue.ClusterQueue, key)
            return None if queue is None else cluster_queue_row(queue)
        if collection == LOCAL_QUEUES:
            local = self.hub.get(kueue.LocalQueue, key)
            return None if local is None else local_queue_row(local)
        managed = self.hub.get(cluster.ManagedCluster, key)
        return None if managed is None else self._cluster_row(managed)

    def _cluster_row(self, managed: cluster.ManagedCluster) -> Row:
        members = self._members.get(managed.name, ())
        return cluster_row(
            managed,
            members=members,
            secret=self.hub.get(SecretLabel, key_of(self.kueue_namespace, credentials_secret(managed.name))),
            score=self.hub.get(cluster.AddOnPlacementScore, key_of(managed.name, SCORE_RESOURCE)),
            history=self._history.of(managed.name),
            taken=add(self._held.on(member.name) for member in members),
            checks=(self.state.checks or {}).values(),
        )

    def _replace_events(self) -> Row:
        before, rows = self.rows[EVENTS], self.hub.events.rows()
        self.rows[EVENTS] = rows
        put = {key: row for key, row in rows.items() if before.get(key) != row}
        gone = [key for key in before if key not in rows]
        return {"put": put, "gone": gone} if put or gone else {}

    def _change(self, changes: Row) -> Row | None:
        notices = {
            "problems": self.hub.problems,
            "loading": self.hub.loading,
            "namespace": self.hub.namespace,
            "since": self._since,
        }
        if not changes and notices == self.notices:
            return None
        self.notices = notices
        return {"now": clock.now().timestamp(), "notices": notices, "changes": changes}

    # Who makes what to be looked at again

    def _mark(self, collection: str, *keys: str) -> None:
        self._dirty[collection].update(keys)

    def _workload_changed(self, old: DatedWorkload | None, new: DatedWorkload | None) -> None:
        key = either(old, new).key
        before = self._held.where(key)
        if new is not None:
            self._held.put(new)
        else:
            self._held.remove(key)
        self._mark(JOBS, key)
        for member in {before, self._held.where(key)} - {""}:
            self._mark(CLUSTERS, self._cluster_names.get(member, member))

    def _job_changed(self, old: SlimJob | None, new: SlimJob | None) -> None:
        self._mark(JOBS, *self.hub.workloads_of(either(old, new).uid))

    def _event_changed(self, old: ShownEvent | None, new: ShownEvent | None) -> None:
        event = either(old, new)
        self._mark(EVENTS, event.key)
        if event.is_of_dispatcher:
            self._mark(JOBS, key_of(event.regarding.namespace, event.regarding.name))

    def _score_changed(self, old: cluster.AddOnPlacementScore | None, new: cluster.AddOnPlacementScore | None) -> None:
        score = either(old, new)
        if score.name != SCORE_RESOURCE:
            return
        self._mark(CLUSTERS, score.namespace)
        if new is not None:
            self._history.note(new, clock.now().timestamp())
        else:
            self._history.forget(score.namespace)

    def _secret_changed(self, old: SecretLabel | None, new: SecretLabel | None) -> None:
        name = either(old, new).metadata.labels.get(CLUSTER_LABEL)
        if name:
            self._mark(CLUSTERS, name)


def either(old: O | None, new: O | None) -> O:
    """Return what there is, or was."""
    found = new if new is not None else old
    assert found is not None, "a handler is called with at least one of both"
    return found


def standing_of(state: HubState, cluster_names: dict[str, str]) -> Any:
    """Return all by which a change concerns every job; numbers of queues, which change with each job, do not."""
    queues = {key: (queue.spec, queue.status.conditions) for key, queue in (state.cluster_queues or {}).items()}
    local = {key: queue.spec for key, queue in (state.local_queues or {}).items()}
    fleet = state.fleet
    clusters = [(one.name, one.metadata.labels, one.spec, one.is_deleting) for one in fleet.clusters or ()]
    choices = (fleet.sets, fleet.bindings, fleet.placements, fleet.decisions)
    troubles = {member: state.trouble(member) for member in state.members or ()}
    seen = (state.checks, queues, local, state.flavors, state.configs, troubles, clusters, choices)
    return seen, state.rolling_out, state.silence, cluster_names
