"""Keep the MultiKueueConfig of a Placement equal to what it chose, and drain what it dropped.

Reads:   AdmissionCheck, Placement, PlacementDecision, AddOnPlacementScore, ManagedCluster, MultiKueueConfig,
         MultiKueueCluster, Workload, the kubeconfig secrets, the ClusterProfiles where members name them, Kueue's
         configuration, and the workers themselves
Writes:  MultiKueueConfig, MultiKueueCluster, AdmissionCheck status and finalizer
Mirrors: addon-contrib, kueue-addon/pkg/hub/controllers/admissioncheck

A key is the name of a Placement, so that several checks on one Placement share one config, which lives as long as any
of them. A check that names no Placement has the key `!<check>`.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import orjson

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import Condition, timestamp
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, GIVEN_UP, placement_of
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object
from fleetqueue.controllers.placement_admission import access, messages
from fleetqueue.controllers.placement_admission.check_status import CheckStatus
from fleetqueue.controllers.placement_admission.draining import Held, Plan, decide, to_ask
from fleetqueue.controllers.placement_admission.flapping import HOUR, Steadied, steady
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.identities import Identities
from fleetqueue.controllers.placement_admission.ledger import Ledger
from fleetqueue.controllers.placement_admission.measures import Measures
from fleetqueue.controllers.placement_admission.names import ACTIVE, DRAINING, FINALIZER, PLACEMENT_LABEL
from fleetqueue.controllers.placement_admission.selection import Selection, select
from fleetqueue.controllers.placement_admission.silences import Silences
from fleetqueue.controllers.placement_admission.wakers import Wakers, by_name, of_check, of_decision
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.rules.placement_eligibility import may_stay
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
        silences: Silences,
        identities: Identities,
        ledger: Ledger,
        measures: Measures,
        limit: int,
    ) -> None:
        super().__init__(hub, metrics)
        self.objects = objects
        self.settings = objects.settings
        self.workers = workers
        self.silences = silences
        self.identities = identities
        self.ledger = ledger
        self.check_status = CheckStatus(objects, measures)
        self.wakers = Wakers(objects)
        self.limit = limit
        self._moves: dict[str, list[float]] = defaultdict(list)
        self._leftovers_since: dict[str, float] = {}
        """Since when a Placement's draining clusters have only copies that Kueue is about to remove."""
        self._unlisted: dict[str, float] = {}
        """When we took each member off its config; others that are not listed were taken off by somebody else."""
        self._answers: dict[str, tuple[float, set[str]]] = {}
        """When each draining member was last asked, and what it held."""

    def watches(self) -> Iterable[Watch[Any]]:
        namespace, wakers = self.settings.kueue_namespace, self.wakers
        if self.objects.follows_profiles:
            yield Watch(ClusterProfile, wakers.of_profile, namespace=namespace)
        yield from (
            Watch(kueue.AdmissionCheck, of_check),
            Watch(cluster.Placement, by_name, namespace=namespace),
            Watch(cluster.PlacementDecision, of_decision, namespace=namespace),
            Watch(kueue.MultiKueueConfig, by_name),
            Watch(kueue.MultiKueueCluster, wakers.of_member),
            Watch(kueue.Workload, wakers.of_workload, facts=lambda workload: (workload.is_live, workload.clusters)),
            Watch(cluster.ManagedCluster, wakers.of_cluster),
            Watch(Secret, wakers.of_secret, namespace=namespace),
        )
        yield from self.objects.kueue.watches(wakers.of_kueue)

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
        if not checks and config is None and not self._members_of(key):
            return
        for check in checks:
            if not check.is_deleting:
                await self.hub.add_finalizer(check, FINALIZER)
        steadied = self._wanted(key, checks, config)
        plan, held = await self._plan(key, steadied.selection, config)
        await self._write(key, plan, steadied.selection, config)
        remaining = await self._retire(key, plan)
        await self.check_status.explain(key, checks, plan, held, config)
        await self._finish(key, checks, plan, remaining)
        self._come_back(key, plan, held, remaining, steadied)

    # Deciding

    def _wanted(
        self, key: str, checks: Sequence[kueue.AdmissionCheck], config: kueue.MultiKueueConfig | None
    ) -> Steadied:
        """Return what is selected now; nothing where no check, or no Placement, asks for anything."""
        placement = self.hub.get(cluster.Placement, key, self.settings.kueue_namespace)
        if placement is None or all(check.is_deleting for check in checks):
            return Steadied(Selection())
        decisions = self.objects.decisions_of(key)
        serving = [m for m in (config.spec.clusters if config else ()) if m not in marks_of(config)]
        current = [self.objects.cluster_of(member, key) for member in serving]
        chosen = {decision.cluster_name for d in decisions for decision in d.status.decisions}
        decided = select(placement, decisions, self.objects.scores(placement, chosen))
        comparable = self.objects.recomputed_scores(placement, {*chosen, *current})
        now = clock.monotonic()
        self._moves[key] = [moment for moment in self._moves[key] if now - moment < max(HOUR, self.settings.min_dwell)]
        steadied = steady(
            replace(decided, clusters=decided.clusters[: self.limit]),
            current,
            score_of=comparable.__getitem__,
            is_eligible=lambda name: self._is_eligible(placement, name),
            moves=self._moves[key],
            now=now,
            settings=self.settings,
        )
        if len(decided.clusters) <= self.limit:
            return steadied
        kept = steadied.selection.clusters
        rest = [name for name in decided.clusters if name not in kept]  # for when one of the chosen cannot be used
        return replace(steadied, selection=replace(steadied.selection, clusters=(*kept, *rest)))

    def _is_eligible(self, placement: cluster.Placement, name: str) -> bool:
        member = self.hub.get(cluster.ManagedCluster, name)
        return member is not None and may_stay(placement, member, clock.now())

    async def _plan(
        self, key: str, selection: Selection, config: kueue.MultiKueueConfig | None
    ) -> tuple[Plan, Mapping[str, Held]]:
        # Nothing of ours can run on the hub as on a worker, and as long as it is listed, Kueue deletes its Workloads.
        listed = [m for m in self._listed(key, config) if not self.identities.is_hub(m, key)]
        marks = marks_of(config)
        selected = {self.settings.member(key, name): name for name in selection.clusters}
        taken = {member: why for member, name in selected.items() if (why := self._taken(key, member, name, listed))}
        taken = self.identities.refused(selected, listed, key) | taken
        wanted = {member: name for member, name in selected.items() if member not in taken}
        unusable = {member: why for member, name in wanted.items() if (why := self._unusable(name))}
        asked = to_ask(list(wanted), listed=listed, marks=marks, unusable=unusable, limit=self.limit)
        answers = await asyncio.gather(*(self._held(key, member) for member in asked))
        held = dict(zip(asked, answers, strict=True))
        plan = decide(
            list(wanted),
            is_decided=selection.is_decided,
            listed=listed,
            marks=marks,
            held=held,
            unusable=unusable,
            limit=self.limit,
            by_score=not self.objects.dispatches,
            now=clock.now(),
        )
        return replace(plan, left_out={**plan.left_out, **taken}), held

    def _listed(self, key: str, config: kueue.MultiKueueConfig | None) -> Sequence[str]:
        """Return what the config lists, and what somebody took off it, or deleted with it.

        Kueue starts what runs there elsewhere within a second, and leaves its copy running: listed again, it is
        drained. Of members that several Placements share, only Workloads tell that one was listed here.
        """
        listed = list(config.spec.clusters if config else ())
        once_listed = set(marks_of(config)) | {
            member.name
            for member in self._members_of(key)
            if not self._is_shared(member) or self.objects.workloads_on(member.name, key)
        }
        if config is None:  # its members may have been deleted too
            once_listed |= self.objects.clusters_of_workloads(key)
        lost = [m for m in sorted(once_listed - set(listed) - set(self._unlisted)) if self._is_in_our_fleet(key, m)]
        return [*listed, *lost[: max(0, self.limit - len(listed))]]

    def _is_in_our_fleet(self, key: str, member: str) -> bool:
        found = self.objects.member(member)
        if found is None:
            return self.objects.is_known(member, key)
        return is_ours(found) and not self.silences.is_given_up(member, key)

    def _taken(self, key: str, member: str, name: str, listed: Sequence[str]) -> str:
        """Say who else has a member's name, or its cluster; empty where nobody has."""
        existing = self.objects.member(member)
        if existing is not None and not is_ours(existing):
            return f"MultiKueueCluster {member} was not made by fleetqueue"
        if existing is not None and (owner := existing.metadata.labels.get(PLACEMENT_LABEL, key)) != key:
            return f"MultiKueueCluster {member} serves placement {owner}"
        for other in listed:
            # Kueue would take the one copy for two, and remove it as the one that lost.
            if other != member and self.objects.cluster_of(other, key) == name:
                return f"{other} is the same cluster, and is drained first"
        return ""

    def _unusable(self, name: str) -> str:
        """Say why a selected cluster cannot be listed yet; empty where it can."""
        why = access.why_unusable(self.settings, name, self.objects.secret(name), self.objects.profile(name))
        return why or self.identities.why_unknown(name)

    async def _held(self, key: str, member: str) -> Held:
        """Ask who still stands on a member: the hub's Workloads, nominations under way, and the worker itself."""
        on_hub = {workload.key for workload in self.objects.workloads_on(member, key)}
        if self.ledger.is_under_way(member):
            on_hub.add("a nomination under way")
        if self._has_twin(key, member):
            return Held(frozenset(on_hub), is_running=bool(on_hub))
        try:
            copies = await self._copies(member, is_in_use=bool(on_hub))
        except (errors.Unreachable, errors.ApiError) as error:
            self.silences.note(member)
            is_nobody = self.objects.member(member) is None and not self.objects.is_known(member, key)
            if self.silences.is_given_up(member, key) or (is_nobody and not on_hub):
                return Held()  # nothing else would ever end this drain
            why = str(error)
            if self.objects.has_left(member, key):
                why = messages.left_and_silent(why, self.settings.lost_timeout)
            return Held(frozenset(on_hub), unreachable=why, is_running=True)
        self.silences.end(member)
        others = {copy for copy in copies if self._belongs_elsewhere(copy, key)}
        return Held(frozenset(on_hub | copies - others), is_running=bool(on_hub), others=frozenset(others))

    async def _copies(self, member: str, *, is_in_use: bool) -> set[str]:
        """Ask a worker what it holds of ours; while the hub itself has Workloads there, once in every poll.

        What it held a while ago is then only counted. Before it is unlisted, it is asked when the hub has none there.
        """
        asked, copies = self._answers.get(member, (-inf, set()))
        if is_in_use and clock.monotonic() - asked < self.settings.drain_poll:
            return copies
        began = clock.monotonic()
        self._answers.pop(member, None)
        copies = await self.workers.held(self.objects.kubeconfig_of(member), self.objects.origins)
        self._answers[member] = (began, copies)
        return copies

    def _has_twin(self, key: str, member: str) -> bool:
        """Tell whether a member that serves is the same cluster: then what runs there tells nothing of this one."""
        config, uid = self.objects.config(key), self.identities.of_member(member, key)
        serving = set(config.spec.clusters) - set(marks_of(config)) if config is not None else set()
        return bool(uid) and any(self.identities.of_member(other, key) == uid for other in serving - {member})

    def _belongs_elsewhere(self, copy: str, key: str) -> bool:
        """Tell whether a copy on a worker was sent there through another config."""
        namespace, _, name = copy.partition("/")
        workload = self.hub.get(kueue.Workload, name, namespace)
        config = self.objects.config_of(workload) if workload is not None else ""
        return config not in ("", key)

    # Writing

    async def _write(self, key: str, plan: Plan, selection: Selection, config: kueue.MultiKueueConfig | None) -> None:
        """Write members before the config that lists them, so that Kueue never meets a missing one."""
        members = self._members_to_keep(key, plan, selection)
        for member, name in members.items():
            if await self.hub.ensure(kueue.MultiKueueCluster, self._member(key, member, name)):
                log.info("member written", config=key, member=member)
        for member in set(config.spec.clusters if config else ()) - set(plan.listed):
            self._unlisted[member] = clock.monotonic()
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

    def _members_to_keep(self, key: str, plan: Plan, selection: Selection) -> Mapping[str, str]:
        """Return the members that serve, and draining ones that somebody deleted: without one Kueue loses its jobs.

        One that cannot be used now stays as it is: under another `access` its old source may still be connected.
        """
        names = {self.settings.member(key, name): name for name in selection.clusters}
        kept = {member for member in plan.unusable if self.objects.member(member) is not None}
        serving = {member: names[member] for member in plan.serving if member in names and member not in kept}
        lost = {m: self.settings.cluster(key, m) for m in plan.draining if self.objects.member(m) is None}
        return serving | {m: name for m, name in lost.items() if self.objects.is_known(m, key)}

    def _member(self, key: str, member: str, name: str) -> dict[str, Any]:
        labels = {**OURS, CLUSTER_LABEL: name}
        if self.settings.naming == "placement":
            labels[PLACEMENT_LABEL] = key
        spec = {"clusterSource": access.source(self.settings, name)}
        return kueue.MultiKueueCluster.manifest(member, labels=labels, annotations={GIVEN_UP: None}, spec=spec)

    def _note_change(self, key: str, plan: Plan, config: kueue.MultiKueueConfig | None) -> None:
        before = set(config.spec.clusters) - set(marks_of(config)) if config else set()
        if before and before != set(plan.serving):
            self._moves[key].append(clock.monotonic())

    async def _retire(self, key: str, plan: Plan) -> Mapping[str, float]:
        """Delete members that no config lists, after one more look at what they hold.

        Returns those that remain, each with the seconds after which to look again.
        """
        remaining = {}
        self._unlisted = {name: when for name, when in self._unlisted.items() if self.objects.member(name) is not None}
        for member in self._members_of(key):
            if member.name in plan.listed:
                self._unlisted.pop(member.name, None)
            if member.name in plan.listed or self._is_listed(member.name):
                continue
            unlisted = self._unlisted.setdefault(member.name, clock.monotonic())
            if (left := unlisted + self.settings.linger - clock.monotonic()) > 0:
                remaining[member.name] = left
            elif again_in := await self._look_once_more(key, member):
                remaining[member.name] = again_in
            else:
                await self.hub.ensure_absent(member)
                self._hang_up(member)
        return remaining

    async def _look_once_more(self, key: str, member: kueue.MultiKueueCluster) -> float:
        """Return after how many seconds to look at an unlisted member again; 0 where it may go."""
        if self.identities.is_hub(member.name, key):
            return 0.0
        held = await self._held(key, member.name)
        if held.workloads:
            await self._relist(key, member.name, held)
        if held.is_empty and not (held.others and self._is_shared(member)):
            return 0.0
        return self.settings.drain_poll if held.unreachable else self.settings.linger

    def _hang_up(self, gone: kueue.MultiKueueCluster) -> None:
        """Close our own connection to a cluster with its last member."""
        self._answers.pop(gone.name, None)
        secret = self.objects.secret_of(gone)
        rest = [m for m in self.hub.list(kueue.MultiKueueCluster) if m.name != gone.name]
        if all(self.objects.secret_of(member) != secret for member in rest):
            self.workers.forget(secret)

    async def _relist(self, key: str, member: str, held: Held) -> None:
        """Take a cluster back that got work while it was being unlisted: what it holds must not be started twice."""
        config = self.objects.config(key)
        listed = [*(config.spec.clusters if config else ()), member]
        if len(listed) > self.limit:
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
        self, key: str, checks: Sequence[kueue.AdmissionCheck], plan: Plan, remaining: Mapping[str, float]
    ) -> None:
        """Let deleted checks go: at once where another keeps the config, else when nothing of ours is left."""
        others = any(not check.is_deleting for check in checks)
        gone = not plan.listed and not remaining and self.objects.config(key) is None
        for check in checks:
            if check.is_deleting and (others or gone):
                await self.hub.remove_finalizer(check, FINALIZER)

    def _come_back(
        self, key: str, plan: Plan, held: Mapping[str, Held], remaining: Mapping[str, float], steadied: Steadied
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
        if steadied.again_in:
            waits.append((steadied.again_in, steadied.held_back))
        if waits:
            raise errors.RetryLater(*min(waits))

    # Members

    def _members_of(self, key: str) -> list[kueue.MultiKueueCluster]:
        """Return our members that serve this Placement, or any where members are shared."""
        return [
            member
            for member in self.hub.list(kueue.MultiKueueCluster)
            if is_ours(member) and (self._is_shared(member) or member.metadata.labels[PLACEMENT_LABEL] == key)
        ]

    def _is_shared(self, member: kueue.MultiKueueCluster) -> bool:
        return PLACEMENT_LABEL not in member.metadata.labels

    def _is_listed(self, member: str) -> bool:
        return any(member in config.spec.clusters for config in self.hub.list(kueue.MultiKueueConfig))
