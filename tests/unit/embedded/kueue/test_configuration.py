"""What a manager reads from its configuration, and what it refuses."""

import pytest

from fleetqueue.embedded.kueue.configuration import BadConfiguration, read, seconds
from fleetqueue.embedded.kueue.settings import KueueSettings

HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"


def test_an_empty_configuration_has_kueue_s_defaults():
    assert read(HEAD) == KueueSettings()
    assert read(HEAD).pods_ready.timeout == 1800


def test_everything_that_matters_is_read():
    settings = read(
        HEAD
        + """
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset], labelKeysToCopy: [team]}
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {matchLabels: {managed: "true"}}
waitForPodsReady:
  timeout: 5m
  requeuingStrategy: {timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10, backoffMaxSeconds: 100}
objectRetentionPolicies: {workloads: {afterFinished: 1h, afterDeactivatedByKueue: 90s}}
multiKueue:
  gcInterval: 2m
  origin: hub
  workerLostTimeout: 30s
  dispatcherName: example.com/own
  clusterProfile: {credentialsProviders: [{name: p, execConfig: {command: c}}]}
  incrementalDispatcherConfig: {stepSize: 5}
featureGates: {Some: true}
"""
    )

    assert settings.frameworks == ("batch/job", "jobset.x-k8s.io/jobset")
    assert settings.copied_labels == ("team",)
    assert settings.manages_jobs_without_queue
    assert settings.namespaces.matches({"managed": "true"})
    assert settings.pods_ready.timeout == settings.pods_ready.recovery_timeout == 300
    assert (settings.pods_ready.limit, settings.pods_ready.first_back_off) == (3, 10)
    assert not settings.pods_ready.by_eviction
    assert (settings.keep_finished, settings.keep_deactivated) == (3600, 90)
    assert (settings.multikueue.gc_interval, settings.multikueue.worker_lost_timeout) == (120, 30)
    assert (settings.multikueue.origin, settings.multikueue.dispatcher) == ("hub", "example.com/own")
    assert settings.multikueue.access_providers[0]["name"] == "p"
    assert settings.multikueue.step_size == 5
    assert settings.feature_gates == {"Some": True}


def test_the_older_version_waits_for_pods_only_where_it_says_so():
    old = HEAD.replace("v1beta2", "v1beta1")

    assert read(old).pods_ready is None
    assert read(old + "waitForPodsReady: {enable: true, timeout: 1m}").pods_ready.timeout == 60


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("[", "is no YAML", id="no YAML"),
        pytest.param("kind: Other", "must be a Configuration", id="another kind"),
        pytest.param(
            HEAD + "integrations: {frameworks: [x]}", 'integrations.frameworks[0]: Unsupported value: "x"', id="unknown"
        ),
        pytest.param(HEAD + "integrations: {frameworks: [pod, pod]}", "Duplicate value", id="twice"),
        pytest.param(HEAD + "integrations: []\nmultiKueue: 3", "must be a section", id="no section"),
        pytest.param(
            HEAD + "managedJobsNamespaceSelector: {}", 'should not match the "kube-system" namespace', id="too wide"
        ),
        pytest.param(HEAD + "multiKueue: {gcInterval: -1s}", "must be greater than or equal to 0", id="negative"),
        pytest.param(HEAD + "waitForPodsReady: {timeout: soon}", "is no duration", id="no duration"),
        pytest.param(
            HEAD + "waitForPodsReady: {requeuingStrategy: {timestamp: Never}}", "Unsupported value", id="no timestamp"
        ),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_refused(text, says):
    with pytest.raises(BadConfiguration) as refusal:
        read(text)

    assert says in str(refusal.value)


@pytest.mark.parametrize(("text", "value"), [("1h30m", 5400), ("500ms", 0.5), ("0", 0), ("-1m", -60), ("1.5s", 1.5)])
def test_durations(text, value):
    assert seconds(text) == value


def test_access_providers_are_the_newer_name_of_credentials_providers():
    given = HEAD + "multiKueue: {clusterProfile: {accessProviders: [{name: p, execConfig: {command: c}}]}}"

    assert read(given).multikueue.access_providers[0]["name"] == "p"
