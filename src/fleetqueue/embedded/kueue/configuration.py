"""Read the configuration file of a Kueue manager, and refuse one that cannot be meant.

A manager reads it once, when it starts: whoever changes the ConfigMap restarts the manager, as with the real one.

Mirrors: Kueue apis/config, pkg/config
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import yaml

from fleetqueue.api import durations
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kueue.settings import (
    BATCH_JOB,
    SYSTEM_NAMESPACES,
    KueueSettings,
    MultiKueueConfiguration,
    PodsReadySettings,
)
from fleetqueue.embedded.kueue.webhooks.field_errors import NEGATIVE, duplicate, invalid, unsupported

CONFIG_KEY: Final = "controller_manager_config.yaml"
GROUP: Final = "config.kueue.x-k8s.io"
VERSIONS: Final = (f"{GROUP}/v1beta1", f"{GROUP}/v1beta2")
FRAMEWORKS: Final = (
    BATCH_JOB,
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
"""What the real Kueue knows; those that are not served here are accepted and ignored."""
NAME_LABEL: Final = "kubernetes.io/metadata.name"

Section = Mapping[str, Any]


class BadConfiguration(Exception):
    """A manager does not start with this configuration; the text says why."""


def read(text: str) -> KueueSettings:
    """Read a configuration file; raises BadConfiguration."""
    try:
        given = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise BadConfiguration(f"{CONFIG_KEY} is no YAML: {error}") from None
    if not isinstance(given, dict) or given.get("apiVersion") not in VERSIONS or given.get("kind") != "Configuration":
        raise BadConfiguration(f"{CONFIG_KEY} must be a Configuration of {' or '.join(VERSIONS)}")
    try:
        settings = _settings(given)
    except (TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
        raise BadConfiguration(f"{CONFIG_KEY}: {error}") from None
    if problems := [*_faults(given, settings)]:
        raise BadConfiguration(f"{CONFIG_KEY}: {'; '.join(problems)}")
    return settings


def seconds(text: str | int | float) -> float:
    """Read a duration such as `1h30m`; raises ValueError."""
    if isinstance(text, int | float):
        return float(text)
    try:
        return durations.parsed(text)
    except ValueError:
        raise ValueError(f"{text!r} is no duration; write it as 1h30m or 90s") from None


def _settings(given: Section) -> KueueSettings:
    integrations, default = _section(given, "integrations"), KueueSettings()
    retention = _section(_section(given, "objectRetentionPolicies"), "workloads")
    selector = given.get("managedJobsNamespaceSelector")
    return KueueSettings(
        frameworks=tuple(integrations.get("frameworks") or default.frameworks),
        copied_labels=tuple(integrations.get("labelKeysToCopy") or ()),
        manages_jobs_without_queue=bool(given.get("manageJobsWithoutQueueName")),
        namespaces=default.namespaces if selector is None else msgspec.convert(selector, LabelSelector),
        pods_ready=_pods_ready(given),
        keep_finished=_optional(retention, "afterFinished"),
        keep_deactivated=_optional(retention, "afterDeactivatedByKueue"),
        multikueue=_multikueue(_section(given, "multiKueue")),
        feature_gates=dict(_section(given, "featureGates")),
    )


def _pods_ready(given: Section) -> PodsReadySettings | None:
    """Read for how long pods are waited for; in the older version only where that is switched on."""
    section = _section(given, "waitForPodsReady")
    is_old = given["apiVersion"] == VERSIONS[0]
    if _section(given, "featureGates").get("DisableWaitForPodsReady") or (is_old and not section.get("enable")):
        return None
    default, strategy = PodsReadySettings(), _section(section, "requeuingStrategy")
    timeout = seconds(section.get("timeout") or default.timeout)
    recovery = _optional(section, "recoveryTimeout")
    return PodsReadySettings(
        timeout=timeout,
        recovery_timeout=(None if is_old else timeout) if recovery is None else recovery,
        limit=strategy.get("backoffLimitCount"),
        first_back_off=strategy.get("backoffBaseSeconds", default.first_back_off),
        last_back_off=strategy.get("backoffMaxSeconds", default.last_back_off),
        by_eviction=strategy.get("timestamp", "Eviction") == "Eviction",
    )


def _multikueue(section: Section) -> MultiKueueConfiguration:
    default = MultiKueueConfiguration()
    profiles = _section(section, "clusterProfile")
    providers = profiles.get("accessProviders") or profiles.get("credentialsProviders") or ()
    return MultiKueueConfiguration(
        gc_interval=seconds(section.get("gcInterval", default.gc_interval)),
        origin=section.get("origin") or default.origin,
        worker_lost_timeout=seconds(section.get("workerLostTimeout", default.worker_lost_timeout)),
        dispatcher=section.get("dispatcherName") or default.dispatcher,
        step_size=_section(section, "incrementalDispatcherConfig").get("stepSize") or default.step_size,
        access_providers=tuple(providers),
    )


def _faults(given: Section, settings: KueueSettings) -> Iterable[str]:
    for number, framework in enumerate(settings.frameworks):
        path = f"integrations.frameworks[{number}]"
        if framework not in FRAMEWORKS:
            yield unsupported(path, framework, FRAMEWORKS)
        elif framework in settings.frameworks[:number]:
            yield duplicate(path, framework)
    for name in SYSTEM_NAMESPACES:
        if settings.namespaces.matches({NAME_LABEL: name}):
            value = given.get("managedJobsNamespaceSelector")
            yield invalid("managedJobsNamespaceSelector", value, f'should not match the "{name}" namespace')
    yield from _negatives(settings)
    timestamp = _section(_section(given, "waitForPodsReady"), "requeuingStrategy").get("timestamp", "Eviction")
    if timestamp not in ("Creation", "Eviction"):
        path = "waitForPodsReady.requeuingStrategy.timestamp"
        yield unsupported(path, timestamp, ("Creation", "Eviction"))


def _negatives(settings: KueueSettings) -> Iterable[str]:
    multikueue, ready = settings.multikueue, settings.pods_ready or PodsReadySettings()
    numbers = {
        "multiKueue.gcInterval": multikueue.gc_interval,
        "multiKueue.workerLostTimeout": multikueue.worker_lost_timeout,
        "waitForPodsReady.timeout": ready.timeout,
        "waitForPodsReady.recoveryTimeout": ready.recovery_timeout,
        "waitForPodsReady.requeuingStrategy.backoffLimitCount": ready.limit,
        "waitForPodsReady.requeuingStrategy.backoffBaseSeconds": ready.first_back_off,
        "waitForPodsReady.requeuingStrategy.backoffMaxSeconds": ready.last_back_off,
    }
    return [invalid(path, value, NEGATIVE) for path, value in numbers.items() if value is not None and value < 0]


def _section(given: Section, name: str) -> Section:
    section = given.get(name) or {}
    if not isinstance(section, dict):
        raise ValueError(f"{name} must be a section, not {section!r}")
    return section


def _optional(section: Section, name: str) -> float | None:
    return seconds(section[name]) if section.get(name) is not None else None
