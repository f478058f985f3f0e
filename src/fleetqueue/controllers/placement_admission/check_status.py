"""Say on the AdmissionChecks of a Placement how it stands: conditions, Events, and numbers.

Writes: AdmissionCheck status
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition, find
from fleetqueue.api.fleetqueue import DISPATCHER_NAME, placement_of
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.candidate_ranking import SPREAD, STRATEGIES
from fleetqueue.controllers.placement_admission.draining import ConfigPlan, Holdings
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.controllers.placement_admission.names import (
    ACTIVE,
    CONDITIONS,
    DISPATCHING,
    DRAINING_CONDITION,
    STRATEGY,
)

UNNOTICED_SECONDS: Final = 30.0
"""Kueue says within a second or two that a ClusterQueue is inactive; one that has not for so long does not run."""


class CheckStatus:
    def __init__(self, objects: HubObjects, admission_metrics: PlacementAdmissionMetrics) -> None:
        self.hub = objects.hub
        self.objects = objects
        self.admission_metrics = admission_metrics
        self._told: dict[str, tuple[set[str], set[str]]] = {}
        """What was last told of each Placement: which members serve, and which drain."""

    async def explain(
        self,
        placement: str,
        checks: Sequence[kueue.AdmissionCheck],
        plan: ConfigPlan,
        held: Mapping[str, Holdings],
        before: kueue.MultiKueueConfig | None,
    ) -> float:
        """Tell what was decided, and what is new in it.

        Returns:
            After how many seconds to tell the rest, which Kueue cannot take yet; 0 where all is told.
        """
        self.admission_metrics.set_clusters(placement, plan, held)
        news = set(plan.serving), set(plan.draining)
        happened_again = self._told.get(placement) != news
        self._told[placement] = news
        for check in checks:
            conditions = self._conditions(check, plan, held)
            await self.set_conditions(check, conditions)
            await self._tell_restart(check, conditions)
            await self._tell_news(check, plan, before, happened_again)
        return max(map(self._unnoticed, checks), default=0.0) if plan.serving else 0.0

    async def set_conditions(self, check: kueue.AdmissionCheck, conditions: Sequence[Condition]) -> None:
        wanted = [_observed(condition, check) for condition in conditions]
        await self.hub.set_conditions(check, check.status.conditions, wanted, CONDITIONS)

    async def _tell_restart(self, check: kueue.AdmissionCheck, conditions: Sequence[Condition]) -> None:
        """Warn of a Kueue that does not run with what is written; once, by what the check said before."""
        condition, before = find(conditions, DISPATCHING), find(check.status.conditions, DISPATCHING)
        if condition is not None and condition.reason == messages.RESTART_NEEDED:
            if before is None or before.message != condition.message:
                await self.hub.events.warning(check, condition.reason, condition.message)

    async def _tell_news(
        self, check: kueue.AdmissionCheck, plan: ConfigPlan, before: kueue.MultiKueueConfig | None, happened_again: bool
    ) -> None:
        """Tell what differs from a config as it was read; `happened_again`: it is not one that was just written."""
        strategy = check.metadata.annotations.get(STRATEGY, SPREAD)
        if strategy not in STRATEGIES:
            await self.hub.events.warning(check, "UnknownStrategy", messages.unknown_strategy(strategy))
        marks = marks_of(before)
        served = set(before.spec.clusters) - set(marks) if before else set()
        if served != set(plan.serving):
            news = messages.selection_changed(plan.serving, sorted(served))
            await self.hub.events.normal(check, *news, happened_again=happened_again)
        for member in plan.draining:
            if member not in marks:
                await self.hub.events.normal(check, *messages.drain_started(member), happened_again=happened_again)
        for member in sorted(set(marks) - set(plan.listed)):
            await self.hub.events.normal(check, *messages.drain_ended(member), happened_again=happened_again)

    def _conditions(
        self, check: kueue.AdmissionCheck, plan: ConfigPlan, held: Mapping[str, Holdings]
    ) -> list[Condition]:
        conditions = [self._active(check, plan)]
        if plan.draining:
            counts = {
                member: str(held[member]) if member in held else messages.JUST_DROPPED for member in plan.draining
            }
            conditions.append(Condition.true(DRAINING_CONDITION, *messages.draining(counts)))
        if (dispatching := self._dispatching()) is not None:
            conditions.append(dispatching)
        return conditions

    def _dispatching(self) -> Condition | None:
        """Say who dispatches where it is not us, or where that hangs on a restart of Kueue; else nothing."""
        kueue_now, where = self.objects.kueue.now, self.objects.kueue.where
        if not self.objects.dispatches and kueue_now.written.dispatcher_name != DISPATCHER_NAME:
            return Condition.false(DISPATCHING, *messages.other_dispatcher(kueue_now.written.dispatcher_name, where))
        if kueue_now.outdated:
            details = messages.restart_needed(kueue_now, where, self.objects.kueue.source.deployment, DISPATCHER_NAME)
            return (Condition.true if self.objects.dispatches else Condition.false)(DISPATCHING, *details)
        if kueue_now.written.dispatcher_name != DISPATCHER_NAME:
            return Condition.true(DISPATCHING, *messages.restart_not_seen(where))
        return None

    def _active(self, check: kueue.AdmissionCheck, plan: ConfigPlan) -> Condition:
        placement = placement_of(check)
        if check.is_deleting:
            return Condition.false(ACTIVE, *messages.check_deleted(plan.draining))
        namespace = self.objects.settings.kueue_namespace
        if self.hub.get(cluster.Placement, placement, namespace) is None:
            return Condition.false(ACTIVE, *messages.placement_not_found(placement, namespace, plan.draining))
        if not plan.serving:
            return Condition.false(ACTIVE, *messages.no_clusters(placement, plan.left_out, plan.draining))
        inactive = find(check.status.conditions, ACTIVE)
        if inactive is not None and self._unnoticed(check):
            return inactive
        serving = [member for member in plan.serving if member not in plan.unusable]
        details = messages.generated(
            plan.left_out,
            plan.unusable,
            refused=_present((member, self.objects.refusal(member)) for member in serving),
            missing_kinds=_present((member, self.objects.missing_kinds(member)) for member in serving),
        )
        return Condition.true(ACTIVE, *details)

    def _unnoticed(self, check: kueue.AdmissionCheck) -> float:
        """Return for how many seconds a check stays inactive, since a ClusterQueue does not show that it is.

        Were it active again before Kueue has written that, its scheduler would not be woken, and would leave lying whom
        it queued meanwhile until another Workload changes.
        """
        condition = find(check.status.conditions, ACTIVE)
        if condition is None or condition.is_true or condition.last_transition_time is None:
            return 0.0
        queues = [queue for queue in self.hub.list(kueue.ClusterQueue) if check.name in queue.checks]
        if not any(queue.is_active for queue in queues):
            return 0.0
        return max(0.0, UNNOTICED_SECONDS - (clock.now() - condition.last_transition_time).total_seconds())


def _observed(condition: Condition, check: kueue.AdmissionCheck) -> Condition:
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=check.metadata.generation,
    )


def _present(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {member: why for member, why in parts if why}
