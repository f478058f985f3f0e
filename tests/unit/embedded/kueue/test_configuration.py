"""What a manager reads from its configuration; what it refuses is in tests/conformance/kueue_configurations, too."""

import pytest

from fleetqueue.api.kueue_v1beta2 import INCREMENTAL
from fleetqueue.embedded.kueue.configuration import BadConfiguration, read
from fleetqueue.embedded.kueue.settings import KueueSettings, LeaderElectionConfiguration

SELECTED = "metrics: {localQueueMetrics: {enable: true, localQueueSelector: {matchLabels: {told: 'yes'}}}}"
HEAD = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
OLD = HEAD.replace("v1beta2", "v1beta1")


@pytest.mark.parametrize("text", ["", HEAD])
def test_an_empty_configuration_has_kueue_s_defaults(text):
    assert read(text) == KueueSettings(leader_election=LeaderElectionConfiguration())
    assert read(text).pods_ready.timeout == 1800


def test_everything_that_matters_is_read():
    settings = read(
        HEAD
        + f"""
integrations:
  frameworks: [batch/job, jobset.x-k8s.io/jobset]
  labelKeysToCopy: [team]
  externalFrameworks: [Foo.v1.example.com]
manageJobsWithoutQueueName: true
managedJobsNamespaceSelector: {{matchLabels: {{managed: "true"}}}}
waitForPodsReady:
  timeout: 5m
  requeuingStrategy: {{timestamp: Creation, backoffLimitCount: 3, backoffBaseSeconds: 10, backoffMaxSeconds: 100}}
objectRetentionPolicies: {{workloads: {{afterFinished: 1h, afterDeactivatedByKueue: 90s}}}}
multiKueue:
  gcInterval: 2m
  origin: hub
  workerLostTimeout: 30s
  dispatcherName: {INCREMENTAL}
  incrementalDispatcherConfig: {{stepSize: 5}}
  externalFrameworks: [{{name: Bar.v1.example.com}}]
featureGates: {{MultiKueueClusterProfile: true}}
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
    assert (settings.multikueue.origin, settings.multikueue.dispatcher) == ("hub", INCREMENTAL)
    assert settings.multikueue.step_size == 5
    assert settings.feature_gates["MultiKueueClusterProfile"]
    assert settings.external_frameworks == ("Foo.v1.example.com",)
    assert settings.multikueue.external_frameworks == ("Bar.v1.example.com",)


@pytest.mark.parametrize(
    ("section", "labels", "is_told"),
    [
        pytest.param("", {}, True, id="nothing said"),
        pytest.param("metrics: {localQueueMetrics: {enable: true}}", {}, True, id="switched on"),
        pytest.param("metrics: {localQueueMetrics: {enable: false}}", {}, False, id="switched off"),
        pytest.param("metrics: {localQueueMetrics: {}}", {}, False, id="a section that does not switch it on"),
        pytest.param("featureGates: {LocalQueueMetrics: false}", {}, False, id="a gate"),
        pytest.param(SELECTED, {"told": "yes"}, True, id="selected"),
        pytest.param(SELECTED, {}, False, id="not selected"),
    ],
)
def test_of_which_local_queues_numbers_are_told(section, labels, is_told):
    selector = read(HEAD + section).metrics.local_queues

    assert (selector is not None and selector.matches(labels)) is is_told


def test_numbers_of_resources_are_told_where_that_is_wanted():
    assert read(HEAD + "metrics: {enableClusterQueueResources: true}").metrics.resources
    assert not read(HEAD + "metrics: {bindAddress: ':8443'}").metrics.resources


@pytest.mark.parametrize("field", ["accessProviders", "credentialsProviders"])
def test_access_providers_are_read_by_both_names(field):
    provider = {"name": "p", "execConfig": {"command": "c", "apiVersion": "v", "interactiveMode": "Never"}}

    settings = read(f"{HEAD}multiKueue: {{clusterProfile: {{{field}: [{provider}]}}}}")

    assert settings.multikueue.access_providers == (provider,)


@pytest.mark.parametrize(
    ("section", "timeouts"),
    [
        pytest.param("{timeout: 0s}", (1800, 1800), id="no time is the default"),
        pytest.param("{timeout: 5m}", (300, 300), id="recovery takes as long"),
        pytest.param("{timeout: 5m, recoveryTimeout: 1m}", (300, 60), id="recovery has its own"),
        pytest.param("{timeout: 5m, recoveryTimeout: 0s}", (300, None), id="recovery is waited for without end"),
    ],
)
def test_how_long_pods_are_waited_for(section, timeouts):
    ready = read(f"{HEAD}waitForPodsReady: {section}").pods_ready

    assert (ready.timeout, ready.recovery_timeout) == timeouts


def test_nobody_waits_for_pods_where_a_gate_says_so():
    assert read(f"{HEAD}featureGates: {{DisableWaitForPodsReady: true}}").pods_ready is None


def test_the_older_version_waits_for_pods_only_where_it_says_so():
    waiting = read(f"{OLD}waitForPodsReady: {{enable: true, blockAdmission: false, timeout: 1m}}").pods_ready

    assert read(OLD).pods_ready is None
    assert (waiting.timeout, waiting.recovery_timeout) == (60, 60)


def test_the_older_version_blocks_admission_unless_it_says_otherwise():
    with pytest.raises(BadConfiguration, match=r"waitForPodsReady\.blockAdmission: Forbidden"):
        read(f"{OLD}waitForPodsReady: {{enable: true}}")


@pytest.mark.parametrize(
    ("text", "home"), [(HEAD, "elsewhere"), (f"{HEAD}namespace: there", "there")], ids=["its own", "as written"]
)
def test_a_manager_leaves_its_namespace_alone(text, home):
    settings = read(text, namespace="elsewhere")

    assert settings.namespace == home
    assert not settings.namespaces.matches({"kubernetes.io/metadata.name": home})
    assert settings.namespaces.matches({"kubernetes.io/metadata.name": "default"})


def test_without_its_gate_the_step_size_is_not_looked_at():
    section = f"multiKueue: {{dispatcherName: {INCREMENTAL}, incrementalDispatcherConfig: {{stepSize: 5}}}}"

    settings = read(f"{HEAD}{section}\nfeatureGates: {{MultiKueueIncrementalDispatcherConfig: false}}")

    assert settings.multikueue.step_size == 3


def test_without_their_gate_no_further_kinds_are_sent():
    section = "multiKueue: {externalFrameworks: [{name: Foo.v1.example.com}]}"

    settings = read(f"{HEAD}{section}", gates="MultiKueueAdaptersForCustomJobs=false")

    assert settings.multikueue.external_frameworks == ()


def test_text_that_is_no_yaml_is_refused():
    with pytest.raises(BadConfiguration, match="Unable to load the configuration: while parsing"):
        read(f"{HEAD}[")


@pytest.mark.parametrize(("text", "why"), [("- a", "couldn't get version/kind"), ("kind: [a]", "no kind")])
def test_what_has_no_kind_is_no_configuration(text, why):
    with pytest.raises(BadConfiguration, match=why):
        read(text)


def test_an_election_is_read():
    given = "resourceName: n, resourceNamespace: ns, leaseDuration: 1m, renewDeadline: 40s, retryPeriod: 5s"

    settings = read(HEAD + f"leaderElection: {{leaderElect: true, {given}}}")

    assert settings.leader_election == LeaderElectionConfiguration("n", "ns", 60, 40, 5)
    assert settings.replica_role == "leader"


def test_a_manager_can_be_told_to_act_without_an_election():
    settings = read(HEAD + "leaderElection: {leaderElect: false, resourceLock: none}")

    assert settings.leader_election is None
    assert settings.replica_role == "standalone"


@pytest.mark.parametrize(
    ("section", "says"),
    [
        pytest.param("{retryPeriod: -1s}", "leaderElection.retryPeriod", id="a negative time"),
        pytest.param("{renewDeadline: 15s}", "leaseDuration must be greater than", id="too late to renew"),
        pytest.param("{retryPeriod: 9s}", "renewDeadline must be greater than", id="too rarely renewed"),
        pytest.param("{resourceLock: endpoints}", 'Unsupported value: "endpoints"', id="no Lease"),
    ],
)
def test_an_election_that_cannot_be_meant_is_refused(section, says):
    with pytest.raises(BadConfiguration) as refusal:
        read(f"{HEAD}leaderElection: {section}")

    assert says in str(refusal.value)


def test_spark_applications_are_behind_a_gate():
    frameworks = HEAD + "integrations: {frameworks: [sparkoperator.k8s.io/sparkapplication]}\n"
    gate = "SparkApplicationIntegration"

    with pytest.raises(BadConfiguration, match=f"integration is alpha feature. please enable {gate} featuregate"):
        read(frameworks)
    assert read(f"{frameworks}featureGates: {{{gate}: true}}").frameworks == ("sparkoperator.k8s.io/sparkapplication",)
