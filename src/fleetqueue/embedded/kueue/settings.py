"""What the owner of a cluster can choose about Kueue; read from its configuration, see `configuration`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.kueue_pods import ABOVE_PODS, POD
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.selectors import LabelSelector, Requirement
from fleetqueue.embedded.kueue.feature_gates import DEFAULTS
from fleetqueue.embedded.kueue.frameworks import BATCH_JOB

SYSTEM_NAMESPACES = ("kube-system", KUEUE_NAMESPACE)


def all_but(*namespaces: str) -> LabelSelector:
    """Return a selector for all other namespaces."""
    others = Requirement(key="kubernetes.io/metadata.name", operator="NotIn", values=namespaces)
    return LabelSelector(match_expressions=(others,))


LESS_THAN_OR_EQUAL_TO_FINAL: Final = "LessThanOrEqualToFinalShare"
LESS_THAN_INITIAL: Final = "LessThanInitialShare"
BOTH_STRATEGIES: Final = (LESS_THAN_OR_EQUAL_TO_FINAL, LESS_THAN_INITIAL)


@dataclass(frozen=True, slots=True)
class FairSharingSettings:
    """Let ClusterQueues and Cohorts borrow in proportion to their weights."""

    preemption_strategies: tuple[str, ...] = BOTH_STRATEGIES
    """What shares must be like so that a Workload of another queue is preempted; the second where the first finds too
    few."""
    preempts_within_nominal: bool = True
    """Whether a queue that stays within its own quota preempts whatever the shares are."""
    prioritizes_non_borrowing: bool = True
    """Whether a head goes first that lets nobody borrow what it asks for."""


@dataclass(frozen=True, slots=True)
class AdmissionFairSharingSettings:
    """Order the Workloads of a ClusterQueue by what their LocalQueues have consumed, where it asks for that."""

    half_life: float = 0.0
    """Seconds after which what was consumed counts half; 0 forgets it at every sample."""
    sampling_interval: float = 300.0
    """Seconds between two samples of what is used."""
    resource_weights: Mapping[str, float] = field(default_factory=dict)
    """How much a unit of each resource counts; 1 where nothing is said."""


@dataclass(frozen=True, slots=True)
class ResourceTransformation:
    """What a resource that pods ask for stands for."""

    outputs: Mapping[str, Decimal]
    """How much of each resource one unit of it stands for; less than nothing takes something off another's output."""
    replaces: bool = False
    """Whether it does not count itself."""
    multiply_by: str = ""
    """A resource of the same pod: as many times as much of it is asked for, the outputs count."""


@dataclass(frozen=True, slots=True)
class ResourceSettings:
    """What of the requests of pods counts against quota."""

    excluded_prefixes: tuple[str, ...] = ()
    """How the names of resources begin that do not count."""
    transformations: Mapping[str, ResourceTransformation] = field(default_factory=dict)
    """By the resource that is asked for."""
    ignores_undeclared: bool = False
    """Whether a resource that a ClusterQueue has no quota of at all is not looked at; else nobody who asks for it is
    admitted there."""


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    retry_batch: float = 1.0
    """Seconds in which changes are gathered before the inadmissible Workloads of a cohort are tried again."""
    order_by_eviction: bool = True
    """Whether a Workload whose pods were not ready in time queues again from its eviction, not from its creation."""
    blocks_until_ready: bool = False
    """Whether nobody is admitted while pods of others who hold quota are not ready."""
    resources: ResourceSettings = ResourceSettings()
    fair_sharing: FairSharingSettings | None = None
    """None where whoever comes first borrows."""
    admission_fair_sharing: AdmissionFairSharingSettings | None = None
    """None where all LocalQueues of a ClusterQueue are equal."""
    evicts_without_replacement: bool = True
    """Whether a Workload is evicted at once where a failed node of it cannot be replaced; else that is tried again."""


@dataclass(frozen=True, slots=True)
class PodsReadySettings:
    """Wait until the pods of an admitted Workload are ready, and evict it where they are not in time."""

    timeout: float = 1800.0
    """Seconds from admission."""
    recovery_timeout: float | None = 1800.0
    """Seconds after a pod failed that was ready; None waits for ever."""
    limit: int | None = None
    """How often a Workload is queued again before it is deactivated; None is without end."""
    first_back_off: float = 60.0
    last_back_off: float = 3600.0
    by_eviction: bool = True
    """Whether it then queues from its eviction, not from its creation."""
    blocks_admission: bool = False
    """Whether nobody else is admitted meanwhile."""


@dataclass(frozen=True, slots=True)
class MultiKueueConfiguration:
    gc_interval: float = 60.0
    """Seconds between two looks for leftovers; 0 never looks."""
    origin: str = "multikueue"
    worker_lost_timeout: float = 900.0
    dispatcher: str = kueue.ALL_AT_ONCE
    step_size: int = 3
    """How many clusters the incremental dispatcher adds in a round."""
    external_frameworks: tuple[str, ...] = ()
    """Further kinds that are sent, by their names: `Kind.version.group`."""
    access_providers: tuple[Manifest, ...] = ()
    """The programs that give credentials for ClusterProfiles: a name, and how they are run."""


@dataclass(frozen=True, slots=True)
class LeaderElectionConfiguration:
    """Of several replicas, only the one that holds this Lease acts."""

    name: str = "c1f6bfd2.kueue.x-k8s.io"
    namespace: str = ""
    """Empty is the namespace that Kueue runs in."""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    resources: bool = False
    """Whether the quotas of ClusterQueues are told, and how much of them is reserved, used and waited for."""
    local_queues: LabelSelector | None = field(default_factory=LabelSelector)
    """Of which LocalQueues anything is told; None is of none."""


@dataclass(frozen=True, slots=True)
class KueueSettings:
    namespace: str = KUEUE_NAMESPACE
    """Where MultiKueue finds Secrets and ClusterProfiles."""
    frameworks: tuple[str, ...] = (BATCH_JOB,)
    """The kinds of jobs that are managed."""
    external_frameworks: tuple[str, ...] = ()
    """Kinds whose Workloads somebody else makes, by their names: `Kind.version.group`."""
    copied_labels: tuple[str, ...] = ()
    """Labels of jobs that their Workloads get, too."""
    manages_jobs_without_queue: bool = False
    namespaces: LabelSelector = field(default_factory=lambda: all_but(*SYSTEM_NAMESPACES))
    """In which namespaces jobs are managed."""
    pods_ready: PodsReadySettings | None = PodsReadySettings()
    """None where it does not wait for pods."""
    resources: ResourceSettings = ResourceSettings()
    fair_sharing: FairSharingSettings | None = None
    admission_fair_sharing: AdmissionFairSharingSettings | None = None
    keep_finished: float | None = None
    """Seconds for which a finished Workload is kept; None is for ever."""
    keep_deactivated: float | None = None
    """Seconds for which a job is kept whose Workload Kueue has deactivated."""
    multikueue: MultiKueueConfiguration = MultiKueueConfiguration()
    metrics: MetricsSettings = MetricsSettings()
    feature_gates: Mapping[str, bool] = field(default_factory=lambda: DEFAULTS)
    """All of them, by name."""
    leader_election: LeaderElectionConfiguration | None = None
    """None where a manager acts without asking; where its configuration says nothing, it does ask."""

    @property
    def replica_role(self) -> str:
        """What the numbers say of who tells them: a replica that only stands by has none to tell."""
        return "standalone" if self.leader_election is None else "leader"

    @property
    def manages_pods(self) -> bool:
        return POD in self.frameworks or self.only_pods_of_parents

    @property
    def only_pods_of_parents(self) -> bool:
        """Whether pods are managed only because of what is above them."""
        return POD not in self.frameworks and any(framework in ABOVE_PODS for framework in self.frameworks)
