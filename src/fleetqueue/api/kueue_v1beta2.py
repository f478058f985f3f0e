"""Kueue's kinds, and the questions that are asked about a Workload."""

import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar, Final, Self

import msgspec

from fleetqueue.api import conditions
from fleetqueue.api.conditions import TRUE, Condition
from fleetqueue.api.kueue_topology import TopologyAssignment, UnhealthyNode
from fleetqueue.api.meta import Object, ObjectMeta, OwnerReference, View
from fleetqueue.api.quantity import Amounts, Quantity, add, parse, parse_all
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.api.taints import Taint, Toleration

GROUP: Final = "kueue.x-k8s.io"
VERSION: Final = "v1beta2"

ACTIVE: Final = "Active"
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
PODS_READY: Final = "PodsReady"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
"""Reasons of Finished."""

PENDING: Final = "Pending"
READY: Final = "Ready"
RETRY: Final = "Retry"
REJECTED: Final = "Rejected"

MULTIKUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
ALL_AT_ONCE: Final = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
INCREMENTAL: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
ORIGIN_LABEL: Final = "kueue.x-k8s.io/multikueue-origin"
PREBUILT_WORKLOAD: Final = "kueue.x-k8s.io/prebuilt-workload-name"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
"""An annotation: while it says anything, a Workload is not queued."""
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
ADMISSION_MANAGER: Final = "kueue-admission"
"""The field manager of Kueue's own admission writes."""
GRACE: Final = "terminationGracePeriodSeconds"
DEFAULT_GRACE: Final = 30.0
"""What a pod gets that does not say it."""
_NONE: Final[dict[str, str]] = {}
"""The labels of all that have none."""


class Parameters(View):
    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(View):
    controller_name: str = ""
    parameters: Parameters | None = None


class AdmissionCheckStatus(View):
    conditions: tuple[Condition, ...] = ()


class AdmissionCheck(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "AdmissionCheck", "admissionchecks", namespaced=False)

    spec: AdmissionCheckSpec = AdmissionCheckSpec()
    status: AdmissionCheckStatus = AdmissionCheckStatus()

    @property
    def is_active(self) -> bool:
        return conditions.is_true(self.status.conditions, ACTIVE)

    @property
    def config_name(self) -> str:
        """The MultiKueueConfig that a MultiKueue check names, or nothing."""
        return self.spec.parameters.name if self.is_multikueue and self.spec.parameters else ""

    @property
    def is_multikueue(self) -> bool:
        return self.spec.controller_name == MULTIKUEUE_CONTROLLER

    @property
    def is_provisioning(self) -> bool:
        return self.spec.controller_name == PROVISIONING_CONTROLLER


class MultiKueueConfigSpec(View):
    clusters: tuple[str, ...] = ()


class MultiKueueConfig(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "MultiKueueConfig", "multikueueconfigs", namespaced=False)

    spec: MultiKueueConfigSpec = MultiKueueConfigSpec()


class KubeConfigSource(View):
    location: str = ""
    location_type: str = "Secret"


class ClusterProfileReference(View):
    name: str = ""


class ClusterSource(View):
    kube_config: KubeConfigSource | None = None
    cluster_profile_ref: ClusterProfileReference | None = None


class MultiKueueClusterSpec(View):
    cluster_source: ClusterSource = ClusterSource()


class MultiKueueClusterStatus(View):
    conditions: tuple[Condition, ...] = ()


class MultiKueueCluster(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "MultiKueueCluster", "multikueueclusters", namespaced=False)

    spec: MultiKueueClusterSpec = MultiKueueClusterSpec()
    status: MultiKueueClusterStatus = MultiKueueClusterStatus()

    @property
    def is_connected(self) -> bool:
        return conditions.is_true(self.status.conditions, ACTIVE)

    @property
    def refusal(self) -> str:
        """Why Kueue is not connected, in its own words; empty where it is, or has not tried yet."""
        active = conditions.find(self.status.conditions, ACTIVE)
        return active.sentence if active is not None and active.status == conditions.FALSE else ""


class ResourceQuota(View):
    name: str
    nominal_quota: Quantity = 0
    borrowing_limit: Quantity | None = None
    lending_limit: Quantity | None = None


class FlavorQuotas(View):
    name: str
    resources: tuple[ResourceQuota, ...] = ()


class ResourceGroup(View):
    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class CheckReference(View):
    name: str
    on_flavors: tuple[str, ...] = ()
    """Empty means all flavors of the ClusterQueue."""


class AdmissionChecksStrategy(View):
    admission_checks: tuple[CheckReference, ...] = ()


class FlavorFungibility(View):
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = ""


class BorrowWithinCohort(View):
    policy: str = "Never"
    max_priority_threshold: int | None = None


class Preemption(View):
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: BorrowWithinCohort = BorrowWithinCohort()
    within_cluster_queue: str = "Never"


class AdmissionScope(View):
    admission_mode: str = ""

    @property
    def is_by_usage(self) -> bool:
        """Whether Workloads are ordered by what their LocalQueues have consumed."""
        return self.admission_mode == "UsageBasedAdmissionFairSharing"


class FairSharing(View):
    weight: Quantity | None = None
    """None is 1. The higher it is, the more of what others leave may be borrowed."""

    @property
    def as_number(self) -> float:
        return 1.0 if self.weight is None else float(parse(self.weight))


class ClusterQueueSpec(View):
    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort_name: str = ""
    queueing_strategy: str = "BestEffortFIFO"
    namespace_selector: LabelSelector | None = None
    """Which namespaces may queue here; None is none, and an empty selector is all."""
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    admission_checks_strategy: AdmissionChecksStrategy = AdmissionChecksStrategy()
    stop_policy: str = "None"
    admission_scope: AdmissionScope = AdmissionScope()
    fair_sharing: FairSharing = FairSharing()


class ResourceUsage(View):
    name: str
    total: Quantity = 0


class FlavorUsage(View):
    name: str
    resources: tuple[ResourceUsage, ...] = ()


class ClusterQueueStatus(View):
    conditions: tuple[Condition, ...] = ()
    flavors_reservation: tuple[FlavorUsage, ...] = ()
    pending_workloads: int = 0
    admitted_workloads: int = 0


class ClusterQueue(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "ClusterQueue", "clusterqueues", namespaced=False)

    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()

    @property
    def is_stopped(self) -> bool:
        return self.spec.stop_policy != "None"

    @property
    def is_active(self) -> bool:
        return conditions.is_true(self.status.conditions, ACTIVE)

    @property
    def checks(self) -> tuple[str, ...]:
        """The names of its AdmissionChecks."""
        return tuple(check.name for check in self.spec.admission_checks_strategy.admission_checks)

    @property
    def flavors(self) -> list[str]:
        """The names of its ResourceFlavors."""
        return [flavor.name for group in self.spec.resource_groups for flavor in group.flavors]

    @property
    def quota(self) -> Amounts:
        """Its own quota, over all flavors; what it could borrow does not count."""
        return add({resource.name: parse(resource.nominal_quota)} for resource in self._resources)

    @property
    def limits(self) -> Amounts:
        """The most that it can ever hold, over all flavors: its quota, and what it may borrow. Infinite where nothing
        but the others of its cohort limits that."""
        return add(
            {resource.name: parse(resource.nominal_quota) + self._borrowable(resource)} for resource in self._resources
        )

    @property
    def reserved(self) -> Amounts:
        """What its Workloads hold, over all flavors."""
        return add(
            {resource.name: parse(resource.total)}
            for flavor in self.status.flavors_reservation
            for resource in flavor.resources
        )

    @property
    def _resources(self) -> Iterator[ResourceQuota]:
        """The quotas of all flavors."""
        return (r for group in self.spec.resource_groups for flavor in group.flavors for r in flavor.resources)

    def _borrowable(self, resource: ResourceQuota) -> Decimal:
        if not self.spec.cohort_name:
            return Decimal(0)
        return Decimal("Infinity") if resource.borrowing_limit is None else parse(resource.borrowing_limit)


class CohortSpec(View):
    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing = FairSharing()


class Cohort(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "Cohort", "cohorts", namespaced=False)

    spec: CohortSpec = CohortSpec()


class ResourceFlavorSpec(View):
    node_labels: dict[str, str] = {}
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class ResourceFlavor(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "ResourceFlavor", "resourceflavors", namespaced=False)

    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class LocalQueueSpec(View):
    cluster_queue: str = ""
    stop_policy: str = "None"
    fair_sharing: FairSharing = FairSharing()


class LocalQueueStatus(View):
    conditions: tuple[Condition, ...] = ()
    pending_workloads: int = 0
    admitted_workloads: int = 0


class LocalQueue(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "LocalQueue", "localqueues")

    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()

    @property
    def is_stopped(self) -> bool:
        return self.spec.stop_policy != "None"


class PodSetUpdate(View):
    """What a check adds to the pods of a pod set."""

    name: str = ""
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class CheckState(View):
    name: str
    state: str = PENDING
    message: str = ""
    last_transition_time: datetime | None = None
    pod_set_updates: tuple[PodSetUpdate, ...] = ()


class PodSetAssignment(View):
    name: str = ""
    flavors: dict[str, str] = {}
    resource_usage: dict[str, Quantity] = {}
    count: int | None = None
    topology_assignment: TopologyAssignment | None = None
    delayed_topology_request: str = ""
    """`Pending` while a topology is to be assigned later or elsewhere, then `Ready`."""

    @property
    def waits_for_topology(self) -> bool:
        return self.topology_assignment is None and self.delayed_topology_request == PENDING


class Admission(View):
    cluster_queue: str = ""
    pod_set_assignments: tuple[PodSetAssignment, ...] = ()


class PriorityClassReference(View):
    group: str = ""
    kind: str = ""
    name: str = ""


class WorkloadSpec(View):
    queue_name: str = ""
    pod_sets: tuple[dict[str, Any], ...] = ()
    active: bool = True
    priority: int = 0
    priority_class_ref: PriorityClassReference = PriorityClassReference()


class RequeueState(View):
    count: int | None = None
    requeue_at: datetime | None = None


class ReclaimablePod(View):
    name: str
    count: int = 0


class SchedulingStats(View):
    evictions: tuple[dict[str, Any], ...] = ()
    """How often it was evicted, by reason."""


class WorkloadStatus(View):
    conditions: tuple[Condition, ...] = ()
    scheduling_stats: SchedulingStats = SchedulingStats()
    requeue_state: RequeueState = RequeueState()
    reclaimable_pods: tuple[ReclaimablePod, ...] = ()
    admission: Admission | None = None
    admission_checks: tuple[CheckState, ...] = ()
    nominated_cluster_names: tuple[str, ...] = ()
    cluster_name: str = ""
    unhealthy_nodes: tuple[UnhealthyNode, ...] = ()


class Workload(Object):
    resource: ClassVar = Resource(GROUP, VERSION, "Workload", "workloads")
    keeps_raw: ClassVar[bool] = False

    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        """Keep of each pod template its annotations and how long its pods may take to stop, and the counts: the rest is
        most of a Workload's size."""
        raw = super().trim(raw)
        pod_sets = (raw.get("spec") or {}).get("podSets")
        if not pod_sets:
            return raw
        return {**raw, "spec": {**raw["spec"], "podSets": [_little_of(pod_set) for pod_set in pod_sets]}}

    @classmethod
    def kept(cls, raw: Manifest) -> Self:
        """Keep of a finished Workload only who it is and by which checks it went: most Workloads of a hub are that."""
        status = raw.get("status") or {}
        if not any(c.get("type") == FINISHED and c.get("status") == TRUE for c in status.get("conditions") or ()):
            return super().kept(raw)
        names = tuple(check.get("name", "") for check in status.get("admissionChecks") or ())
        return cls(metadata=_who(raw["metadata"]), status=_finished_status(names))

    def is_true(self, condition: str) -> bool:
        return conditions.is_true(self.status.conditions, condition)

    @property
    def has_quota(self) -> bool:
        """Reserved and not on its way out."""
        said = self.status.conditions
        return conditions.is_true(said, QUOTA_RESERVED) and not conditions.is_true(said, EVICTED)

    @property
    def is_leaving(self) -> bool:
        """Evicted, and its quota not given back yet."""
        said = self.status.conditions
        return conditions.is_true(said, EVICTED) and conditions.is_true(said, QUOTA_RESERVED) and self.is_live

    @property
    def is_finished(self) -> bool:
        return conditions.is_true(self.status.conditions, FINISHED)

    @property
    def is_live(self) -> bool:  # asked some hundred times in the life of a job, and so without a step between
        return self.metadata.deletion_timestamp is None and not conditions.is_true(self.status.conditions, FINISHED)

    @property
    def requests(self) -> Amounts:
        """What it holds in its queue, over all pod sets; nothing before quota is reserved."""
        if self.status.admission is None:
            return {}
        return add(parse_all(pod_set.resource_usage) for pod_set in self.status.admission.pod_set_assignments)

    @property
    def least_requests(self) -> Amounts:
        """What of that it cannot do without: a pod set with a minCount may be admitted with fewer pods elsewhere."""
        if self.status.admission is None:
            return {}
        least = {entry.get("name"): entry["minCount"] for entry in self.spec.pod_sets if entry.get("minCount")}
        return add(_of_fewer(pod_set, least.get(pod_set.name)) for pod_set in self.status.admission.pod_set_assignments)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The MultiKueueClusters on which it runs or may have a copy."""
        return (self.status.cluster_name,) if self.status.cluster_name else self.status.nominated_cluster_names

    @property
    def owner(self) -> OwnerReference | None:
        """The job that it was made for."""
        return self.controller

    def check(self, name: str) -> CheckState | None:
        return next((check for check in self.status.admission_checks if check.name == name), None)

    @property
    def termination_grace(self) -> float:
        """Seconds that its pods may take to stop."""
        specs = (pod_set.get("template", {}).get("spec") or {} for pod_set in self.spec.pod_sets)
        return max((float(spec.get(GRACE, DEFAULT_GRACE)) for spec in specs), default=DEFAULT_GRACE)

    def annotation(self, name: str) -> str:
        """Read an annotation of the Workload itself, or of its first pod template, where job owners can write it."""
        if name in self.metadata.annotations:
            return self.metadata.annotations[name]
        for pod_set in self.spec.pod_sets:
            metadata = pod_set.get("template", {}).get("metadata") or {}
            if name in (metadata.get("annotations") or {}):
                return str(metadata["annotations"][name])
        return ""


class QueuedWorkload(Workload):
    """A Workload that is kept whole: what Kueue itself follows."""

    keeps_raw: ClassVar[bool] = True

    @classmethod
    def trim(cls, raw: Manifest) -> Manifest:
        return super(Workload, cls).trim(raw)


def _little_of(pod_set: Manifest) -> Manifest:
    full = pod_set.get("template", {})
    annotations = (full.get("metadata") or {}).get("annotations")
    grace = (full.get("spec") or {}).get(GRACE)
    template: Manifest = {"metadata": {"annotations": annotations}} if annotations else {}
    if grace not in (None, DEFAULT_GRACE):
        template["spec"] = {GRACE: grace}
    trimmed = {"name": pod_set.get("name", ""), "count": pod_set.get("count", 1), "template": template}
    return {**trimmed, "minCount": pod_set["minCount"]} if pod_set.get("minCount") else trimmed


def _of_fewer(pod_set: PodSetAssignment, least: int | None) -> Amounts:
    """Return what a pod set takes with so many pods; all that it has where it needs each of them."""
    usage = parse_all(pod_set.resource_usage)
    if least is None or not pod_set.count:
        return usage
    return {name: amount * min(least, pod_set.count) / pod_set.count for name, amount in usage.items()}


def _who(metadata: Manifest) -> ObjectMeta:
    return ObjectMeta(
        name=metadata["name"],
        namespace=sys.intern(metadata["namespace"]),
        uid=metadata.get("uid", ""),
        resource_version=metadata.get("resourceVersion", ""),
        deletion_timestamp=msgspec.convert(metadata.get("deletionTimestamp"), datetime | None),
        labels=_NONE,
        annotations=_NONE,
    )


@lru_cache(maxsize=1024)
def _finished_status(checks: tuple[str, ...]) -> WorkloadStatus:
    """Return one status for all that went by the same checks: it is much of what is left of a finished Workload."""
    return WorkloadStatus(
        conditions=(Condition(type=FINISHED, status=TRUE),),
        admission_checks=tuple(CheckState(name=name) for name in checks),
    )
