"""Nominate clusters for every MultiKueue Workload of the hub: best first for our configs, all at once for others.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, MultiKueueCluster, Placement, AddOnPlacementScore, the kubeconfig
         secrets, what the workers' queues have left, and how old the job is of a Workload that must not run twice
Writes:  Workload status.nominatedClusterNames, as Kueue's own dispatchers do, and in the same write Ready for our own
         checks: every write of a Workload makes Kueue ask each listed worker for its copy; and why nobody can be
         nominated, as the message of our own checks, since Events are kept for an hour; and Retry for one of them, to
         take a Workload back from a cluster that has not admitted it, or refuses its job

A nomination is only ever added to. Withdrawing one while its copy may be admitted makes Kueue lose the winner: the
job runs, and the hub does not know where. For the same reason no further cluster is nominated while a nominated one
cannot be asked, and none for an evicted Workload while a cluster that it has been on may still have its copy: the job
may run there. A copy that Kueue does not remove is one that it overlooked; its cluster is nominated again, so that
Kueue can record it.

A key is a Workload, or the name of a MultiKueueConfig: then all Workloads that wait by it are woken. However many of
its clusters change at once, that is one key.
"""

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import is_refused, placement_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.placement_admission import groups, messages
from fleetqueue.controllers.placement_admission.arrivals import Arrivals
from fleetqueue.controllers.placement_admission.candidate_lookup import CandidateLookup
from fleetqueue.controllers.placement_admission.candidate_ranking import explain, ranked
from fleetqueue.controllers.placement_admission.check_entries import (
    apply_entry,
    check_entry,
    check_outlook,
    is_held_up,
    tell_checks,
)
from fleetqueue.controllers.placement_admission.copies import Copies, WaitsForCluster
from fleetqueue.controllers.placement_admission.earlier_workloads import EarlierWorkloads
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, is_unplaced, standing
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.controllers.placement_admission.nomination_apply import Refusals, nomination
from fleetqueue.controllers.placement_admission.refused_jobs import KUEUE_PATIENCE, RefusedJob
from fleetqueue.controllers.placement_admission.second_nomination import SecondNomination, Stuck
from fleetqueue.controllers.placement_admission.sent_nominations import SentNominations
from fleetqueue.controllers.placement_admission.sent_records import SentRecords
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch, by_key
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.runtime.statuses import apply_admission

MOST_NOMINATED: Final = 20
"""As many as a Workload's status may hold."""

log = Log("dispatcher")


@dataclass(frozen=True, slots=True)
class NominationChoice:
    members: Sequence[str]
    why: str
    closed: Set[str] = frozenset()
    """Those of the config whose queues, as they are, can never take the job."""
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
        sent_nominations: SentNominations,
        admission_metrics: PlacementAdmissionMetrics,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.settings = objects.settings
        self.sent_nominations = sent_nominations
        self.admission_metrics = admission_metrics
        self.copies = copies
        self.past_clusters = copies.past_clusters
        self.earlier_workloads = EarlierWorkloads(objects, self.past_clusters)
        self.sent_records = SentRecords(hub, copies)
        self.arrivals = Arrivals(self.settings.settle)
        self.candidates = CandidateLookup(objects, workers, sent_nominations, self.arrivals)
        self.safety = SecondNomination(objects, workers, copies)
        self.refusals = Refusals()
        self._waiting: dict[str, None] = {}
        """The Workloads that no cluster can take."""
        self._taken_back: dict[str, list[str]] = {}
        """From Workloads to the clusters that did not admit them, or refused their job, the last one last."""
        self._left_out: dict[str, None] = {}
        """The Workloads that a cluster is not nominated for only because of its queue."""

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
            Watch(Secret, self._configs_of_refused, namespace=self.settings.kueue_namespace),
            *self.objects.kueue.watches(lambda: self.hub.informer(kueue.MultiKueueConfig).store.keys()),
        )

    def subscribe(self) -> None:
        super().subscribe()
        self.hub.informer(kueue.Workload).subscribe(self.sent_nominations.seen)
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
                self.safety.forget(key)
            if workload is None or not workload.is_live or workload.status.cluster_name:
                self._taken_back.pop(key, None)
            return
        if left := self.sent_nominations.seconds_left(key):
            raise errors.RetryLater(left, "a nomination is under way")
        stuck = Stuck()
        is_careful = not self.copies.policies.is_rerun(workload)
        is_one_at_a_time = is_ours(config) or is_careful
        if is_careful:
            await self.earlier_workloads.look(workload)
        if is_one_at_a_time:
            try:
                if member := await self.safety.overlooked(workload, config):
                    self._set_waiting(key, waits=False)
                    await self._nominate(workload, config, [member], messages.copy_is_left(member), has_copies=True)
                    return
                stuck = await self.safety.wait_until_safe(workload, config)
            except WaitsForCluster as waiting:
                if waiting.lasting:
                    await tell_checks(self.objects, workload, messages.check_waits(waiting.lasting))
                raise
        if is_ours(config):
            self.safety.wait_for_queues(config)
        if stuck.refused is not None:
            self._set_waiting(key, waits=False)
            await self._leave(workload, config, stuck.refused)
            return
        # Nothing waits between the choice and the note that it is sent, where the next choice and a drain look for it.
        choice = self._choose(workload, config.name, without=workload.status.nominated_cluster_names)
        is_hopeless = not choice.members and choice.closed >= set(workload.status.nominated_cluster_names)
        self._set_waiting(key, waits=is_hopeless, is_left_out=bool(choice.closed) and not choice.members)
        if choice.members:
            await self._nominate(workload, config, choice.members, choice.why)
        elif is_hopeless:
            if not choice.follows:
                await tell_checks(self.objects, workload, messages.check_waits(choice.why))
            await self.hub.events.warning(workload, "NoClusterToNominate", choice.why)
        elif stuck.missing:
            await self._stay(
                workload, messages.not_brought(stuck.missing, workload.namespace, workload.spec.queue_name)
            )
        elif is_one_at_a_time:
            again_in = self.settings.nomination_timeout * KUEUE_PATIENCE
            raise errors.RetryLater(again_in, "a nominated cluster may come to admit it and refuse its job")

    # Deciding

    def _config_to_serve(self, workload: kueue.Workload) -> kueue.MultiKueueConfig | None:
        """Return the config by which a Workload waits for a nomination; None where it does not wait for one."""
        if not is_unplaced(workload):
            return None
        check = self.objects.multikueue_check(workload)
        if check is None or not self.objects.dispatches:
            return None
        state, config = check
        if state.state != kueue.PENDING or is_held_up(self.objects, workload, besides=state.name):
            return None
        return self.objects.config(config)

    def _choose(self, workload: kueue.Workload, config_name: str, *, without: Collection[str]) -> NominationChoice:
        """Return whom to nominate now, and why: the best one, or all where the config is not ours."""
        config = self.objects.config(config_name)
        if config is None:
            return NominationChoice([], "the config is gone")
        if is_ours(config) and (siblings := self.objects.siblings(workload)):
            member, note = self._with_group(workload, siblings, config)
            if member or note:
                return NominationChoice([member] if member else [], note, follows=True)
        candidates = self.candidates.of(workload, config)
        strategy = self.candidates.strategy(workload, config.name)
        able = [c.member for c in ranked(candidates, workload.requests, strategy) if c.member not in without]
        tried = self._taken_back.get(workload.key, [])
        able.sort(key=lambda member: tried.index(member) + 1 if member in tried else 0)
        why = explain(candidates, workload.requests, strategy)
        if not is_ours(config):
            return NominationChoice(able[: MOST_NOMINATED - len(without)], why)
        chosen = able[: min(1, MOST_NOMINATED - len(without))]
        reasons = [*self.candidates.unknown(workload, config), *([strategy] if chosen else []), why]
        return NominationChoice(chosen, "; ".join(reasons), {c.member for c in candidates if c.waits_for_queue})

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
            return "", messages.group_is_unreachable(member)
        return member, messages.group_is_on(member)

    # Writing

    async def _nominate(
        self,
        workload: kueue.Workload,
        config: kueue.MultiKueueConfig,
        new: Sequence[str],
        why: str,
        *,
        has_copies: bool = False,
    ) -> None:
        """Write a nomination on the Workload as it is now; one that changed meanwhile is decided anew.

        `has_copies` tells that the new clusters have the copy already. What must not run twice is nominated for one
        cluster at a time: of several, Kueue takes the next one when it loses the first, and asks nobody.
        """
        if not self.copies.policies.is_rerun(workload):
            if nominated := workload.status.nominated_cluster_names:
                message = messages.taken_back_for(nominated, new[0])
                stays = messages.stays_nominated(nominated)
                await self._take_back(workload, nominated, message, reason="not admitted", stays=stays)
                return
            new = new[:1]
        members = (*workload.status.nominated_cluster_names, *new)
        self.sent_nominations.add(workload, members)
        self.past_clusters.sent(workload, members)
        try:
            await self.sent_records.note(workload, new, config, has_copies=has_copies)
            raw = await self._live(workload)
            manifest = nomination(raw, members, self._ready_entries(raw))
        except (errors.ApiError, errors.Unreachable):
            self.sent_nominations.discard(workload.key)
            raise
        try:
            await apply_admission(self.hub.client, manifest)
        except errors.ApiError as error:
            if not isinstance(error, errors.ServerError) or error.is_from_webhook:
                self.sent_nominations.discard(workload.key)
            await self._tell_refusal(workload, error)
            raise  # after another server error it may have been written all the same, as without an answer
        self.refusals.forget(workload.key)
        self.safety.note(workload)
        for member in new:
            self.admission_metrics.nominations.labels(member).inc()
        log.info("nominated", workload=workload.key, members=members)
        await self.hub.events.normal(workload, "Nominated", f"{', '.join(new)}; {why}")

    async def _leave(self, workload: kueue.Workload, config: kueue.MultiKueueConfig, refused: RefusedJob) -> None:
        """Take a Workload back from a cluster that refuses its job, where another one could take it."""
        members = [refused.member]
        choice = self._choose(workload, config.name, without=members)
        if not choice.members:
            await self._stay(workload, messages.nobody_else(refused.note))
        message = messages.taken_back_refused(refused.member, choice.members[0])
        stays = messages.cannot_be_taken_back(refused.note)
        await self._take_back(workload, members, message, reason="job refused", stays=stays)

    async def _take_back(
        self, workload: kueue.Workload, members: Sequence[str], message: str, *, reason: str, stays: str
    ) -> None:
        """Let Kueue remove all copies of a Workload, so that it can be nominated for another cluster than these.

        `stays` says why it is not, where it has no check of ours.
        """
        check = next(iter(self.objects.our_checks(workload)), None)
        if check is None:
            await self._stay(workload, stays)
        # Before the write, which may be done though its answer is lost.
        others = [member for member in self._taken_back.get(workload.key, ()) if member not in members]
        self._taken_back[workload.key] = [*others, *members]
        await apply_entry(self.hub, workload, check_entry(check.name, kueue.RETRY, message))
        self.admission_metrics.taken_back.labels(reason).inc()
        log.info("taken back", workload=workload.key, members=members)
        await self.hub.events.normal(workload, "TakenBack", message)

    async def _stay(self, workload: kueue.Workload, note: str) -> NoReturn:
        """Say why a Workload stays where it is nominated, and look again."""
        await self.hub.events.warning(workload, "WaitingForCluster", note)
        raise errors.RetryLater(self.settings.nomination_timeout, note)

    async def _tell_refusal(self, workload: kueue.Workload, error: errors.ApiError) -> None:
        """Say that a nomination was refused again for the same cause; one that changed meanwhile is none."""
        if isinstance(error, errors.Conflict | errors.NotFound):
            return
        if message := self.refusals.note(workload, error):
            self.admission_metrics.refused.inc()
            await self.hub.events.warning(workload, "NominationRefused", messages.nomination_refused(message))

    def _ready_entries(self, raw: Manifest) -> list[Manifest]:
        """Return the entries of our checks that a nomination is to make Ready."""
        workload = kueue.Workload.view(raw)
        return [
            check_entry(check.name, kueue.READY, check_outlook(self.objects, check)[1])
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

    # Waiting

    def _undecided(self, config: str) -> Iterable[str]:
        """Return the Workloads of a config that a change of its clusters may help."""
        return (w.key for w in self.objects.unplaced_by(config) if self._config_to_serve(w) is not None)

    def _configs_of_refused(self, secret: Secret) -> Iterable[str]:
        """Wake who uses a secret when its worker has come to refuse it, or accepts it again."""
        if not is_refused(secret):
            return ()
        members = [m for m in self.hub.list(kueue.MultiKueueCluster) if self.objects.secret_of(m) == secret.name]
        return {config for member in members for config in self.objects.configs_listing(member.name)}

    def _set_waiting(self, key: str, *, waits: bool, is_left_out: bool = False) -> None:
        for keys, belongs in ((self._waiting, waits), (self._left_out, is_left_out)):
            if belongs:
                keys[key] = None
            else:
                keys.pop(key, None)
        self.admission_metrics.waiting.set(len(self._waiting))


def _config_of_check(check: kueue.AdmissionCheck) -> Iterable[str]:
    """Name the config by which a check sends Workloads; that of our own checks has the name of their Placement."""
    name = check.config_name or placement_of(check)
    return (name,) if name else ()
