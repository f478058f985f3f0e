"""The feature gates of Kueue 0.19.2, which of them a manager refuses, and which can be turned here.

The embedded Kueue does what the real one does by default. A gate that would change that and is not served is refused
when the manager starts, rather than ignored.

Mirrors: Kueue pkg/features, pkg/config (LoadAndValidateFeatureGates); component-base featuregate
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, together

Stage = Literal["Alpha", "Beta", "GA", "Deprecated"]
PATH: Final = "featureGates"
BOTH_GIVEN: Final = "feature gates for CLI and configuration cannot both specified"
ALL: Final[Mapping[str, Stage]] = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
"""Names for many: they turn all gates of a stage that are not named themselves."""
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


@dataclass(frozen=True, slots=True)
class Gate:
    stage: Stage
    default: bool
    is_locked: bool = False
    why_free: str = ""
    """Why it can be turned here; empty where only its default is served."""


_BETA: Final = Gate("Beta", True)
_ALPHA: Final = Gate("Alpha", False)
_LOCKED: Final = Gate("GA", True, is_locked=True)
SERVED: Final = "both are served"
_METRICS: Final = "these metrics are not there"
_INSIDE: Final = "it changes how things are done, not what comes of it"
_DEVICES: Final = "the section for device classes is refused"


def _each(names: str, gate: Gate, why_free: str = "") -> dict[str, Gate]:
    return dict.fromkeys(names.split(), replace(gate, why_free=why_free))


GATES: Final[Mapping[str, Gate]] = {
    **_each("HierarchicalCohorts ManagedJobsNamespaceSelectorAlwaysRespected ObjectRetentionPolicies", _LOCKED),
    **_each("MultiKueueRedoAdmissionOnEvictionInWorker MultiKueueWaitForWorkloadAdmitted", _LOCKED),
    **_each("PropagateBatchJobLabelsToWorkload SkipFinalizersForPodsSuspendedByParent", _LOCKED),
    **_each("MultiKueueAllowInsecureKubeconfigs", Gate("Deprecated", False, is_locked=True)),
    # what can be turned
    **_each("MultiKueueAdaptersForCustomJobs MultiKueueIncrementalDispatcherConfig QuotaCheckStrategy", _BETA, SERVED),
    **_each("DisableWaitForPodsReady MultiKueueClusterProfile MultiKueueKubeConfigPathValidation", _ALPHA, SERVED),
    **_each("SparkApplicationIntegration", _ALPHA, SERVED),
    **_each("MetricForWorkloadCreationLatency", _BETA, _METRICS),
    **_each("RemoveFinalizersWithStrictPatch VectorizedResourceRequests", _BETA, _INSIDE),
    **_each("TASCacheNodeMatchResults TASCachingRemainingResources", _BETA, _INSIDE),
    **_each("TASCacheTopologyTree", _ALPHA, _INSIDE),
    **_each("TLSOptions", _BETA, "a manager has no ports here"),
    **_each("VisibilityOnDemand LocalQueueMetrics MetricsForCohorts", _BETA, SERVED),
    **_each("CleanupProvisioningRequestsOnEviction", _BETA, "ProvisioningRequests are not made"),
    **_each("AdmissionFairSharing FairSharingPreemptWithinNominal FairSharingPrioritizeNonBorrowing", _BETA, SERVED),
    **_each("KueueDRAIntegrationExtendedResource KueueDRAIntegrationPartitionableDevices", _BETA, _DEVICES),
    **_each("KueueDRAIntegrationConsumableCapacity", _ALPHA, _DEVICES),
    **_each("KueueDRARejectWorkloadsWhenDRADisabled", _BETA, "it matters only while KueueDRAIntegration is off"),
    **_each("TASFailedNodeReplacement TASFailedNodeReplacementFailFast", _BETA, SERVED),
    **_each("TASReplaceNodeOnNodeTaints TASReplaceNodeOnPodTermination", _BETA, SERVED),
    **_each("TASReplaceNodeDueToNotReadyOverFixedTime", Gate("Deprecated", False), SERVED),
    # what is served as it is by default
    **_each("AdmissionGatedBy AssignQueueLabelsForPods DeferRayServiceFinalizationForRedisCleanup", _BETA),
    **_each("ElasticJobsViaWorkloadSlices FinishOrphanedWorkloads FlavorFungibility", _BETA),
    **_each("FlavorFungibilityPreserveScanProgress KueueDRAIntegration LWSImmutableGroupSize MultiKueue", _BETA),
    **_each("MultiKueueIncrementalDispatcherRespectConfigOrder MultiKueueRemoteSpecSync PartialAdmission", _BETA),
    **_each("PodIntegrationValidateGroupOwner PrioritySortingWithinCohort ReclaimablePods", _BETA),
    **_each("SchedulingEquivalenceHashing SkipAncestorCheckForDeletedWorkloads TASMultiLayerTopology", _BETA),
    **_each("TASValidateWorkloadSliceSize TopologyAwareScheduling ValidateRayAndSparkJobUpdates", _BETA),
    **_each("WorkloadIdentifierAnnotations", _BETA),
    **_each("WorkloadValidateResourcesAreNonNegative WorkloadValidationForPodSetMetadata", _BETA),
    **_each("SkipReassignmentForPodOwnedWorkloads TASAssignmentsEncodingByHostnamePrefix", _BETA),
    **_each("TASHandleOverlappingFlavors TASProfileMixed TASRecomputeAssignmentWithinSchedulingCycle", _BETA),
    **_each("TASBalancedPlacement TASRespectNodeAffinityPreferred", _ALPHA),
    **_each("UnadmittedWorkloadsExplicitStatus UnadmittedWorkloadsObservability", Gate("Beta", False)),
    **_each("ConcurrentAdmission CustomMetricLabels ElasticJobsViaWorkloadSlicesWithTAS", _ALPHA),
    **_each("FailureRecoveryPolicy FastQuotaReleaseInPodIntegration MultiKueueManagerQuotaAutomation", _ALPHA),
    **_each("MultiKueueOrchestratedPreemption PrioritizePreemptorWorkloads PriorityBoost", _ALPHA),
    **_each("RecomputeAssignmentUponPreemptionTargetsOverlap RejectUpdatesToCQWithInvalidOnFlavors", _ALPHA),
    **_each("SchedulerLibraryIntegration SchedulerLongRequeueInterval SchedulerTimestampPreemptionBuffer", _ALPHA),
    **_each("ShortWorkloadNames WorkloadPriorityClassDefaulting", _ALPHA),
    **_each("WorkloadRequestUseMergePatch", _ALPHA),
}
"""By name. The real manager also knows the gates of the API server's library, which concern its visibility API."""

DEFAULTS: Final[Mapping[str, bool]] = {name: gate.default for name, gate in GATES.items()}

_TAS: Final = "TopologyAwareScheduling"
_REPLACEMENT: Final = "TASFailedNodeReplacement"
REQUIRED: Final = (
    ("TASHandleOverlappingFlavors", _TAS),
    (_REPLACEMENT, _TAS),
    ("TASFailedNodeReplacementFailFast", _TAS),
    ("TASFailedNodeReplacementFailFast", _REPLACEMENT),
    ("TASReplaceNodeOnPodTermination", _TAS),
    ("TASReplaceNodeOnPodTermination", _REPLACEMENT),
    ("TASReplaceNodeDueToNotReadyOverFixedTime", _TAS),
    ("TASReplaceNodeDueToNotReadyOverFixedTime", _REPLACEMENT),
    ("TASBalancedPlacement", _TAS),
    ("TASReplaceNodeOnNodeTaints", _TAS),
    ("TASMultiLayerTopology", _TAS),
    ("TASRespectNodeAffinityPreferred", _TAS),
    ("TASRecomputeAssignmentWithinSchedulingCycle", _TAS),
    ("UnadmittedWorkloadsExplicitStatus", "UnadmittedWorkloadsObservability"),
    ("ElasticJobsViaWorkloadSlicesWithTAS", "ElasticJobsViaWorkloadSlices"),
    ("ElasticJobsViaWorkloadSlicesWithTAS", _TAS),
    ("KueueDRAIntegrationExtendedResource", "KueueDRAIntegration"),
    ("KueueDRAIntegrationPartitionableDevices", "KueueDRAIntegration"),
    ("KueueDRAIntegrationConsumableCapacity", "KueueDRAIntegration"),
)
"""Gates that must not be on while another one is off."""


def parsed(argument: str) -> dict[str, bool]:
    """Read `A=true,B=false`; raises ValueError in upstream's words."""
    gates = {}
    for part in filter(None, argument.split(",")):
        name, sign, value = (word.strip() for word in part.partition("="))
        if not sign:
            raise ValueError(f"missing bool value for {name}")
        if value not in _BOOLS:
            why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
            raise ValueError(f"invalid value of {name}={value}, err: {why}")
        gates[name] = _BOOLS[value]
    return gates


def effective(given: Mapping[str, bool]) -> dict[str, bool]:
    """Return every gate as it is then; one that is named goes before a name for many."""
    by_stage = {stage: given[name] for name, stage in ALL.items() if name in given}
    return {name: given.get(name, by_stage.get(gate.stage, gate.default)) for name, gate in GATES.items()}


def unsettable(given: Mapping[str, bool]) -> list[str]:
    """Say which gates cannot be set: those that are locked, and the first that nobody knows."""
    locked = [
        f"cannot set feature gate {name} to {_go(given[name])}, feature is locked to {_go(GATES[name].default)}"
        for name in sorted(given.keys() & GATES)
        if GATES[name].is_locked and given[name] != GATES[name].default
    ]
    unknown = [f"unrecognized feature gate: {name}" for name in sorted(given.keys() - GATES.keys() - ALL.keys())]
    return [*locked, *unknown[:1]]


def conflicts(gates: Mapping[str, bool]) -> Iterator[str]:
    """Say which gates need others that are off; `gates` are all of them."""
    if gates["TASProfileMixed"] and not gates[_TAS]:
        yield invalid(PATH, 1, "cannot use a TAS profile with TAS disabled")
    for name, needed in REQUIRED:
        if gates[name] and not gates[needed]:
            yield invalid(PATH, name, f"{name} requires {needed} to be enabled")


def not_served(gates: Mapping[str, bool]) -> Iterator[str]:
    """Say which gates ask for something that only the real Kueue does; `gates` are all of them."""
    turned = [
        f"{name}={_go(gates[name])}"
        for name, gate in sorted(GATES.items())
        if gates[name] != gate.default and not gate.why_free
    ]
    if turned:
        yield forbidden(PATH, f"{', '.join(turned)} is not served by the embedded Kueue")


def problems(given: Mapping[str, bool] | None, argument: str) -> list[str]:
    """Say why a manager does not start with these gates of its file, and of `--feature-gates`."""
    try:
        wanted = parsed(argument) if argument else given or {}
    except ValueError as error:
        return [invalid(PATH, argument, str(error))]
    if why := unsettable(wanted):
        return [invalid(PATH, argument or dict(sorted(wanted.items())), together(why))]
    both = [invalid(PATH, given, BOTH_GIVEN)] if argument and given is not None else []
    return [*both, *conflicts(effective(wanted))]


def _go(value: bool) -> str:
    return "true" if value else "false"
