"""What is known of the clusters that a Workload could be sent to: scores, room, and what was sent there already.

Reads: Placement, AddOnPlacementScore, ManagedCluster, MultiKueueConfig, MultiKueueCluster, and the workers' queues
"""

from collections.abc import Mapping, Sequence

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import is_refused
from fleetqueue.api.quantity import Amounts, add
from fleetqueue.api.usage_scores import ScoreScale, loss
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.arrivals import Arrivals
from fleetqueue.controllers.placement_admission.candidate_ranking import PACK, SPREAD, Candidate, shortage
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects, marks_of
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS, STRATEGY
from fleetqueue.controllers.placement_admission.selection import add_on_scores
from fleetqueue.controllers.placement_admission.sent_nominations import SentNominations
from fleetqueue.controllers.placement_admission.workers import Workers
from fleetqueue.runtime.cluster import is_ours


class CandidateLookup:
    def __init__(
        self, objects: HubObjects, workers: Workers, sent_nominations: SentNominations, arrivals: Arrivals
    ) -> None:
        self._hub = objects.hub
        self._settings = objects.settings
        self._objects = objects
        self._workers = workers
        self._sent_nominations = sent_nominations
        self._arrivals = arrivals

    def of(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[Candidate]:
        """Return every cluster that a config lists, with what decides about it, or why it cannot be nominated."""
        placement = self._hub.get(cluster.Placement, config.name, self._settings.kueue_namespace)
        members = config.spec.clusters
        names = [self._objects.cluster_of(member, config.name) for member in members] if is_ours(config) else []
        scores = self._objects.scores(placement, names) if placement is not None else {}
        losses = add_on_scores(placement) if placement is not None else []
        allowed = allowed_clusters(workload)
        return [self._candidate(workload, config, member, allowed, scores, losses) for member in members]

    def unknown(self, workload: kueue.Workload, config: kueue.MultiKueueConfig) -> list[str]:
        """Say of each cluster that a job allows by name, and that the config does not list, why that is."""
        listed = {name for m in config.spec.clusters for name in (m, self._objects.cluster_of(m, config.name))}
        return [
            messages.not_selected(name, config.name)
            if self._hub.get(cluster.ManagedCluster, self._settings.cluster(config.name, name))
            else messages.no_such_cluster(name)
            for name in sorted(allowed_clusters(workload) - listed)
        ]

    def strategy(self, workload: kueue.Workload, placement: str) -> str:
        """Return how a Workload's check divides jobs among equal clusters; of several, one that packs decides."""
        checks = [check for check in self._objects.checks_on(placement) if workload.check(check.name)]
        return PACK if any(check.metadata.annotations.get(STRATEGY) == PACK for check in checks) else SPREAD

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
            return Candidate(member, excluded="" if self._objects.is_connected(member) else messages.NOT_CONNECTED)
        name = self._objects.cluster_of(member, config.name)
        if member in marks_of(config):
            return Candidate(member, excluded=messages.DRAINING)
        if allowed and not allowed & {member, name}:
            return Candidate(member, excluded=messages.not_among())
        if not self._objects.is_connected(member):
            return Candidate(member, excluded=messages.NOT_CONNECTED)
        secret = self._objects.kubeconfig_of(member)
        if secret is not None and is_refused(secret):
            return Candidate(member, excluded=messages.credential_refused(secret.name))
        if why := self._workers.why_closed(secret, workload):
            return Candidate(member, excluded=why, is_stopped=True)
        queue = self._workers.queue(secret, workload)
        if queue is not None and (why := shortage(queue.quota, queue.limits, workload.least_requests)):
            return Candidate(member, excluded=why, is_too_small=True)
        unseen = self._unseen(member, config.name)
        score = scores.get(name, 0) - round(sum(weight * loss(item, unseen, ScoreScale()) for item, weight in losses))
        if queue is None:
            return Candidate(member, score=score, used=self._sent(member))
        used = add([queue.reserved, unseen])
        return Candidate(member, score=score, quota=queue.quota, used=used, can_borrow=bool(queue.spec.cohort_name))

    def _unseen(self, member: str, config: str) -> Amounts:
        """Add up what was sent to a member and does not show in its usage or its scores yet."""
        checks = self._objects.multikueue_checks_on(config)
        return add([self._arrivals.on(member, checks), *self._sent_nominations.requests_on(member)])

    def _sent(self, member: str) -> Amounts:
        """Add up all that we sent to a member, for where its own usage is not known."""
        return add([self._arrivals.total(member), *self._sent_nominations.requests_on(member)])


def allowed_clusters(workload: kueue.Workload) -> set[str]:
    """Return the clusters to which a job narrows the choice; none where it allows any."""
    return {name.strip() for name in workload.annotation(ALLOWED_CLUSTERS).split(",") if name.strip()}
