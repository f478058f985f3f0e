"""Every field is read, means nothing here, or is refused: none is silently ignored."""

import pytest
import yaml

from fleetqueue.embedded.kueue.configuration import BadConfiguration, read
from fleetqueue.embedded.kueue.configuration_shape import V1BETA1, V1BETA2
from fleetqueue.embedded.kueue.configuration_support import UNSERVED, WITHOUT_MEANING

HEAD = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
READ = {
    *("apiVersion", "kind", "namespace", "featureGates", "manageJobsWithoutQueueName", "managedJobsNamespaceSelector"),
    *("multiKueue.gcInterval", "multiKueue.origin", "multiKueue.workerLostTimeout", "multiKueue.dispatcherName"),
    *("multiKueue.clusterProfile", "multiKueue.incrementalDispatcherConfig", "objectRetentionPolicies.workloads"),
    *("integrations.frameworks", "integrations.labelKeysToCopy", "integrations.externalFrameworks"),
    *("multiKueue.externalFrameworks", "leaderElection", "metrics"),
    *("waitForPodsReady.timeout", "waitForPodsReady.recoveryTimeout", "waitForPodsReady.requeuingStrategy"),
    *(
        "waitForPodsReady.blockAdmission",
        "waitForPodsReady.enable",
        "fairSharing.enable",
        "fairSharing.preemptionStrategies",
        "admissionFairSharing.usageHalfLifeTime",
        "admissionFairSharing.usageSamplingInterval",
        "admissionFairSharing.resourceWeights",
        "resources.quotaCheckStrategy",
    ),
    *("resources.excludeResourcePrefixes", "resources.transformations"),
}
AS_UPSTREAM = {"integrations.podOptions"}
"""What Kueue 0.19 ignores itself."""


def paths(shape):
    """Return the first two levels of a version's fields, and the first only where nothing below is told apart."""
    for name, inner in shape.items():
        if name in READ | WITHOUT_MEANING.keys() or not isinstance(inner, dict):
            yield name
        else:
            yield from (f"{name}.{below}" for below in inner)


def is_refused(path):
    return any(path == one.path or path.startswith(f"{one.path}.") for one in UNSERVED)


def written(path, value):
    for name in reversed(path.split(".")):
        value = {name: value}
    return yaml.safe_dump({**HEAD, **value})


@pytest.mark.parametrize("shape", [V1BETA1, V1BETA2], ids=["v1beta1", "v1beta2"])
def test_nothing_is_silently_ignored(shape):
    unexplained = [
        path
        for path in paths(shape)
        if path not in READ | AS_UPSTREAM and path not in WITHOUT_MEANING and not is_refused(path)
    ]

    assert unexplained == []


def test_every_field_that_is_spoken_of_is_there():
    known = {*paths(V1BETA1), *paths(V1BETA2)}

    assert READ | AS_UPSTREAM | WITHOUT_MEANING.keys() <= known
    assert {one.path for one in UNSERVED if "." in one.path} <= known


ASKING = {
    "resources.deviceClassMappings": [{"name": "a", "deviceClassNames": ["b"]}],
}


@pytest.mark.parametrize("unserved", UNSERVED, ids=lambda one: one.path)
def test_what_is_not_served_is_refused(unserved):
    with pytest.raises(BadConfiguration) as refusal:
        read(written(unserved.path, ASKING[unserved.path]))

    why = f"{unserved.path}: Forbidden: {unserved.what} is not served by the embedded Kueue"
    assert str(refusal.value) == f"The embedded Kueue cannot do what the configuration asks for: {why}"


@pytest.mark.parametrize(
    ("path", "value"), [(one.path, value) for one in UNSERVED for value in one.idle], ids=lambda part: str(part)
)
def test_what_changes_nothing_is_accepted(path, value):
    assert read(written(path, value)) == read("")
