"""What the owner of a cluster can choose about Kueue; read from its configuration, see `configuration`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.selectors import LabelSelector, Requirement

SYSTEM_NAMESPACES = ("kube-system", "kueue-system")
BATCH_JOB = "batch/job"


@dataclass(frozen=True, slots=True)
class SchedulingSettings:
    retry_batch: float = 1.0
    """Seconds in which changes are gathered before the inadmissible Workloads of a cohort are tried again."""
    order_by_eviction: bool = True
    """Whether a Workload whose pods were not ready in time queues again from its eviction, not from its creation."""


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


@dataclass(frozen=True, slots=True)
class MultiKueueConfiguration:
    gc_interval: float = 60.0
    """Seconds between two looks for leftovers; 0 never looks."""
    origin: str = "multikueue"
    worker_lost_timeout: float = 900.0
    dispatcher: str = kueue.ALL_AT_ONCE
    step_size: int = 3
    """How many clusters the incremental dispatcher adds in a round."""
    access_providers: tuple[Manifest, ...] = ()
    """The programs that give credentials for ClusterProfiles: a name, and how they are run."""


@dataclass(frozen=True, slots=True)
class KueueSettings:
    frameworks: tuple[str, ...] = (BATCH_JOB,)
    """The kinds of jobs that are managed."""
    copied_labels: tuple[str, ...] = ()
    """Labels of jobs that their Workloads get, too."""
    manages_jobs_without_queue: bool = False
    namespaces: LabelSelector = field(
        default_factory=lambda: LabelSelector(
            match_expressions=(
                Requirement(key="kubernetes.io/metadata.name", operator="NotIn", values=SYSTEM_NAMESPACES),
            )
        )
    )
    """In which namespaces jobs are managed."""
    pods_ready: PodsReadySettings | None = PodsReadySettings()
    """None where it does not wait for pods."""
    keep_finished: float | None = None
    """Seconds for which a finished Workload is kept; None is for ever."""
    keep_deactivated: float | None = None
    """Seconds for which a job is kept whose Workload Kueue has deactivated."""
    multikueue: MultiKueueConfiguration = MultiKueueConfiguration()
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    """What was switched on or off by name."""
