"""What a configuration must not say, in the real manager's words and order.

Sections that mean nothing here are not looked at, nor those that are refused altogether.

Mirrors: Kueue pkg/config/validation.go
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from fleetqueue.api import durations
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.job_kinds import SPARK_APPLICATION
from fleetqueue.embedded.kueue.frameworks import FRAMEWORKS, is_kind, sent_kinds
from fleetqueue.embedded.kueue.settings import (
    BOTH_STRATEGIES,
    LESS_THAN_INITIAL,
    LESS_THAN_OR_EQUAL_TO_FINAL,
    KueueSettings,
    LeaderElectionConfiguration,
)
from fleetqueue.embedded.kueue.webhooks.field_errors import (
    NEGATIVE,
    duplicate,
    forbidden,
    invalid,
    not_label_value,
    required,
    unsupported,
)

NAME_LABEL: Final = "kubernetes.io/metadata.name"
MISSING: Final = "must be specified"
GATED: Final = {SPARK_APPLICATION.framework: "SparkApplicationIntegration"}
"""The gates, off by default, of kinds that are not ready."""
LEASES: Final = "leases"
STRATEGIES: Final = ((LESS_THAN_OR_EQUAL_TO_FINAL,), (LESS_THAN_INITIAL,), BOTH_STRATEGIES)
JITTER: Final = 1.2
"""By how much client-go lengthens the time between two attempts, at most."""
_TIMESTAMPS: Final = ("Creation", "Eviction")
_STRATEGIES: Final = ("Retain", "Replace")
_IGNORE_UNDECLARED: Final = "IgnoreUndeclared"
_QUOTA_CHECKS: Final = (_IGNORE_UNDECLARED, "BlockUndeclared")
_MODES: Final = ("Never", "IfAvailable", "Always")


def problems(given: Any, settings: KueueSettings) -> Iterator[str]:
    """Say what is wrong with a configuration of the newest version, whose types are right."""
    if settings.pods_ready is not None:
        yield from _of_pods_ready(given["waitForPodsReady"])
    yield from _of_integrations(given.get("integrations") or {}, settings.frameworks)
    yield from _of_multikueue(given.get("multiKueue") or {}, settings.frameworks)
    yield from _of_fair_sharing(given.get("fairSharing"))
    yield from _of_admission_fair_sharing(given.get("admissionFairSharing") or {})
    resources = given.get("resources") or {}
    yield from _of_transformations(resources.get("transformations") or ())
    yield from _of_namespaces(given.get("managedJobsNamespaceSelector"), settings)
    yield from _of_retention((given.get("objectRetentionPolicies") or {}).get("workloads") or {})
    if settings.feature_gates["QuotaCheckStrategy"]:
        yield from _of_quota_checks(resources)
    if settings.leader_election is not None:
        yield from _of_election(given.get("leaderElection") or {}, settings.leader_election)


def _of_election(section: Any, election: LeaderElectionConfiguration) -> Iterator[str]:
    """Say what is wrong with an election, in the words of client-go."""
    yield from _negative(section, "leaderElection", "leaseDuration", "renewDeadline", "retryPeriod")
    if (lock := section.get("resourceLock") or LEASES) != LEASES:
        yield unsupported("leaderElection.resourceLock", lock, (LEASES,))
    if election.lease_duration <= election.renew_deadline:
        yield "leaderElection: leaseDuration must be greater than renewDeadline"
    if election.renew_deadline <= JITTER * election.retry_period:
        yield "leaderElection: renewDeadline must be greater than retryPeriod*JitterFactor"


def gated(settings: KueueSettings) -> Iterator[str]:
    """Say which kinds of jobs are asked for without the gate that they are behind: the last thing that is looked at."""
    for framework, gate in GATED.items():
        if framework in settings.frameworks and not settings.feature_gates[gate]:
            yield f"{framework} integration is alpha feature. please enable {gate} featuregate"


def _of_pods_ready(section: Any) -> Iterator[str]:
    path, strategy = "waitForPodsReady", section.get("requeuingStrategy") or {}
    if durations.parsed(section["timeout"]) == 0:
        yield required(f"{path}.timeout", MISSING)
    recovery = section.get("recoveryTimeout")
    lengths = {"timeout": section["timeout"], "recoveryTimeout": section["timeout"] if recovery is None else recovery}
    yield from _negative(lengths, path, *lengths)
    path = f"{path}.requeuingStrategy"
    if strategy.get("timestamp") not in (None, *_TIMESTAMPS):
        yield unsupported(f"{path}.timestamp", strategy["timestamp"], _TIMESTAMPS)
    for name in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        if (strategy.get(name) or 0) < 0:
            yield invalid(f"{path}.{name}", strategy[name], NEGATIVE)


def _negative(section: Any, path: str, *names: str) -> Iterator[str]:
    for name in names:
        if section.get(name) is not None and (length := durations.parsed(section[name])) < 0:
            yield invalid(f"{path}.{name}", durations.written(length), NEGATIVE)


def _of_integrations(section: Any, frameworks: Sequence[str]) -> Iterator[str]:
    path = "integrations.frameworks"
    for number, name in enumerate(frameworks):
        if name not in FRAMEWORKS:
            yield unsupported(f"{path}[{number}]", name, FRAMEWORKS)
        elif name in frameworks[:number]:
            yield duplicate(f"{path}[{number}]", name)
    managed = {FRAMEWORKS.get(name) for name in frameworks}
    for number, kind in enumerate(section.get("externalFrameworks") or ()):
        path = f"integrations.externalFrameworks[{number}]"
        if not is_kind(kind):
            yield invalid(path, kind, "must be format, 'Kind.version.group.com'")
        elif kind in managed:
            yield duplicate(path, kind)
        managed.add(kind)


def _of_multikueue(section: Any, frameworks: Sequence[str]) -> Iterator[str]:
    for name in ("gcInterval", "workerLostTimeout"):
        length = durations.parsed(section.get(name) or "0")
        if length < 0:
            yield invalid(f"multiKueue.{name}", round(length * 1e9), NEGATIVE)
    if why := not_label_value(section.get("origin") or ""):
        yield invalid("multiKueue.origin", section["origin"], why)
    yield from _of_sent_kinds(section.get("externalFrameworks") or (), sent_kinds(frameworks))
    yield from _of_profiles(section.get("clusterProfile") or {})
    yield from _of_incremental(section.get("incrementalDispatcherConfig"), section.get("dispatcherName"))


def _of_sent_kinds(entries: Iterable[Any], known: set[str]) -> Iterator[str]:
    seen = set()
    for number, entry in enumerate(entries):
        path, kind = f"multiKueue.externalFrameworks[{number}].name", entry.get("name") or ""
        if not is_kind(kind):
            yield invalid(path, kind, "must be in 'kind.version.group' format")
            continue
        if kind in seen:
            yield duplicate(path, kind)
        if kind in known:
            yield invalid(path, kind, "conflicts with a built-in MultiKueue adapter")
        seen.add(kind)


def _of_profiles(section: Any) -> Iterator[str]:
    path, newer, older = (
        "multiKueue.clusterProfile",
        section.get("accessProviders"),
        section.get("credentialsProviders"),
    )
    if newer and older:
        yield forbidden(f"{path}.credentialsProviders", "must not be specified when accessProviders is specified")
    path = f"{path}.{'accessProviders' if newer else 'credentialsProviders'}"
    for provider in newer or older or ():
        if not provider.get("name"):
            yield required(f"{path}.name", MISSING)
        yield from _of_program(provider.get("execConfig") or {}, f"{path}.execConfig")


def _of_program(program: Any, path: str) -> Iterator[str]:
    for name in ("command", "apiVersion"):
        if not program.get(name):
            yield required(f"{path}.{name}", MISSING)
    for variable in program.get("env") or ():
        if not variable.get("name"):
            yield required(f"{path}.env.name", MISSING)
    mode = program.get("interactiveMode")
    if not mode:
        yield required(f"{path}.interactiveMode", MISSING)
    elif mode not in _MODES:
        yield unsupported(f"{path}.interactiveMode", mode, _MODES)


def _of_incremental(section: Any, dispatcher: str | None) -> Iterator[str]:
    path = "multiKueue.incrementalDispatcherConfig"
    if section is None:
        return
    if dispatcher != kueue.INCREMENTAL:
        why = "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher"
        yield invalid(path, section, why)
    if (size := section.get("stepSize")) is not None and size < 1:
        yield invalid(f"{path}.stepSize", size, "must be greater than or equal to 1")


def _of_namespaces(selector: Any, settings: KueueSettings) -> Iterator[str]:
    for name in ("kube-system", settings.namespace):
        if settings.namespaces.matches({NAME_LABEL: name}):
            yield invalid("managedJobsNamespaceSelector", selector, f'should not match the "{name}" namespace')


def _of_transformations(entries: Sequence[Any]) -> Iterator[str]:
    inputs = [entry.get("input") or "" for entry in entries]
    for number, entry in enumerate(entries):
        path, strategy = f"resources.transformations[{number}]", entry.get("strategy")
        if strategy not in (None, "", *_STRATEGIES):
            yield unsupported(f"{path}.strategy", strategy, _STRATEGIES)
        if inputs[number] in inputs[:number]:
            yield duplicate(f"{path}.input", inputs[number])


def _of_quota_checks(section: Any) -> Iterator[str]:
    path, strategy = "resources.quotaCheckStrategy", section.get("quotaCheckStrategy")
    if section.get("excludeResourcePrefixes") and strategy == _IGNORE_UNDECLARED:
        why = f"excludeResourcePrefixes is not allowed when quotaCheckStrategy is {_IGNORE_UNDECLARED}"
        yield invalid(path, strategy, why)
    if strategy not in (None, *_QUOTA_CHECKS):
        yield unsupported(path, strategy, _QUOTA_CHECKS)


def _of_fair_sharing(section: Any) -> Iterator[str]:
    if section is None:
        return
    path, strategies = "fairSharing.preemptionStrategies", section.get("preemptionStrategies")
    if not strategies:
        yield required(path, MISSING)
    elif tuple(strategies) not in STRATEGIES:
        yield unsupported(path, strategies, (",".join(known) for known in STRATEGIES))


def _of_admission_fair_sharing(section: Any) -> Iterator[str]:
    path, half_life = "admissionFairSharing", durations.parsed(section.get("usageHalfLifeTime") or "0")
    if half_life < 0:
        yield invalid(f"{path}.usageHalfLifeTime", durations.written(half_life), NEGATIVE)
    if durations.parsed(section.get("usageSamplingInterval") or "0") < 0:
        # upstream shows the other duration
        yield invalid(f"{path}.usageSamplingInterval", durations.written(half_life), "must be greater than 0")
    weights = section.get("resourceWeights") or {}
    for name in sorted(name for name, weight in weights.items() if (weight or 0) < 0):
        yield invalid(f"{path}.resourceWeights[{name}]", dict(sorted(weights.items())), NEGATIVE)


def _of_retention(section: Any) -> Iterator[str]:
    return _negative(section, "objectRetentionPolicies.workloads", "afterFinished", "afterDeactivatedByKueue")
