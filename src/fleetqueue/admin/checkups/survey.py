"""What was seen of a hub and its workers, as the checkups judge it. What may not be seen is never a finding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from fleetqueue.admin.checkups.findings import HUB
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, KUEUE_NAMESPACE
from fleetqueue.api.meta import O, Object
from fleetqueue.api.running_kueue import RunningKueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.controllers.credentials.who_needs_one import cluster_of_secret

Kind = type[Object]


@dataclass(frozen=True, slots=True)
class SeenObjects:
    """The objects of one cluster, by their kinds."""

    found: Mapping[Kind, Sequence[Object]] = field(default_factory=dict)
    unseen: Mapping[Kind, str] = field(default_factory=dict)
    """Why kinds were not looked at."""
    unserved: frozenset[Kind] = frozenset()

    def all(self, kind: type[O]) -> list[O]:
        """Return the objects of a kind in the order of their names; none where they were not seen."""
        return sorted(cast(Sequence[O], self.found.get(kind, ())), key=lambda obj: obj.key)

    def by_key(self, kind: type[O]) -> dict[str, O]:
        return {obj.key: obj for obj in self.all(kind)}

    def sees(self, *kinds: Kind) -> bool:
        return all(kind in self.found for kind in kinds)


@dataclass(frozen=True, slots=True)
class CredentialProof:
    """What a worker answered through a credential of the hub."""

    secret: str
    cluster: str = ""
    """The worker whose address it has; empty where that is none of the fleet's."""
    is_refused: bool = False
    """It does not accept the token."""
    user: str = ""
    """Who the credential is there."""
    denied: tuple[tuple[str, str, str], ...] = ()
    """What it may not do: verb, group and resource."""
    unserved: tuple[str, ...] = ()
    """Kinds of Kueue's configuration that the worker lacks, as the configuration names them."""
    unasked: str = ""
    """Why it was not asked."""


@dataclass(frozen=True, slots=True)
class KueueAnswer:
    """Whether Kueue of a cluster has answered when it was asked to look at an object; it has where both are empty."""

    silence: str = ""
    """What the server said of its webhook, which did not answer."""
    unasked: str = ""
    """Why it could not be asked."""


@dataclass(frozen=True, slots=True)
class WorkerSurvey:
    name: str
    context: str = ""
    """The user's own context with which it was looked at."""
    unasked: str = ""
    """Why it was not."""
    objects: SeenObjects = SeenObjects()
    version: str = ""
    ahead: float | None = None
    """Seconds by which its clock is ahead of this machine's; None where that is not known."""
    answer: KueueAnswer = KueueAnswer()


@dataclass(frozen=True, slots=True)
class FleetSurvey:
    now: datetime
    """What time it was on the hub when it was read."""
    objects: SeenObjects = SeenObjects()
    """The hub's."""
    kueue_namespace: str = KUEUE_NAMESPACE
    uid: str = ""
    """Who the hub is; empty where that is not known."""
    version: str = ""
    ahead: float | None = None
    """Seconds by which the hub's clock is ahead of this machine's; None where that is not known."""
    kueue: RunningKueue | None = None
    """None where Kueue's configuration could not be read."""
    config_map: str = ""
    """Where it is, as `namespace/name`."""
    workers: Sequence[WorkerSurvey] = ()
    placement_specs: Mapping[str, Manifest] = field(default_factory=dict)
    """The whole spec of each Placement, by its key: views forget fields."""
    proofs: Mapping[str, CredentialProof] = field(default_factory=dict)
    """By the names of the secrets."""
    answer: KueueAnswer = KueueAnswer()
    """The hub's Kueue's."""

    def all(self, kind: type[O]) -> list[O]:
        return self.objects.all(kind)

    @property
    def clusters(self) -> list[tuple[str, SeenObjects]]:
        """Return the hub and all workers that were looked at."""
        return [(HUB, self.objects), *((worker.name, worker.objects) for worker in self.workers)]

    @property
    def answers(self) -> dict[str, KueueAnswer]:
        """Return what Kueue has answered on the hub and on all workers that were looked at."""
        return {HUB: self.answer, **{worker.name: worker.answer for worker in self.workers}}

    def worker(self, name: str) -> WorkerSurvey | None:
        return next((worker for worker in self.workers if worker.name == name), None)

    @property
    def managed(self) -> dict[str, cluster.ManagedCluster]:
        return {one.name: one for one in self.all(cluster.ManagedCluster)}


def cluster_of(secret: Secret) -> str:
    """Return the cluster that a kubeconfig secret is for; empty where it does not say."""
    return secret.metadata.labels.get(CLUSTER_LABEL, "") or next(iter(cluster_of_secret(secret.name)), "")
