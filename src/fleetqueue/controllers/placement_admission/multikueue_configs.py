"""Keep the MultiKueueConfig of a Placement equal to what it chose, and drain what it dropped.

Reads:   AdmissionCheck, Placement, PlacementDecision, AddOnPlacementScore, ManagedCluster, MultiKueueConfig,
         MultiKueueCluster, Workload, the kubeconfig secrets, the ClusterProfiles where members name them, Kueue's
         configuration, and the workers themselves
Writes:  MultiKueueConfig, MultiKueueCluster, AdmissionCheck status and finalizer
Mirrors: addon-contrib, kueue-addon/pkg/hub/controllers/admissioncheck

A key is the name of a Placement, so that several checks on one Placement share one config, which lives as long as any
of them. A check that names no Placement has the key `!<check>`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, placement_of
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.check_status import CheckStatus
from fleetqueue.controllers.placement_admission.config_lookup import ConfigLookup
from fleetqueue.controllers.placement_admission.copies import Copies
from fleetqueue.controllers.placement_admission.drain_lookup import DrainLookup
from fleetqueue.controllers.placement_admission.draining import ConfigPlan, Holdings
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.identities import Identities
from fleetqueue.controllers.placement_admission.members import Members, is_shared
from fleetqueue.controllers.placement_admission.metrics import PlacementAdmissionMetrics
from fleetqueue.controllers.placement_admission.names import ACTIVE, DRAINING, FINALIZER, PLACEMENT_LABEL
from fleetqueue.controllers.placement_admission.selection import Selection, Steadied
from fleetqueue.controllers.placement_admission.sent_nominations import SentNominations
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import OURS, Cluster, is_ours, is_released, released_labels
from fleetqueue.runtime.controller import Controller, Watch
from fleetqueue.runtime.logs import Log
from fleetqueue.runtime.metrics import Metrics

log = Log("configs")


class MultiKueueConfigController(Controller):
    name = "multikueue-configs"
    concurrency = 4
    """More than one, since a draining cluster that does not answer takes seconds to ask."""

    def __init__(
        self,
        hub: Cluster,
        metrics: Metrics,
        *,
        objects: HubObjects,
        workers: Workers,
        copies: Copies,
        identities: Identities,
        sent_nominations: SentNominations,
        admission_metrics: PlacementAdmissionMetrics,
        limit: int,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self.identities = identities
        self.check_status = CheckStatus(objects, admission_metrics)
        self.members = Members(objects, workers)
        self.drains = DrainLookup(objects, workers, copies, identities, sent_nominations)
        self.lookup = ConfigLookup(objects, self.members, self.drains, identities, limit)
        self.concerned = ConcernedPlacements(objects)
        self._leftovers_since: dict[str, float] = {}
        """Since when a Placement's draining clusters have only copies that Kueue is about to remove."""

    def watches(self) -> Iterable[Watch[Any]]:
        namespace, concerned = self.settings.kueue_namespace, self.concerned
        if self.objects.follows_profiles:
            yield Watch(ClusterProfile, concerned.of_profile, namespace=namespace)
        yield from (
            Watch(kueue.AdmissionCheck, of_check),
            Watch(cluster.Placement, by_name, namespace=namespace),
            Watch(cluster.PlacementDecision, of_decision, namespace=namespace),
            Watch(kueue.MultiKueueConfig, by_name),
            Watch(kueue.MultiKueueCluster, concerned.of_member),
            Watch(kueue.Workload, concerned.of_workload, facts=lambda workload: (workload.is_live, workload.clusters)),
            Watch(cluster.ManagedCluster, concerned.of_cluster),
            Watch(Secret, concerned.of_secret, namespace=namespace),
            Watch(kueue.ClusterQueue, concerned.of_queue, facts=lambda queue: (queue.is_active, queue.checks)),
        )
        yield from self.objects.kueue.watches(concerned.of_kueue)

    async def reconcile(self, key: str) -> None:
        if key.startswith("!"):
            await self._refuse(key[1:])
            return
        checks = self.objects.checks_on(key)
        config = self.objects.config(key)
        if released := self._released(key, checks, config):
            await self._take_back(released)
            return
        if config is not None and not is_ours(config):
            await self._leave_alone(checks, config)
            return
        if not checks and config is None and not self.members.of(key):
            return
        for check in checks:
            if not check.is_deleting:
                await self.hub.add_finalizer(check, FINALIZER)
        steadied = self.lookup.select(key, checks, config)
        plan, held = await self.lookup.plan(key, steadied.selection, config)
        await self._write(key, plan, steadied.selection, config)
        remaining = await self._retire(key, plan)
        unnoticed = await self.check_status.explain(key, checks, plan, held, config)
        await self._finish(key, checks, plan, remaining)
        self._come_back(key, plan, held, remaining, steadied, unnoticed)

    # Writing

    async def _write(
        self, key: str, plan: ConfigPlan, selection: Selection, config: kueue.MultiKueueConfig | None
    ) -> None:
        """Write members before the config that lists them, so that Kueue never meets a missing one.

        A config that somebody has changed since it was planned with, as another leader may have, is planned anew.
        """
        live = self.objects.config(key)
        if (live.precondition if live else None) != (config.precondition if config else None):
            raise errors.Conflict(f"MultiKueueConfig {key} changed meanwhile")
        members = self.lookup.members_to_write(key, plan, selection)
        for member, name in members.items():
            await self.members.write(key, member, name)
        for member in set(config.spec.clusters if config else ()) - set(plan.listed):
            self.members.note_unlisted(member)
        if not plan.listed:
            if config is not None and await self.hub.ensure_absent(config):
                log.info("config deleted", config=key)
            return
        marks = {member: timestamp(since) for member, since in sorted(plan.marks.items())}
        annotation = orjson.dumps(marks).decode() if marks else None
        manifest = kueue.MultiKueueConfig.manifest(
            key, annotations={DRAINING: annotation}, labels=dict(OURS), spec={"clusters": list(plan.listed)}
        )
        if await self.hub.ensure(kueue.MultiKueueConfig, manifest):
            log.info("config written", config=key, serving=plan.serving, draining=plan.draining)
            self._note_change(key, plan, config)
        for name in members.values():  # last, since the TLS of a new connection would hold the config up
            self.workers.follow(self.objects.secret(name))

    def _note_change(self, key: str, plan: ConfigPlan, config: kueue.MultiKueueConfig | None) -> None:
        before = set(config.spec.clusters) - set(marks_of(config)) if config else set()
        if before and before != set(plan.serving):
            self.lookup.note_move(key)

    async def _retire(self, key: str, plan: ConfigPlan) -> Mapping[str, float]:
        """Delete members that no config lists, after one more look at what they hold.

        Returns those that remain, each with the seconds after which to look again.
        """
        remaining = {}
        for member, left in self.members.unlisted(key, plan.listed):
            if left > 0:
                remaining[member.name] = left
            elif again_in := await self._look_once_more(key, member):
                remaining[member.name] = again_in
            else:
                await self.members.remove(member)
                self.drains.forget(member.name)
        return remaining

    async def _look_once_more(self, key: str, member: kueue.MultiKueueCluster) -> float:
        """Return after how many seconds to look at an unlisted member again; 0 where it may go."""
        if self.identities.is_hub(member.name, key):
            return 0.0
        held = await self.drains.held(key, member.name)
        if held.workloads:
            await self._relist(key, member.name, held)
        if held.is_empty and not (held.others and is_shared(member)):
            return 0.0
        return self.settings.drain_poll if held.unreachable else self.settings.linger

    async def _relist(self, key: str, member: str, held: Holdings) -> None:
        """Take a cluster back that got work while it was being unlisted: what it holds must not be started twice."""
        config = self.objects.config(key)
        listed = [*(config.spec.clusters if config else ()), member]
        if len(listed) > self.lookup.limit:
            log.warning("no place to list a cluster again", config=key, member=member, held=held)
            return
        marks = {m: timestamp(since) for m, since in {**marks_of(config), member: clock.now()}.items()}
        manifest = kueue.MultiKueueConfig.manifest(
            key,
            annotations={DRAINING: orjson.dumps(marks).decode()},
            labels=dict(OURS),
            spec={"clusters": sorted(listed)},
        )
        await self.hub.ensure(kueue.MultiKueueConfig, manifest)
        log.warning("cluster listed again", config=key, member=member, held=held)

    # What an earlier installation let go

    def _released(
        self, key: str, checks: Sequence[kueue.AdmissionCheck], config: kueue.MultiKueueConfig | None
    ) -> Sequence[Object]:
        """Return what to take back next: members before the config, which would drain those that are not ours."""
        if all(check.is_deleting for check in checks):
            return ()
        if config is not None and not is_ours(config) and not is_released(config):
            return ()
        listed = config.spec.clusters if config is not None else ()
        members = [
            member
            for member in self.hub.list(kueue.MultiKueueCluster)
            if is_released(member) and (member.name in listed or released_labels(member).get(PLACEMENT_LABEL) == key)
        ]
        return members or ([config] if config is not None and is_released(config) else ())

    async def _take_back(self, released: Sequence[Object]) -> None:
        """Make them ours again; their watches wake us to go on."""
        for obj in released:
            await self.hub.take_back(obj)
            await self.hub.events.normal(obj, *messages.taken_over())
            log.info("taken back", object=obj)

    # Checks that cannot be served

    async def _refuse(self, name: str) -> None:
        check = self.hub.get(kueue.AdmissionCheck, name)
        if check is None or check.spec.controller_name != CHECK_CONTROLLER or placement_of(check):
            return
        if check.is_deleting:
            await self.hub.remove_finalizer(check, FINALIZER)
            return
        condition = Condition.false(ACTIVE, *messages.bad_parameters())
        await self.check_status.set_conditions(check, [condition])

    async def _leave_alone(self, checks: Sequence[kueue.AdmissionCheck], config: kueue.MultiKueueConfig) -> None:
        for member, why in self.identities.mistakes(config.spec.clusters).items():
            await self.hub.events.warning(config, *messages.listed_by_mistake(member, why))
        condition = Condition.false(ACTIVE, *messages.config_not_ours(config.name))
        for check in checks:
            if check.is_deleting:
                await self.hub.remove_finalizer(check, FINALIZER)
            else:
                await self.check_status.set_conditions(check, [condition])

    # Ending

    async def _finish(
        self, key: str, checks: Sequence[kueue.AdmissionCheck], plan: ConfigPlan, remaining: Mapping[str, float]
    ) -> None:
        """Let deleted checks go: at once where another keeps the config, else when nothing of ours is left."""
        others = any(not check.is_deleting for check in checks)
        gone = not plan.listed and not remaining and self.objects.config(key) is None
        for check in checks:
            if check.is_deleting and (others or gone):
                await self.hub.remove_finalizer(check, FINALIZER)

    def _come_back(
        self,
        key: str,
        plan: ConfigPlan,
        held: Mapping[str, Holdings],
        remaining: Mapping[str, float],
        steadied: Steadied,
        unnoticed: float,
    ) -> None:
        """Say when to look again without being woken, if ever."""
        waits = [(again_in, "an unlisted cluster is looked at once more") for again_in in remaining.values()]
        if any(member in held and not held[member].is_running for member in plan.draining):
            # Kueue removes copies within seconds; what is there for longer, such as another hub's, is asked for less.
            age = clock.monotonic() - self._leftovers_since.setdefault(key, clock.monotonic())
            waits.append((min(max(1.0, age / 2), self.settings.drain_poll), "a cluster has copies left"))
        else:
            self._leftovers_since.pop(key, None)
        if plan.draining:
            waits.append((self.settings.drain_poll, "a cluster is draining"))
        if any(member in plan.left_out for member in held):
            waits.append((self.settings.drain_poll, "a cluster that comes back has old copies"))
        if unnoticed:
            waits.append((unnoticed, "Kueue does not show yet that the queue was inactive"))
        if steadied.again_in:
            waits.append((steadied.again_in, steadied.held_back))
        if waits:
            raise errors.RetryLater(*min(waits))


class ConcernedPlacements:
    """Whom a change concerns: from an object to the Placements whose configs must be looked at again."""

    def __init__(self, objects: HubObjects) -> None:
        self.hub = objects.hub
        self.objects = objects
        self.settings = objects.settings

    def of_member(self, member: kueue.MultiKueueCluster) -> Iterable[str]:
        label = member.metadata.labels.get(PLACEMENT_LABEL)
        if label:
            return [label]
        # A foreign one may have, or have had, the name that one of ours shall have.
        selecting = self._selecting(lambda placement, name: self.settings.member(placement, name) == member.name)
        return {*self.objects.configs_listing(member.name), *selecting}

    def of_workload(self, workload: kueue.Workload) -> Iterable[str]:
        """Wake a config when a Workload comes to, or leaves, a cluster that it drains; others do not care."""
        if not (workload.is_live and workload.clusters):
            return []
        name = self.objects.config_of(workload)
        draining = marks_of(self.objects.config(name)) if name else {}
        return [name] if any(member in draining for member in workload.clusters) else []

    def of_cluster(self, member: cluster.ManagedCluster) -> Iterable[str]:
        """Wake who lists a cluster when it goes away."""
        if member.is_deleting or self.hub.get(cluster.ManagedCluster, member.name) is None:
            return self._listing(member.name)
        return []

    def of_secret(self, secret: Secret) -> Iterable[str]:
        return self._selecting(lambda _, name: self.settings.secret(name) == secret.name)

    def of_queue(self, queue: kueue.ClusterQueue) -> Iterable[str]:
        """Wake whose check may become active, now that Kueue shows that the queue was inactive."""
        checks = (self.hub.get(kueue.AdmissionCheck, name) for name in queue.checks)
        return {placement for check in checks if check is not None and (placement := placement_of(check))}

    def of_profile(self, profile: ClusterProfile) -> Iterable[str]:
        return self._selecting(lambda _, name: name == profile.name)

    def of_kueue(self) -> Iterable[str]:
        """Kueue's configuration changed: every condition and order may."""
        return {placement for check in self.hub.list(kueue.AdmissionCheck) if (placement := placement_of(check))}

    def _selecting(self, is_meant: Callable[[str, str], bool]) -> Iterable[str]:
        """Return the Placements that have chosen a cluster that is meant, by the names of both."""
        return [
            placement
            for decision in self.hub.list(cluster.PlacementDecision)
            for placement in of_decision(decision)
            if any(is_meant(placement, d.cluster_name) for d in decision.status.decisions)
        ]

    def _listing(self, name: str) -> Iterable[str]:
        return [
            config.name
            for config in self.hub.list(kueue.MultiKueueConfig)
            if any(self.objects.cluster_of(member, config.name) == name for member in config.spec.clusters)
        ]


def by_name(obj: Object) -> Iterable[str]:
    return (obj.name,)


def of_check(check: kueue.AdmissionCheck) -> Iterable[str]:
    """A check that names no Placement has a key of its own."""
    if check.spec.controller_name != CHECK_CONTROLLER:
        return ()
    return (placement_of(check) or f"!{check.name}",)


def of_decision(decision: cluster.PlacementDecision) -> Iterable[str]:
    placement = decision.metadata.labels.get(cluster.PLACEMENT_LABEL)
    return (placement,) if placement else ()
