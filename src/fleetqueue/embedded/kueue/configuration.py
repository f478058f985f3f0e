"""Read the configuration file of a Kueue manager, and refuse one that cannot be meant, or not be served.

A manager reads it once, when it starts: whoever changes the ConfigMap restarts the manager, as with the real one.

Mirrors: Kueue apis/config, pkg/config, cmd/kueue/main.go
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
import yaml

from fleetqueue.api import durations
from fleetqueue.api.canonical_quantities import canonical
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.quantity import parse_all
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kueue import configuration_rules, configuration_support, feature_gates
from fleetqueue.embedded.kueue.configuration_shape import V1BETA1, V1BETA2, type_errors, unknown_fields
from fleetqueue.embedded.kueue.settings import (
    BOTH_STRATEGIES,
    AdmissionFairSharingSettings,
    FairSharingSettings,
    KueueSettings,
    LeaderElectionConfiguration,
    MetricsSettings,
    MultiKueueConfiguration,
    PodsReadySettings,
    ResourceSettings,
    ResourceTransformation,
    all_but,
)
from fleetqueue.embedded.kueue.webhooks.field_errors import together

GROUP: Final = "config.kueue.x-k8s.io"
OLD, NEW = f"{GROUP}/v1beta1", f"{GROUP}/v1beta2"
SHAPES: Final = {OLD: V1BETA1, NEW: V1BETA2}
TIMEOUT, OLD_TIMEOUT = "30m0s", "5m0s"
"""How long pods are waited for by default, and by default of the older version."""
NOT_LOADED: Final = "Unable to load the configuration"
BAD_GATES: Final = "conflicting feature gates detected"
NOT_VALID: Final = "Unable to validate the configuration"
NOT_SET_UP: Final = "Unable to setup controllers"
NOT_SERVED: Final = "The embedded Kueue cannot do what the configuration asks for"

Section = Mapping[str, Any]
T = TypeVar("T")


class BadConfiguration(Exception):
    """A manager does not start with this configuration; the text says why."""


def read(text: str, *, gates: str = "", namespace: str = KUEUE_NAMESPACE) -> KueueSettings:
    """Read a configuration file; raises BadConfiguration.

    Args:
        gates: the feature gates of the command line, as `A=true,B=false`.
        namespace: where the manager runs.
    """
    try:
        given = _in_new_version(_decoded(text))
        effective = _gates(given, gates)
        settings = _settings(given, effective, namespace)
        _refuse(NOT_VALID, [*configuration_rules.problems(given, settings)])
    except (ValueError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise BadConfiguration(f"{NOT_LOADED}: {error}") from None
    _refuse(NOT_SET_UP, [*configuration_rules.gated(settings)])
    _refuse(NOT_SERVED, [*feature_gates.not_served(effective), *configuration_support.problems(given)])
    return settings


def _refuse(where: str, problems: Sequence[str]) -> None:
    if problems:
        raise BadConfiguration(f"{where}: {together(problems)}")


class _Loader(yaml.SafeLoader):
    """Notes the keys that stand twice in a section, of which YAML takes the last."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.twice: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        for number, (key, _) in enumerate(node.value):
            if key.value in names[:number]:
                self.twice.append(f'  line {key.start_mark.line + 1}: key "{key.value}" already set in map')
        return super().construct_mapping(node, deep)


def _decoded(text: str) -> Section:
    """Return what a file says; raises ValueError where it has not the form that its version prescribes."""
    loader = _Loader(text)
    given = loader.get_single_data() or {}
    if not isinstance(given, dict):
        raise ValueError("couldn't get version/kind; the file must be a map")
    version, kind = str(given.get("apiVersion") or NEW), str(given.get("kind") or "Configuration")
    if version not in SHAPES or kind != "Configuration":
        raise ValueError(f'no kind "{kind}" is registered for version "{version}"')
    if wrong := type_errors(given, SHAPES[version]):
        raise ValueError(wrong[0])
    strict = ["\n".join(["yaml: unmarshal errors:", *loader.twice])] if loader.twice else []
    strict += [f'unknown field "{path}"' for path in unknown_fields(given, SHAPES[version])]
    if strict:
        raise ValueError(f"strict decoding error: {', '.join(strict)}")
    return given


def _in_new_version(given: Section) -> Section:
    """Return a configuration as the newest version has it, with the defaults in which the versions differ."""
    waits, shares = _section(given, "waitForPodsReady"), given.get("fairSharing")
    if given.get("apiVersion") != OLD:
        timeout = waits.get("timeout") or "0"
        return {**given, "waitForPodsReady": {**waits, "timeout": timeout if durations.parsed(timeout) else TIMEOUT}}
    chosen = {name: value for name, value in waits.items() if value is not None}
    waits = {"timeout": OLD_TIMEOUT, "blockAdmission": True, **chosen}
    return {
        **given,
        "waitForPodsReady": waits if waits.get("enable") else None,
        "fairSharing": _in_new_shape(shares) if shares and shares.get("enable") else None,
    }


def _in_new_shape(shares: Section) -> Section:
    return {**shares, "preemptionStrategies": shares.get("preemptionStrategies") or [*BOTH_STRATEGIES]}


def _gates(given: Section, argument: str) -> dict[str, bool]:
    """Return all feature gates; raises BadConfiguration."""
    listed = given.get("featureGates")
    written = None if listed is None else {name: bool(value) for name, value in listed.items()}
    _refuse(BAD_GATES, feature_gates.problems(written, argument))
    return feature_gates.effective(feature_gates.parsed(argument) if argument else written or {})


def _settings(given: Section, gates: Mapping[str, bool], namespace: str) -> KueueSettings:
    integrations, default = _section(given, "integrations"), KueueSettings()
    retention = _section(_section(given, "objectRetentionPolicies"), "workloads")
    selector, home = given.get("managedJobsNamespaceSelector"), given.get("namespace") or namespace
    waits = None if gates["DisableWaitForPodsReady"] else given["waitForPodsReady"]
    return KueueSettings(
        namespace=home,
        frameworks=tuple(integrations.get("frameworks") or default.frameworks),
        external_frameworks=tuple(integrations.get("externalFrameworks") or ()),
        copied_labels=tuple(integrations.get("labelKeysToCopy") or ()),
        manages_jobs_without_queue=bool(given.get("manageJobsWithoutQueueName")),
        namespaces=all_but("kube-system", home) if selector is None else msgspec.convert(selector, LabelSelector),
        pods_ready=None if waits is None else _pods_ready(waits),
        resources=_resources(_section(given, "resources"), gates),
        fair_sharing=_fair_sharing(given.get("fairSharing"), gates),
        admission_fair_sharing=_admission_fair_sharing(given.get("admissionFairSharing"), gates),
        keep_finished=_seconds(retention, "afterFinished", None),
        keep_deactivated=_seconds(retention, "afterDeactivatedByKueue", None),
        multikueue=_multikueue(_section(given, "multiKueue"), gates),
        metrics=_metrics(_section(given, "metrics"), gates),
        feature_gates=gates,
        leader_election=_leader_election(_section(given, "leaderElection")),
    )


def _pods_ready(section: Section) -> PodsReadySettings:
    """Read for how long pods are waited for."""
    default, strategy = PodsReadySettings(), _section(section, "requeuingStrategy")
    timeout = durations.parsed(section["timeout"])
    return PodsReadySettings(
        timeout=timeout,
        recovery_timeout=_seconds(section, "recoveryTimeout", timeout) or None,
        limit=strategy.get("backoffLimitCount"),
        first_back_off=_given(strategy, "backoffBaseSeconds", default.first_back_off),
        last_back_off=_given(strategy, "backoffMaxSeconds", default.last_back_off),
        by_eviction=strategy.get("timestamp") != "Creation",
        blocks_admission=bool(section.get("blockAdmission")),
    )


def _resources(section: Section, gates: Mapping[str, bool]) -> ResourceSettings:
    strategy = section.get("quotaCheckStrategy") if gates["QuotaCheckStrategy"] else None
    return ResourceSettings(
        excluded_prefixes=tuple(section.get("excludeResourcePrefixes") or ()),
        transformations={
            each.get("input") or "": _transformation(each) for each in section.get("transformations") or ()
        },
        ignores_undeclared=strategy == "IgnoreUndeclared",
    )


def _transformation(section: Section) -> ResourceTransformation:
    given = _section(section, "outputs")
    outputs = {name: "0" if value is None else canonical(str(value)) for name, value in given.items()}
    return ResourceTransformation(
        outputs=parse_all(outputs),
        replaces=section.get("strategy") == "Replace",
        multiply_by=section.get("multiplyBy") or "",
    )


def _fair_sharing(section: Section | None, gates: Mapping[str, bool]) -> FairSharingSettings | None:
    if section is None:
        return None
    return FairSharingSettings(
        preemption_strategies=tuple(section.get("preemptionStrategies") or ()),
        preempts_within_nominal=gates["FairSharingPreemptWithinNominal"],
        prioritizes_non_borrowing=gates["FairSharingPrioritizeNonBorrowing"],
    )


def _admission_fair_sharing(section: Section | None, gates: Mapping[str, bool]) -> AdmissionFairSharingSettings | None:
    if section is None or not gates["AdmissionFairSharing"]:
        return None
    default = AdmissionFairSharingSettings()
    weights = _section(section, "resourceWeights")
    return AdmissionFairSharingSettings(
        half_life=_seconds(section, "usageHalfLifeTime", default.half_life),
        sampling_interval=_seconds(section, "usageSamplingInterval", 0.0) or default.sampling_interval,
        resource_weights={name: float(weight or 0) for name, weight in weights.items()},
    )


def _multikueue(section: Section, gates: Mapping[str, bool]) -> MultiKueueConfiguration:
    default, profiles = MultiKueueConfiguration(), _section(section, "clusterProfile")
    has_config, has_adapters = (
        gates["MultiKueueIncrementalDispatcherConfig"],
        gates["MultiKueueAdaptersForCustomJobs"],
    )
    steps = _section(section, "incrementalDispatcherConfig") if has_config else {}
    external = section.get("externalFrameworks") if has_adapters else None
    return MultiKueueConfiguration(
        gc_interval=_seconds(section, "gcInterval", default.gc_interval),
        origin=section.get("origin") or default.origin,
        worker_lost_timeout=_seconds(section, "workerLostTimeout", default.worker_lost_timeout),
        dispatcher=_given(section, "dispatcherName", default.dispatcher),
        step_size=_given(steps, "stepSize", default.step_size),
        access_providers=tuple(profiles.get("accessProviders") or profiles.get("credentialsProviders") or ()),
        external_frameworks=tuple(entry.get("name") or "" for entry in external or ()),
    )


def _leader_election(section: Section) -> LeaderElectionConfiguration | None:
    if section.get("leaderElect") is False:
        return None
    default = LeaderElectionConfiguration()
    return LeaderElectionConfiguration(
        name=section.get("resourceName") or default.name,
        namespace=section.get("resourceNamespace") or default.namespace,
        lease_duration=_seconds(section, "leaseDuration", 0.0) or default.lease_duration,
        renew_deadline=_seconds(section, "renewDeadline", 0.0) or default.renew_deadline,
        retry_period=_seconds(section, "retryPeriod", 0.0) or default.retry_period,
    )


def _metrics(section: Section, gates: Mapping[str, bool]) -> MetricsSettings:
    """Read of what numbers are told; of LocalQueues too, unless a section about them does not say so."""
    local_queues = _given(section, "localQueueMetrics", {"enable": True})
    is_on = local_queues.get("enable") and gates["LocalQueueMetrics"]
    selector = msgspec.convert(local_queues.get("localQueueSelector") or {}, LabelSelector)
    return MetricsSettings(bool(section.get("enableClusterQueueResources")), selector if is_on else None)


def _section(given: Section, name: str) -> Section:
    return given.get(name) or {}


def _given(section: Section, name: str, default: T) -> Any | T:
    value = section.get(name)
    return default if value is None else value


def _seconds(section: Section, name: str, default: T) -> float | T:
    value = section.get(name)
    return default if value is None else durations.parsed(value)
