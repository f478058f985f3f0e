"""Answer for our checks on each Workload: Ready while the check is Active, Retry to take it back from a drain.

Reads:   Workload, AdmissionCheck, MultiKueueConfig, MultiKueueCluster, and the workers themselves
Writes:  our own entries of Workload status.admissionChecks

Kueue starts nothing before every check is Ready, and resets checks to Pending with every eviction, so the answer is
given again on every change. Retry makes Kueue remove the remote copies first and queue the Workload again; Pending
does neither. A cluster that does not answer cannot give its copy back: starting the job elsewhere would run it twice,
so nothing is taken back while one that may have it is silent.

A key is a Workload, or the name of a MultiKueueConfig: then its Workloads that its clusters concern are woken.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.check_entries import (
    apply_entry,
    check_entry,
    check_outlook,
    is_held_up,
    tell_checks,
)
from fleetqueue.controllers.placement_admission.copies import Copies, WaitsForCluster
from fleetqueue.controllers.placement_admission.groups import cluster_of
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, is_unplaced, marks_of, standing
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.controllers.placement_admission.sent_records import tell_fenced
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import Cluster, is_ours
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

OVERLOOKED_SECONDS: Final = 30.0
"""Kueue dispatches within a second or two; what it has not looked at for so long, it has forgotten."""

log = Log("checks")


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    state: str
    message: str


class WorkloadCheckController(Controller):
    name = "workload-checks"
    concurrency = 4

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        objects: HubObjects,
        workers: Workers,
        copies: Copies,
        admission_metrics: PlacementAdmissionMetrics,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.copies = copies
        self.settings = objects.settings
        self.workers = workers
        self.admission_metrics = admission_metrics

    def watches(self) -> Iterable[Watch[Any]]:
        return (
            Watch(kueue.Workload, self.objects.with_siblings, facts=standing),
            Watch(kueue.AdmissionCheck, lambda check: [w.key for w in self.objects.workloads_of(check.name)]),
            Watch(kueue.MultiKueueConfig, self._workloads_concerned),
            Watch(kueue.MultiKueueCluster, lambda member: self.objects.configs_listing(member.name)),
        )

    async def reconcile(self, key: str) -> None:
        namespace, _, name = key.rpartition("/")
        if not namespace:
            await self._wake_concerned(name)
            return
        workload = self.hub.get(kueue.Workload, name, namespace)
        if workload is None or not workload.is_live:
            return
        if await self._waits_for_silent(workload):
            raise errors.RetryLater(self.settings.drain_poll, "a cluster that may run it does not answer")
        if unconnected := self._waits_to_follow(workload):
            await self.hub.events.warning(workload, "WaitingForCluster", messages.slice_is_on(unconnected))
        draining, overdue, due_in = await self._drains(workload)
        for check in self.objects.our_checks(workload):
            is_open, outlook = check_outlook(self.objects, check)
            if unconnected:
                is_open, outlook = False, messages.check_waits(messages.slice_is_on(unconnected))
            is_forced = self.objects.is_forced(workload.status.cluster_name)
            answer = decide(
                workload, check.name, is_open, outlook, draining=draining, overdue=overdue, is_forced=is_forced
            )
            if answer is None and self._is_overlooked(workload, check.name):
                answer = CheckAnswer(kueue.READY, outlook)
            if answer is not None and not (answer.state == kueue.READY and self._is_nominated_by_us(workload)):
                await self._write(workload, check.name, answer)
        if due_in is not None:
            raise errors.RetryLater(due_in, "it is on a cluster that drains")
        if self._waits_for_kueue(workload):
            raise errors.RetryLater(OVERLOOKED_SECONDS, "Kueue should dispatch it by itself")

    async def _waits_for_silent(self, workload: kueue.Workload) -> bool:
        """Keep Kueue's own dispatchers from starting elsewhere what must not run twice, and say so; they wait for us.

        Where our dispatcher nominates, it waits itself.
        """
        config = self.objects.config(self.objects.config_of(workload))
        if config is None or self.objects.dispatches or not is_unplaced(workload) or workload.clusters:
            return False
        if self.copies.policies.is_rerun(workload) or not self.objects.our_checks(workload):
            return False
        if self.copies.policies.is_fence(workload):
            await tell_fenced(self.hub, workload, messages.other_dispatcher_waits(), is_fenced=False)
        try:
            for member in self.copies.past(workload, config):
                await self.copies.ask(workload, member, config)
        except WaitsForCluster as waiting:
            await tell_checks(self.objects, workload, messages.check_waits(waiting.lasting))
            return True
        return False

    def _waits_to_follow(self, workload: kueue.Workload) -> str:
        """Return the cluster without a connection that a slice of an elastic job has to go to; empty where none is.

        Kueue writes down that cluster, which has the slice before it, when the new one gets quota: it is never
        nominated, and so nobody else would say what it waits for.
        """
        member, check = workload.status.cluster_name, self.objects.multikueue_check(workload)
        if not member or not workload.has_quota or check is None or check[0].state != kueue.PENDING:
            return ""
        return "" if self.objects.is_connected(member) else member

    def _is_nominated_by_us(self, workload: kueue.Workload) -> bool:
        """Tell whether our dispatcher will say Ready with its nomination: each write makes Kueue ask every worker.

        While somebody else's check is open nothing is nominated, and its controller may wait for ours as we do for it.
        """
        check = self.objects.multikueue_check(workload)
        return (
            check is not None
            and check[0].state == kueue.PENDING
            and not workload.clusters
            and self.objects.dispatches
            and self.objects.config(check[1]) is not None
            and not is_held_up(self.objects, workload, besides=check[0].name)
        )

    def _waits_for_kueue(self, workload: kueue.Workload) -> bool:
        """Tell whether Kueue's own dispatcher should be about to nominate clusters for a Workload."""
        check = self.objects.multikueue_check(workload)
        return (
            check is not None
            and check[0].state == kueue.PENDING
            and workload.has_quota
            and not workload.clusters
            and bool(self.objects.our_checks(workload))
            and not self.objects.dispatches
        )

    def _is_overlooked(self, workload: kueue.Workload, check: str) -> bool:
        """Tell whether Kueue has left a Workload lying that was Ready; any change makes it look again.

        It does so with every Workload that it meets while it is not connected to any cluster, as after its own start.
        """
        entry = workload.check(check)
        if entry is None or entry.state != kueue.READY or entry.last_transition_time is None:
            return False
        age = (clock.now() - entry.last_transition_time).total_seconds()
        return age >= OVERLOOKED_SECONDS and self._waits_for_kueue(workload)

    async def _drains(self, workload: kueue.Workload) -> tuple[set[str], set[str], float | None]:
        """Return from which members it is to be taken back now, as nominated or as overdue, and when to look again."""
        config = self.objects.config(self.objects.config_of(workload))
        if config is None or not is_ours(config) or not workload.has_quota:
            return set(), set(), None
        stranded = self._stranded(workload, config)
        left = self.objects.drain_left(workload.status.cluster_name, config)
        if left is not None and left > 0:
            return set(), set(), left
        if left is None and not stranded:
            return set(), set(), None
        if not await self._can_give_back(workload, config):
            return set(), set(), self.settings.drain_poll
        return stranded, {workload.status.cluster_name} - {""}, self.settings.drain_poll

    def _stranded(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> set[str]:
        """Return the nominated members that take no new work.

        Kueue's own dispatchers would nominate them again and again, so there nothing is taken back. The same holds for
        a cluster on which others of the same job run: there it belongs until they are taken back too.
        """
        if workload.status.cluster_name or not self.objects.is_only_dispatcher:
            return set()
        serving = set(config.spec.clusters) - set(marks_of(config))
        together = cluster_of(self.objects.siblings(workload))
        left = self.objects.drain_left(together, config)
        if left is None or left > 0:
            serving.add(together)
        return set(workload.status.nominated_cluster_names) - serving

    async def _can_give_back(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> bool:
        """Ask all that may have a copy: they must answer, and Kueue must be about to record none of them as winner."""
        for member in workload.clusters:
            try:
                copy = await self.workers.copy(self.objects.kubeconfig_of(member), workload)
            except (errors.Unreachable, errors.ApiError):
                self.copies.silent_members.note(member)
                if not await self.copies.is_given_up(workload, member, config):
                    return False
                continue
            self.copies.silent_members.end(member)
            is_cut_off = member in config.spec.clusters and not self.objects.is_connected(member)
            if is_cut_off and not self.copies.is_gone(member, config):
                return False
            if copy is not None and copy.is_admitted and not workload.status.cluster_name:
                return False
        return True

    async def _wake_concerned(self, config: str) -> None:
        """Wake whom connections that came or went may concern: once, however many of a config's clusters changed."""
        multikueue_config = self.objects.config(config)
        if multikueue_config is not None:
            await self.wake_each(self._workloads_concerned(multikueue_config))

    def _workloads_concerned(self, config: kueue.MultiKueueConfig) -> Iterable[str]:
        """Wake the Workloads on a member that drains, and those whose check waits for a cluster."""
        for member in marks_of(config):
            yield from (workload.key for workload in self.objects.workloads_on(member, config.name))
        for check in self.objects.checks_on(config.name):
            for workload in self.objects.workloads_of(check.name):
                state = workload.check(check.name)
                if state is not None and state.state == kueue.PENDING:
                    yield workload.key

    async def _write(self, workload: kueue.Workload, check: str, answer: CheckAnswer) -> None:
        await apply_entry(self.hub, workload, check_entry(check, answer.state, answer.message))
        log.info("check answered", workload=workload.key, check=check, state=answer.state, message=answer.message)
        if answer.state == kueue.RETRY:
            reason = "timeout" if workload.status.cluster_name else "nominated"
            self.admission_metrics.taken_back.labels(reason).inc()
            await self.hub.events.normal(workload, "TakenBack", answer.message)
        elif answer.state == kueue.READY and self._stays_on_hub(workload):
            await self.hub.events.warning(workload, "NoMultiKueueCheck", messages.no_multikueue_check())

    def _stays_on_hub(self, workload: kueue.Workload) -> bool:
        """Tell whether none of a Workload's checks is MultiKueue's; False where not all of them are known."""
        found = [self.hub.get(kueue.AdmissionCheck, entry.name) for entry in workload.status.admission_checks]
        return all(check is not None and not check.is_multikueue for check in found)


def decide(
    workload: kueue.Workload,
    check: str,
    is_open: bool,
    outlook: str,
    *,
    draining: Set[str],
    overdue: Set[str],
    is_forced: bool = False,
) -> CheckAnswer | None:
    """Answer for one check on one Workload; None where what stands there is right, or not ours to say now.

    `is_forced` tells that the cluster it runs on is overdue because an administrator gave it up.
    """
    entry = workload.check(check)
    if entry is None or not workload.is_live or not workload.has_quota:
        return None
    if entry.state in (kueue.RETRY, kueue.REJECTED):
        return None  # Kueue is about to evict, and then asks anew
    running_on = workload.status.cluster_name
    if running_on in overdue:
        reason = messages.drain_forced if is_forced else messages.drain_timed_out
        return CheckAnswer(kueue.RETRY, reason(running_on))
    stranded = sorted(draining & set(workload.status.nominated_cluster_names))
    if not running_on and stranded:
        return CheckAnswer(kueue.RETRY, messages.taken_back(stranded))
    if entry.state == kueue.READY:
        return None
    answer = CheckAnswer(kueue.READY if is_open else kueue.PENDING, outlook)
    return answer if (entry.state, entry.message) != (answer.state, answer.message) else None
