"""Nominate clusters for every MultiKueue Workload of the hub: best first for our configs, all at once for others.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, MultiKueueCluster, Placement, AddOnPlacementScore, the workers'
queues Writes:  Workload status.nominatedClusterNames, as Kueue's own dispatchers do

A nomination is only ever added to. Withdrawing one while its copy may be admitted makes Kueue lose the winner: the
job runs, and the hub does not know where. For the same reason no further cluster is nominated while a nominated one
cannot be asked: the job may run there.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import find
from fleetqueue.api.quantity import Amounts, add
from fleetqueue.api.usage_scores import Scale, loss
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.ledger import Ledger
from fleetqueue.controllers.placement_admission.measures import Measures
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.controllers.placement_admission.nomination import Candidate, explain, nomination, ranked
from fleetqueue.controllers.placement_admission.selection import add_on_scores, total_score
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

MOST_NOMINATED = 20
"""As many as a Workload's status may hold."""

log = Log("dispatcher")


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
        ledger: Ledger,
        measures: Measures,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self.ledger = ledger
        self.measures = measures
        self._nominated: dict[str, tuple[str, float]] = {}
        """When each Workload (key, with uid) got its last nomination, as far as this process knows."""
        self._waiting: set[str] = set()

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(kueue.Workload, by_key),
            Watch(kueue.MultiKueueConfig, lambda config: self._undecided()),
            Watch(kueue.MultiKueueCluster, lambda member: self._undecided()),
        )

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.Workload).subscribe(self.ledger.seen)

    def wake_waiting(self) -> None:
        """Look again at the Workloads that no cluster could be nominated for."""
        for key in self._waiting:
            self.queue.add(key)

    async def reconcile(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        workload = self.hub.get(kueue.Workload, name, namespace)
        config = self._config_to_serve(workload) if workload is not None else None
        if workload is None or config is None or self.ledger.covers(key):
            self._set_waiting(key, waits=False)
            self._forget_if_gone(key, workload)
            return
        members = await self._next(workload, config)
        if not members:
            return
        await self._nominate(workload, (*workload.status.nominated_cluster_names, *members))

    # Deciding

    def _config_to_serve(self, workload: kueue.Workload) -> kueue.MultiKueueConfig | None:
        """Return the config by which a Workload waits for a nomination; None where it does not wait for one."""
        if not (workload.is_live and workload.has_quota) or workload.status.cluster_name:
            return None
        found = self.objects.multikueue_check(workload)
        if found is None or not self.objects.kueue_config.is_ours:
            return None
        state, config = found
        others = [check for check in workload.status.admission_checks if check.name != state.name]
        if state.state != kueue.PENDING or any(check.state != kueue.READY for check in others):
            return None
        return self.objects.config(config)

    async def _next(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Return whom to nominate now; raises RetryLater where only time can help."""
        nominated = workload.status.nominated_cluster_names
        if not is_ours(config):
            return self._all_connected(config, nominated)
        candidates = self._candidates(workload, config)
        if nominated:
            await self._wait_for(workload, nominated)
        best = ranked([c for c in candidates if c.member not in nominated], workload.requests)
        if best:
            self._set_waiting(workload.key, waits=False)
            why = explain(candidates, workload.requests)
            await self.hub.events.normal(workload, "Nominated", f"{best[0].member}; {why}")
            return [best[0].member]
        if not nominated:
            self._set_waiting(workload.key, waits=True)
            why = explain(candidates, workload.requests)
            await self.hub.events.warning(workload, "NoClusterToNominate", why)
        return []

    def _all_connected(self, config: kueue.MultiKueueConfig, nominated: Sequence[str]) -> list[str]:
        """Do for a hand-written config what Kueue's own default dispatcher would."""
        room = MOST_NOMINATED - len(nominated)
        return [m for m in config.spec.clusters if m not in nominated and self._is_connected(m)][:room]

    async def _wait_for(self, workload: kueue.Workload, nominated: Sequence[str]) -> None:
        """Raise RetryLater until a further nomination is due, and safe."""
        age = clock.monotonic() - self._nominated_at(workload)
        if age < self.settings.nomination_timeout:
            raise errors.RetryLater(self.settings.nomination_timeout - age, "nominated clusters have time to admit it")
        for member in nominated:
            await self._wait_for_answer(workload, member)

    async def _wait_for_answer(self, workload: kueue.Workload, member: str) -> None:
        """Ask a nominated cluster about its copy: one that cannot answer, or has admitted it, is waited for."""
        try:
            copy = await self.workers.copy(self.objects.kubeconfig_of(member), workload)
        except (errors.Unreachable, errors.ApiError) as error:
            lost = self._lost_for(member)
            if lost >= self.settings.lost_timeout:
                return
            note = f"{member} was nominated and cannot be asked ({error}); the job may run there"
            await self.hub.events.warning(workload, "WaitingForCluster", note)
            raise errors.RetryLater(self.settings.drain_poll, note) from error
        if copy is not None and copy.is_admitted:
            raise errors.RetryLater(self.settings.settle, f"{member} has admitted it; Kueue is about to record that")

    def _lost_for(self, member: str) -> float:
        """Return for how many seconds Kueue has said that a member is not connected."""
        found = self.objects.member(member)
        condition = find(found.status.conditions, kueue.ACTIVE) if found is not None else None
        if condition is None or condition.is_true or condition.last_transition_time is None:
            return 0.0
        return (clock.now() - condition.last_transition_time).total_seconds()

    def _candidates(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[Candidate]:
        placement = self.hub.get(cluster.Placement, config.name, self.settings.kueue_namespace)
        allowed = {name.strip() for name in workload.annotation(ALLOWED_CLUSTERS).split(",") if name.strip()}
        return [self._candidate(workload, config, placement, member, allowed) for member in config.spec.clusters]

    def _candidate(
        self,
        workload: kueue.Workload,
        config: kueue.MultiKueueConfig,
        placement: cluster.Placement | None,
        member: str,
        allowed: set[str],
    ) -> Candidate:
        name = self.objects.cluster_of(member)
        if member in marks_of(config):
            return Candidate(member, excluded="draining")
        if allowed and not allowed & {member, name}:
            return Candidate(member, excluded=f"not among {ALLOWED_CLUSTERS}")
        if not self._is_connected(member):
            return Candidate(member, excluded="not connected")
        unseen = self._unseen(member, config.name)
        score = self._score(placement, name, unseen) if placement is not None else 0
        return Candidate(member, score=score, free=self._free(workload, member, unseen))

    def _score(self, placement: cluster.Placement, name: str, unseen: Amounts) -> int:
        """Return a cluster's score, less what jobs that it does not show yet will cost."""
        lost = sum(weight * loss(score, unseen, Scale()) for score, weight in add_on_scores(placement))
        return total_score(placement, name, self.objects.score) - round(lost)

    def _free(self, workload: kueue.Workload, member: str, unseen: Amounts) -> Amounts | None:
        free = self.workers.free(self.objects.kubeconfig_of(member), workload)
        if free is None:
            return None
        return {name: amount - unseen.get(name, Decimal(0)) for name, amount in free.items()}

    def _unseen(self, member: str, config: str) -> Amounts:
        """Add up what was sent to a member and does not show in its usage or its scores yet."""
        fresh = [w.requests for w in self.objects.workloads_on(member, config) if self._is_fresh(w)]
        return add([*fresh, *self.ledger.requests_on(member)])

    def _is_fresh(self, workload: kueue.Workload) -> bool:
        if not workload.status.cluster_name:
            return not self.ledger.covers(workload.key)
        found = self.objects.multikueue_check(workload)
        since = found[0].last_transition_time if found else None
        return since is not None and (clock.now() - since).total_seconds() < self.settings.settle

    def _is_connected(self, member: str) -> bool:
        found = self.objects.member(member)
        return found is not None and found.is_connected

    # Writing

    async def _nominate(self, workload: kueue.Workload, members: Sequence[str]) -> None:
        """Write a nomination on the Workload as it is now; one that changed meanwhile is decided anew."""
        self.ledger.enter(workload, members)
        try:
            raw = await self.hub.client.get(kueue.Workload.resource, workload.name, workload.namespace)
            live = kueue.Workload.view(raw)
            if (
                live.uid != workload.uid
                or live.status.nominated_cluster_names != workload.status.nominated_cluster_names
            ):
                raise errors.Conflict(f"{workload} changed meanwhile")
            if self._config_to_serve(live) is None:
                raise errors.Conflict(f"{workload} no longer waits for a nomination")
            await self.hub.client.apply(
                kueue.Workload.resource,
                nomination(raw, members),
                subresource="status",
                manager=kueue.ADMISSION_MANAGER,
            )
        except (errors.ApiError, errors.Unreachable) as error:
            if not isinstance(error, errors.Unreachable):  # without an answer, it may have been written all the same
                self.ledger.strike(workload.key)
            raise
        self._nominated[workload.key] = (workload.uid, clock.monotonic())
        for member in members:
            if member not in workload.status.nominated_cluster_names:
                self.measures.nominations.labels(member).inc()
        log.info("nominated", workload=workload.key, members=members)

    def _nominated_at(self, workload: kueue.Workload) -> float:
        """Return when a Workload got its last nomination; after a restart its time begins anew."""
        uid, since = self._nominated.get(workload.key, ("", 0.0))
        if uid != workload.uid:
            since = clock.monotonic()
            self._nominated[workload.key] = (workload.uid, since)
        return since

    # Waiting

    def _undecided(self) -> Iterable[str]:
        """Return the Workloads that a change of the clusters may help."""
        return [w.key for w in self.hub.list(kueue.Workload) if self._config_to_serve(w) is not None]

    def _set_waiting(self, key: str, *, waits: bool) -> None:
        (self._waiting.add if waits else self._waiting.discard)(key)
        self.measures.waiting.set(len(self._waiting))

    def _forget_if_gone(self, key: str, workload: kueue.Workload | None) -> None:
        if workload is None or not workload.has_quota:
            self._nominated.pop(key, None)
