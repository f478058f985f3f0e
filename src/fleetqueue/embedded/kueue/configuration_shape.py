"""Which fields a configuration may have, and of which types: the real manager reads its file strictly.

Mirrors: Kueue apis/config/{v1beta1,v1beta2}; apimachinery's strict decoding
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

Shape = str | tuple["Shape"] | Mapping[str, "Shape"]
"""A word for a type, the entries of a list, or fields by name; `*` stands for any name."""

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "a text": (str,),
    "a duration such as 1h30m": (str,),
    "true or false": (bool,),
    "a whole number": (int,),
    "a number": (int, float),
}
_TEXT, _DURATION, _FLAG, _NUMBER, _FRACTION = TYPES
_ANY: Final = "anything"
_TEXTS: Final = (_TEXT,)


def _all(names: str, shape: Shape, **more: Shape) -> dict[str, Shape]:
    return {**dict.fromkeys(names.split(), shape), **more}


_SELECTOR: Final[Mapping[str, Shape]] = {
    "matchLabels": {"*": _TEXT},
    "matchExpressions": (_all("key operator", _TEXT, values=_TEXTS),),
}
_PROVIDER: Final[Mapping[str, Shape]] = {
    "name": _TEXT,
    "execConfig": _all(
        "command apiVersion installHint interactiveMode",
        _TEXT,
        args=_TEXTS,
        env=(_all("name value", _TEXT),),
        provideClusterInfo=_FLAG,
    ),
}
_METRICS_LABEL: Final = _all("name sourceLabelKey sourceAnnotationKey", _TEXT)

V1BETA2: Final[Mapping[str, Shape]] = {
    **_all("apiVersion kind namespace pprofBindAddress", _TEXT),
    "webhook": _all("host certDir", _TEXT, port=_NUMBER),
    "leaderElection": _all(
        "resourceLock resourceName resourceNamespace",
        _TEXT,
        leaderElect=_FLAG,
        **_all("leaseDuration renewDeadline retryPeriod", _DURATION),
    ),
    "metrics": {
        "bindAddress": _TEXT,
        "enableClusterQueueResources": _FLAG,
        "customLabels": ({**_METRICS_LABEL, "sourceKind": _TEXT, "trackedValues": _TEXTS},),
        "localQueueMetrics": {"enable": _FLAG, "localQueueSelector": _SELECTOR},
    },
    "health": _all("healthProbeBindAddress readinessEndpointName livenessEndpointName", _TEXT),
    "controller": {"groupKindConcurrency": {"*": _NUMBER}, "cacheSyncTimeout": _NUMBER},
    "tls": {"minVersion": _TEXT, "cipherSuites": _TEXTS, "curvePreferences": (_NUMBER,)},
    "manageJobsWithoutQueueName": _FLAG,
    "managedJobsNamespaceSelector": _SELECTOR,
    "internalCertManagement": _all("webhookServiceName webhookSecretName", _TEXT, enable=_FLAG),
    "waitForPodsReady": {
        **_all("timeout recoveryTimeout", _DURATION),
        "blockAdmission": _FLAG,
        "requeuingStrategy": _all("backoffLimitCount backoffBaseSeconds backoffMaxSeconds", _NUMBER, timestamp=_TEXT),
    },
    "clientConnection": {"qps": _FRACTION, "burst": _NUMBER},
    "integrations": _all("frameworks externalFrameworks labelKeysToCopy", _TEXTS),
    "multiKueue": {
        **_all("gcInterval workerLostTimeout", _DURATION),
        **_all("origin dispatcherName", _TEXT),
        "externalFrameworks": ({"name": _TEXT},),
        "clusterProfile": _all("accessProviders credentialsProviders", (_PROVIDER,)),
        "incrementalDispatcherConfig": {"stepSize": _NUMBER},
    },
    "fairSharing": {"preemptionStrategies": _TEXTS},
    "admissionFairSharing": _all(
        "usageHalfLifeTime usageSamplingInterval", _DURATION, resourceWeights={"*": _FRACTION}
    ),
    "resources": {
        "quotaCheckStrategy": _TEXT,
        "excludeResourcePrefixes": _TEXTS,
        "transformations": (_all("input strategy multiplyBy", _TEXT, outputs={"*": _ANY}),),
        "deviceClassMappings": (_ANY,),
    },
    "featureGates": {"*": _FLAG},
    "objectRetentionPolicies": {"workloads": _all("afterFinished afterDeactivatedByKueue", _DURATION)},
    "visibilityServer": {"bindAddress": _TEXT, "bindPort": _NUMBER},
}


def _changed(shape: Any, *without: str, **more: Shape) -> Mapping[str, Shape]:
    return {**{name: inner for name, inner in shape.items() if name not in without}, **more}


V1BETA1: Final = _changed(
    V1BETA2,
    "visibilityServer",
    metrics=_changed(V1BETA2["metrics"], customLabels=(_METRICS_LABEL,)),
    waitForPodsReady=_changed(V1BETA2["waitForPodsReady"], enable=_FLAG),
    integrations=_changed(V1BETA2["integrations"], podOptions=_all("namespaceSelector podSelector", _SELECTOR)),
    multiKueue=_changed(V1BETA2["multiKueue"], "clusterProfile", "incrementalDispatcherConfig"),
    fairSharing=_changed(V1BETA2["fairSharing"], enable=_FLAG),
    resources=_changed(V1BETA2["resources"], "quotaCheckStrategy"),
    queueVisibility={"clusterQueues": {"maxCount": _NUMBER}, "updateIntervalSeconds": _NUMBER},
)


def type_errors(given: Any, shape: Shape) -> list[str]:
    """Say which values have other types than they must have."""
    return [
        f"{path or 'it'} must be {_said(wanted)}, not {orjson.dumps(value, default=str).decode()}"
        for path, value, wanted in _walk(given, shape)
        if value is not None and wanted is not None and not _fits(value, wanted)
    ]


def unknown_fields(given: Any, shape: Shape) -> list[str]:
    """Return the paths of the fields that there are not."""
    return [path for path, _, wanted in _walk(given, shape) if wanted is None]


def _walk(value: Any, shape: Shape | None, path: str = "") -> Iterator[tuple[str, Any, Shape | None]]:
    """Yield each value with its path and its shape, None where there is no such field; by name, as Go reads YAML."""
    yield path, value, shape
    if isinstance(shape, tuple) and isinstance(value, list):
        for number, entry in enumerate(value):
            yield from _walk(entry, shape[0], f"{path}[{number}]")
    elif isinstance(shape, Mapping) and isinstance(value, dict):
        for name in sorted(value, key=str):
            yield from _walk(value[name], shape.get(name, shape.get("*")), f"{path}.{name}" if path else str(name))


def _fits(value: Any, shape: Shape) -> bool:
    if isinstance(shape, str):
        return shape == _ANY or type(value) in TYPES[shape]  # a bool is no number
    return isinstance(value, list if isinstance(shape, tuple) else dict)


def _said(shape: Shape) -> str:
    return shape if isinstance(shape, str) else "a list" if isinstance(shape, tuple) else "a section"
