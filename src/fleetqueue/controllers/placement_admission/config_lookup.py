"""What the MultiKueueConfig of a Placement shall list: gathers what hub and clusters say, and `draining` decides."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.drain_lookup import DrainLookup
from fleetqueue.controllers.placement_admission.draining import ConfigPlan, Holdings, decide, to_ask
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.identities import Identities
from fleetqueue.controllers.placement_admission.members import Members, is_shared, why_unusable
from fleetqueue.controllers.placement_admission.selection import HOUR, Selection, Steadied, select, steady
from fleetqueue.rules.placement_eligibility import may_stay
from fleetqueue.runtime.cluster import is_ours


class ConfigLookup:
    def __init__(
        self, objects: HubObjects, members: Members, drains: DrainLookup, identities: Identities, limit: int
    ) -> None:
        """`limit`: how many clusters a config may list."""
        self.hub = objects.hub
        self.objects = objects
        self.settings = objects.settings
        self.members = members
        self.drains = drains
        self.identities = identities
        self.limit = limit
        self._moves: dict[str, list[float]] = defaultdict(list)
        """When the selection of each Placement has changed, within the last hour."""

    def note_move(self, key: str) -> None:
        self._moves[key].append(clock.monotonic())

    def select(
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

    async def plan(
        self, key: str, selection: Selection, config: kueue.MultiKueueConfig | None
    ) -> tuple[ConfigPlan, Mapping[str, Holdings]]:
        """Return what to list, and what the clusters that were asked hold: dropped ones, and those that come back."""
        # Nothing of ours can run on the hub as on a worker, and as long as it is listed, Kueue deletes its Workloads.
        listed = [m for m in self._listed(key, config) if not self.identities.is_hub(m, key)]
        marks = marks_of(config)
        selected = {self.settings.member(key, name): name for name in selection.clusters}
        taken = {member: why for member, name in selected.items() if (why := self._taken(key, member, name, listed))}
        taken = self.identities.refused(selected, listed, key) | taken
        wanted = {member: name for member, name in selected.items() if member not in taken}
        unusable = {member: why for member, name in wanted.items() if (why := self._unusable(name))}
        newcomers = {member: name for member, name in wanted.items() if member not in (*listed, *unusable)}
        left_behind = await self._left_behind(key, newcomers)
        unusable |= {member: messages.left_behind(wanted[member], keys) for member, keys in left_behind.items()}
        asked = to_ask(list(wanted), listed=listed, marks=marks, unusable=unusable, limit=self.limit)
        answers = await asyncio.gather(*(self.drains.held(key, member) for member in asked))
        held = dict(zip(asked, answers, strict=True))
        held |= {member: Holdings(frozenset(keys)) for member, keys in left_behind.items()}
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

    def members_to_write(self, key: str, plan: ConfigPlan, selection: Selection) -> Mapping[str, str]:
        """Return the members that serve, and draining ones that somebody deleted: without one Kueue loses its jobs.

        One that cannot be used now stays as it is: under another `access` its old source may still be connected.
        """
        names = {self.settings.member(key, name): name for name in selection.clusters}
        kept = {member for member in plan.unusable if self.objects.member(member) is not None}
        serving = {member: names[member] for member in plan.serving if member in names and member not in kept}
        lost = {m: self.settings.cluster(key, m) for m in plan.draining if self.objects.member(m) is None}
        return serving | {m: name for m, name in lost.items() if self.objects.is_known(m, key)}

    async def _left_behind(self, key: str, newcomers: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the members that must not be listed yet, and what they hold from before."""
        if not newcomers or not self.objects.clusters_of_workloads(key):
            return {}
        answers = await asyncio.gather(
            *(self.drains.leftovers(key, member, self.objects.secret(name)) for member, name in newcomers.items())
        )
        return {member: leftovers for member, leftovers in zip(newcomers, answers, strict=True) if leftovers}

    def _is_eligible(self, placement: cluster.Placement, name: str) -> bool:
        member = self.hub.get(cluster.ManagedCluster, name)
        return member is not None and may_stay(placement, member, clock.now())

    def _listed(self, key: str, config: kueue.MultiKueueConfig | None) -> Sequence[str]:
        """Return what the config lists, and what somebody took off it, or deleted with it.

        Kueue starts what runs there elsewhere within a second, and leaves its copy running: listed again, it is
        drained. Of members that several Placements share, only Workloads tell that one was listed here.
        """
        listed = list(config.spec.clusters if config else ())
        once_listed = set(marks_of(config)) | {
            member.name
            for member in self.members.of(key)
            if not is_shared(member) or self.objects.workloads_on(member.name, key)
        }
        if config is None:  # its members may have been deleted too
            once_listed |= self.objects.clusters_of_workloads(key)
        missing = sorted(member for member in once_listed - set(listed) if not self.members.was_unlisted(member))
        lost = [member for member in missing if self._is_in_our_fleet(key, member)]
        return [*listed, *lost[: max(0, self.limit - len(listed))]]

    def _is_in_our_fleet(self, key: str, member: str) -> bool:
        multikueue_cluster = self.objects.member(member)
        if multikueue_cluster is None:
            return self.objects.is_known(member, key)
        return is_ours(multikueue_cluster) and not self.drains.copies.is_given_up_by_all(member, key)

    def _taken(self, key: str, member: str, name: str, listed: Sequence[str]) -> str:
        """Say who else has a member's name, or its cluster; empty where nobody has."""
        if owner := self.members.owner(key, member):
            return owner
        for other in listed:
            # Kueue would take the one copy for two, and remove it as the one that lost.
            if other != member and self.objects.cluster_of(other, key) == name:
                return f"{other} is the same cluster, and is drained first"
        return ""

    def _unusable(self, name: str) -> str:
        """Say why a selected cluster cannot be listed yet; empty where it can."""
        why = why_unusable(self.settings, name, self.objects.secret(name), self.objects.profile(name))
        return why or self.identities.why_unknown(name)
