"""Nominate clusters for every MultiKueue Workload of the hub: best first for our configs, all at once for others.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, MultiKueueCluster, Placement, AddOnPlacementScore, and what the
         workers' queues have left
Writes:  Workload status.nominatedClusterNames, as Kueue's own dispatchers do, and in the same write Ready for our own
         checks: every write of a Workload makes Kueue ask each listed worker for its copy; and why nobody can be
         nominated, as the message of our own checks, since Events are kept for an hour

A nomination is only ever added to. Withdrawing one while its copy may be admitted makes Kueue lose the winner: the
job runs, and the hub does not know where. For the same reason no further cluster is nominated while a nominated one
cannot be asked, and none for an evicted Workload while a cluster that it has been on may still have its copy: the job
may run there. A copy that Kueue does not remove is one that it overlooked; its cluster is nominated again, so that
Kueue can record it.

A key is a Workload, or the name of a MultiKueueConfig: then all Workloads that wait by it are woken. However many of
its clusters change at once, that is one key.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.fleetqueue import placement_of
from fleetqueue.api.quantity import Amounts, add
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.usage_scores import Scale, loss
from fleetqueue.controllers.placement_admission import groups, messages
from fleetqueue.controllers.placement_admission.arrivals import Arrivals
from fleetqueue.controllers.placement_admission.candidates import (
    PACK,
    SPREAD,
    Candidate,
    explain,
    ranked,
    shortage,
)
from fleetqueue.controllers.placement_admission.check_entries import apply_entry, check_entry
from fleetqueue.controllers.placement_admission.copies import Copies
from fleetqueue.controllers.placement_admission.hub_objects import (
    HubObjects,
    is_unplaced,
    marks_of,
    standing,
)
from fleetqueue.controllers.placement_admission.ledger import Ledger
from fleetqueue.controllers.placement_admission.measures import Measures
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS, STRATEGY
from fleetqueue.controllers.placement_admission.nomination import nomination
from fleetqueue.controllers.placement_admission.past_clusters import PastClusters
from fleetqueue.controllers.placement_admission.refusals import Refusals
from fleetqueue.controllers.placement_admission.selection import add_on_scores
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.admission_status import apply_admission
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

MOST_NOMINATED: Final = 20
"""As many as a Workload's status may hold."""
REMOVAL_SECONDS: Final = 1.0
"""Between two looks at a copy that Kueue is about to remove; it needs about two seconds."""
ARRIVAL_SECONDS: Final = 5.0
"""Kueue may be bringing a copy while its Workload is taken back: it sends a worker five requests a second. For so long
no other cluster is nominated, and it is looked for where it may arrive."""
OVERLOOKED_SECONDS: Final = 10.0
"""A copy that is there for so long after its Workload has got quota again is not removed any more. While a Workload is
on no cluster, those that it has been on are asked so often."""

KUEUE_PATIENCE: Final = 5
"""How many nomination timeouts a copy may be on its way. Kueue asks each worker at most five times a second, so that a
burst of jobs takes minutes; but a namespace that is missing there would hold a job up for ever."""

READING_SECONDS: Final = 0.2
"""Between two looks at whether a worker has told its queues, just after it was dialled."""

log = Log("dispatcher")


@dataclass(frozen=True, slots=True)
class Choice:
    members: Sequence[str]
    why: str
    too_small: Set[str] = frozenset()
    """Those of the config that can never hold the job with the quota that they have."""
    follows: bool = False
    """Whether it goes where others of its job go; theirs is then the reason that lasts."""


class DispatcherController(Controller):
    name = "dispatcher"
    concurrency = 8

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        objects: HubObjects,
        workers: Workers,
        copies: Copies,
        past_clusters: PastClusters,
        ledger: Ledger,
        measures: Measures,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self.ledger = ledger
        self.measures = measures
        self.copies = copies
        self.past_clusters = past_clusters
        self.arrivals = Arrivals(self.settings.settle)
        self.refusals = Refusals()
        self._nominated: dict[str, tuple[str, float]] = {}
        """When each Workload (key, with uid) that is on no cluster yet got its last nomination, as far as is known."""
        self._waiting: dict[str, None] = {}
        """The Workloads that no cluster can take."""
        self._left_out: dict[str, None] = {}
        """The Workloads that a cluster is not nominated for only because its quota is too small."""

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(
                kueue.Workload,
                self.objects.with_siblings,
                facts=lambda w: (standing(w), w.annotation(ALLOWED_CLUSTERS)),
            ),
            Watch(kueue.AdmissionCheck, _config_of_check),
            Watch(kueue.MultiKueueConfig, by_key),
            Watch(kueue.MultiKueueCluster, lambda member: self.objects.configs_listing(member.name)),
            *self.objects.kueue.watches(lambda: self.hub.informer(kueue.MultiKueueConfig).store.keys()),
        )

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.Workload).subscribe(self.ledger.seen)
        self.hub.informer(kueue.Workload).subscribe(self.arrivals.seen)
        self.hub.informer(kueue.Workload).subscribe(self.past_clusters.seen)

    def wake_waiting(self) -> None:
        """Look again at the Workloads that other quotas may help."""
        for key in (*self._waiting, *self._left_out):
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        if not namespace:
            await self.wake_each(self._undecided(name))
            return
        workload = self.hub.get(kueue.Workload, name, namespace)
        config = self._config_to_serve(workload) if workload is not None else None
        if workload is None or config is None:
            self._set_waiting(key, waits=False)
            self.refusals.forget(key)
            if workload is None or not is_unplaced(workload):
                self._nominated.pop(key, None)
            return
        if left := self.ledger.seconds_left(key):
            raise errors.RetryLater(left, "a nomination is under way")
        missing = []
        if is_ours(config):
            if member := await self._overlooked(workload, config):
                self._set_waiting(key, waits=False)
                await self._nominate(workload, [member], messages.copy_is_left(member))
                return
            missing = await self._wait_until_safe(workload, config)
            self._wait_for_queues(config)
        # Nothing waits between the choice and its entry in the ledger, where the next choice and a drain look for it.
        choice = self._choose(workload, config.name)
        is_hopeless = not choice.members and choice.too_small >= set(workload.status.nominated_cluster_names)
        self._set_waiting(key, waits=is_hopeless, is_left_out=bool(choice.too_small) and not choice.members)
        if choice.members:
            await self._nominate(workload, choice.members, choice.why)
        elif is_hopeless:
            if not choice.follows:
                await self._tell_checks(workload, messages.check_waits(choice.why))
            await self.hub.events.warning(workload, "NoClusterToNominate", choice.why)
        elif missing:
            note = messages.not_brought(missing, workload.namespace, workload.spec.queue_name)
            await self.hub.events.warning(workload, "WaitingForCluster", note)
            raise errors.RetryLater(self.settings.nomination_timeout, note)

    # Deciding

    def _config_to_serve(self, workload: kueue.Workload) -> kueue.MultiKueueConfig | None:
        """Return the config by which a Workload waits for a nomination; None where it does not wait for one."""
        if not is_unplaced(workload):
            return None
        found = self.objects.multikueue_check(workload)
        if found is None or not self.objects.dispatches:
            return None
        state, config = found
        if state.state != kueue.PENDING or self.objects.is_held_up(workload, besides=state.name):
            return None
        return self.objects.config(config)

    def _choose(self, workload: kueue.Workload, config_name: str) -> Choice:
        """Return whom to nominate now, and why: the best one, or all where the config is not ours."""
        config = self.objects.config(config_name)
        if config is None:
            return Choice([], "the config is gone")
        if is_ours(config) and (siblings := self.objects.siblings(workload)):
            member, note = self._with_group(workload, siblings, config)
            if member or note:
                return Choice([member] if member else [], note, follows=True)
        nominated = workload.status.nominated_cluster_names
        candidates = self._candidates(workload, config)
        strategy = self._strategy(workload, config.name)
        able = [c.member for c in ranked(candidates, workload.requests, strategy) if c.member not in nominated]
        why = explain(candidates, workload.requests, strategy)
        if not is_ours(config):
            return Choice(able[: MOST_NOMINATED - len(nominated)], why)
        chosen = able[: min(1, MOST_NOMINATED - len(nominated))]
        said = [*self._unknown_clusters(workload, config), *([strategy] if chosen else []), why]
        return Choice(chosen, "; ".join(said), {c.member for c in candidates if c.is_too_small})

    def _with_group(
        self, workload: kueue.Workload, siblings: Sequence[kueue.Workload], config: kueue.MultiKueueConfig
    ) -> tuple[str, str]:
        """Return where a Workload must go since others of its job are there, or why it waits; nothing where it is free.

        That may be a cluster that drains: Kueue would send it there in any case.
        """
        member = groups.cluster_of(siblings)
        if not member:
            return "", "" if groups.is_first(workload, siblings) else messages.waits_for_first()
        left = self.objects.drain_left(member, config)
        if left is not None and left <= 0:
            return "", messages.group_is_leaving(member)
        if member in workload.status.nominated_cluster_names:
            return "", messages.group_is_on(member)
        if member not in config.spec.clusters or not self.objects.is_connected(member):
            return "", f"{messages.group_is_on(member)}, which is not connected"
        return member, messages.group_is_on(member)

    async def _wait_until_safe(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Raise RetryLater until a nomination is due, and cannot start what may run already.

        Returns the nominated members to which Kueue has brought no copy, although it had time.
        """
        missing = []
        nominated = workload.status.nominated_cluster_names
        timeout = self.settings.nomination_timeout
        since = self._nominated_at(workload) if nominated else -inf
        # A deadline less the time is exact where a time less an age is not, and would come back a little too early.
        if (left := since + timeout - clock.monotonic()) > 0:
            again_in = min(left, OVERLOOKED_SECONDS) if self._past(workload, config) else left
            raise errors.RetryLater(again_in, "nominated clusters have time to admit it")
        for member in nominated:
            copy = await self.copies.ask(workload, member, config)
            if copy is not None and copy.is_admitted:
                note = f"{member} has admitted it; Kueue is about to record that"
                raise errors.RetryLater(self.settings.settle, note)
            is_coming = (
                copy is None and self.objects.is_connected(member) and not self.copies.is_given_up(member, config)
            )
            if is_coming and clock.monotonic() < since + timeout * KUEUE_PATIENCE:
                note = f"Kueue has not brought it to {member} yet; a further cluster would only make it slower"
                raise errors.RetryLater(timeout, note)
            if is_coming:
                missing.append(member)
        return missing

    def _wait_for_queues(self, config: kueue.MultiKueueConfig) -> None:
        """Raise RetryLater while a worker is about to tell its queues: without them, any job seems to have a place."""
        for member in config.spec.clusters:
            if self.objects.is_connected(member) and self.workers.is_being_read(self.objects.kubeconfig_of(member)):
                raise errors.RetryLater(READING_SECONDS, f"the queues of {member} are being read")

    async def _overlooked(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> str:
        """Return a cluster that a Workload has been on, and that has its copy for good; empty where none has.

        Kueue removes the copies of a Workload that it sees without quota. Often it has quota again before Kueue looks,
        and a copy stays, or arrives. Raises RetryLater while it may be removed, or one may arrive.
        """
        past, since = self._past(workload, config), _quota_since(workload)
        for member in past:
            copy = await self.copies.ask(workload, member, config)
            if copy is None:
                continue
            has_arrived = copy.created is not None and copy.created > since
            is_usable = member in config.spec.clusters and self.objects.is_connected(member)
            if is_usable and (has_arrived or _age(since) >= OVERLOOKED_SECONDS):
                return member
            note = f"its copy on {member} must be removed, or end, before it is started elsewhere"
            await self.hub.events.normal(workload, "WaitingForCluster", note)
            raise errors.RetryLater(REMOVAL_SECONDS, note)
        if past and not workload.status.nominated_cluster_names and _age(since) < ARRIVAL_SECONDS:
            raise errors.RetryLater(REMOVAL_SECONDS, f"Kueue may be bringing its copy to {', '.join(past)}")
        return ""

    def _past(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Return the clusters, not nominated now, that may have a copy from before.

        Once others are nominated, only those to which Kueue is connected: elsewhere it could bring and record none.
        """
        nominated = workload.status.nominated_cluster_names
        past = self.past_clusters.of(workload, lambda: self.objects.once_listed(config))
        return [m for m in past if m not in nominated and (not nominated or self.objects.is_connected(m))]

    def _candidates(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[Candidate]:
        placement = self.hub.get(cluster.Placement, config.name, self.settings.kueue_namespace)
        members = config.spec.clusters
        names = [self.objects.cluster_of(member, config.name) for member in members] if is_ours(config) else []
        scores = self.objects.scores(placement, names) if placement is not None else {}
        losses = add_on_scores(placement) if placement is not None else []
        allowed = allowed_clusters(workload)
        return [self._candidate(workload, config, member, allowed, scores, losses) for member in members]

    def _candidate(
        self,
        workload: kueue.Workload,
        config: kueue.MultiKueueConfig,
        member: str,
        allowed: set[str],
        scores: Mapping[str, int],
        losses: Sequence[tuple[str, int]],
    ) -> Candidate:
        if not is_ours(config):
            return Candidate(member, excluded="" if self.objects.is_connected(member) else "not connected")
        name = self.objects.cluster_of(member, config.name)
        if member in marks_of(config):
            return Candidate(member, excluded="draining")
        if allowed and not allowed & {member, name}:
            return Candidate(member, excluded=f"not among {ALLOWED_CLUSTERS}")
        if not self.objects.is_connected(member):
            return Candidate(member, excluded="not connected")
        queue = self.workers.queue(self.objects.kubeconfig_of(member), workload)
        if queue is not None and (why := shortage(queue.quota, queue.limits, workload.least_requests)):
            return Candidate(member, excluded=why, is_too_small=True)
        unseen = self._unseen(member, config.name)
        score = scores.get(name, 0) - round(sum(weight * loss(item, unseen, Scale()) for item, weight in losses))
        if queue is None:
            return Candidate(member, score=score, used=self._sent(member))
        used = add([queue.reserved, unseen])
        return Candidate(member, score=score, quota=queue.quota, used=used, can_borrow=bool(queue.spec.cohort_name))

    def _unknown_clusters(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Say of each cluster that a job allows by name, and that the config does not list, why that is."""
        listed = {name for m in config.spec.clusters for name in (m, self.objects.cluster_of(m, config.name))}
        return [
            messages.not_selected(name, config.name)
            if self.hub.get(cluster.ManagedCluster, self.settings.cluster(config.name, name))
            else messages.no_such_cluster(name)
            for name in sorted(allowed_clusters(workload) - listed)
        ]

    def _unseen(self, member: str, config: str) -> Amounts:
        """Add up what was sent to a member and does not show in its usage or its scores yet."""
        checks = self.objects.multikueue_checks_on(config)
        return add([self.arrivals.on(member, checks), *self.ledger.requests_on(member)])

    def _sent(self, member: str) -> Amounts:
        """Add up all that we sent to a member, for where its own usage is not known."""
        return add([self.arrivals.total(member), *self.ledger.requests_on(member)])

    def _strategy(self, workload: kueue.Workload, placement: str) -> str:
        """Return how a Workload's check divides jobs among equal clusters; of several, one that packs decides."""
        checks = [check for check in self.objects.checks_on(placement) if workload.check(check.name)]
        return PACK if any(check.metadata.annotations.get(STRATEGY) == PACK for check in checks) else SPREAD

    # Writing

    async def _nominate(self, workload: kueue.Workload, new: Sequence[str], why: str) -> None:
        """Write a nomination on the Workload as it is now; one that changed meanwhile is decided anew."""
        members = (*workload.status.nominated_cluster_names, *new)
        self.ledger.enter(workload, members)
        self.past_clusters.sent(workload, members)
        try:
            raw = await self._live(workload)
            manifest = nomination(raw, members, self._ready_entries(raw))
        except (errors.ApiError, errors.Unreachable):
            self.ledger.strike(workload.key)
            raise
        try:
            await apply_admission(self.hub.client, manifest)
        except errors.ApiError as error:
            if not isinstance(error, errors.ServerError) or error.is_from_webhook:
                self.ledger.strike(workload.key)
            await self._tell_refusal(workload, error)
            raise  # after another server error it may have been written all the same, as without an answer
        self.refusals.forget(workload.key)
        self._nominated[workload.key] = (workload.uid, clock.monotonic())
        for member in new:
            self.measures.nominations.labels(member).inc()
        log.info("nominated", workload=workload.key, members=members)
        await self.hub.events.normal(workload, "Nominated", f"{', '.join(new)}; {why}")

    async def _tell_refusal(self, workload: kueue.Workload, error: errors.ApiError) -> None:
        """Say that a nomination was refused again for the same cause; one that changed meanwhile is none."""
        if isinstance(error, errors.Conflict | errors.NotFound):
            return
        if message := self.refusals.note(workload, error):
            self.measures.refused.inc()
            await self.hub.events.warning(workload, "NominationRefused", messages.nomination_refused(message))

    async def _tell_checks(self, workload: kueue.Workload, message: str) -> None:
        """Say on our checks why nobody can be nominated; of several one at a time, since each makes a new version."""
        for check in self.objects.our_checks(workload):
            entry = workload.check(check.name)
            if entry is not None and entry.state == kueue.PENDING and entry.message != message:
                await apply_entry(self.hub, workload, check_entry(check.name, kueue.PENDING, message))
                return

    def _ready_entries(self, raw: Manifest) -> list[Manifest]:
        """Return the entries of our checks that a nomination is to make Ready."""
        workload = kueue.Workload.view(raw)
        return [
            check_entry(check.name, kueue.READY, self.objects.outlook(check)[1])
            for check in self.objects.our_checks(workload)
            if (entry := workload.check(check.name)) is not None and entry.state == kueue.PENDING
        ]

    async def _live(self, workload: kueue.Workload) -> Manifest:
        """Read a Workload as it is now; raises Conflict where it is not the one that was decided on."""
        raw = await self.hub.client.get(kueue.Workload.resource, workload.name, workload.namespace)
        live = kueue.Workload.view(raw)
        if live.uid != workload.uid or live.status.nominated_cluster_names != workload.status.nominated_cluster_names:
            raise errors.Conflict(f"{workload} changed meanwhile")
        if self._config_to_serve(live) is None:
            raise errors.Conflict(f"{workload} no longer waits for a nomination")
        return raw

    def _nominated_at(self, workload: kueue.Workload) -> float:
        """Return when a Workload got its last nomination; after a restart its time begins anew."""
        uid, since = self._nominated.get(workload.key, ("", 0.0))
        if uid != workload.uid:
            since = clock.monotonic()
            self._nominated[workload.key] = (workload.uid, since)
        return since

    # Waiting

    def _undecided(self, config: str) -> Iterable[str]:
        """Return the Workloads of a config that a change of its clusters may help."""
        return (w.key for w in self.objects.unplaced_by(config) if self._config_to_serve(w) is not None)

    def _set_waiting(self, key: str, *, waits: bool, is_left_out: bool = False) -> None:
        for keys, belongs in ((self._waiting, waits), (self._left_out, is_left_out)):
            if belongs:
                keys[key] = None
            else:
                keys.pop(key, None)
        self.measures.waiting.set(len(self._waiting))


def _quota_since(workload: kueue.Workload) -> datetime:
    """Return when a Workload got its quota."""
    reserved = find(workload.status.conditions, kueue.QUOTA_RESERVED)
    since = reserved.last_transition_time if reserved is not None else None
    return since or datetime.min.replace(tzinfo=UTC)


def _age(since: datetime) -> float:
    return (clock.now() - since).total_seconds()


def allowed_clusters(workload: kueue.Workload) -> set[str]:
    """Return the clusters to which a job narrows the choice; none where it allows any."""
    return {name.strip() for name in workload.annotation(ALLOWED_CLUSTERS).split(",") if name.strip()}


def _config_of_check(check: kueue.AdmissionCheck) -> Iterable[str]:
    """Name the config by which a check sends Workloads; that of our own checks has the name of their Placement."""
    name = check.config_name or placement_of(check)
    return (name,) if name else ()
