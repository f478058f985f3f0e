"""What a manager reads from its configuration; what it refuses is in tests/conformance/kueue_configurations, too."""

from decimal import Decimal

import pytest

from fleetqueue.api.kueue_v1beta2 import INCREMENTAL
from fleetqueue.embedded.kueue.configuration import BadConfiguration, read
from fleetqueue.embedded.kueue.settings import LESS_THAN_INITIAL as INITIAL
from fleetqueue.embedded.kueue.settings import LESS_THAN_OR_EQUAL_TO_FINAL as FINAL
from fleetqueue.embedded.kueue.settings import (
    AdmissionFairSharingSettings,
    FairSharingSettings,
    KueueSettings,
    LeaderElectionConfiguration,
    ResourceTransformation,
)

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


@pytest.mark.parametrize(
    ("head", "section", "blocks", "timeout"),
    [
        pytest.param(OLD, "{enable: true}", True, 300, id="the older version does unless it says otherwise"),
        pytest.param(OLD, "{enable: true, blockAdmission: false}", False, 300, id="the older version says otherwise"),
        pytest.param(HEAD, "{}", False, 1800, id="the newest version does not"),
        pytest.param(HEAD, "{blockAdmission: true}", True, 1800, id="the newest version says so"),
    ],
)
def test_whether_admission_is_blocked_meanwhile(head, section, blocks, timeout):
    ready = read(f"{head}waitForPodsReady: {section}").pods_ready

    assert (ready.blocks_admission, ready.timeout) == (blocks, timeout)


def test_nothing_is_blocked_where_nobody_waits_for_pods():
    section = "waitForPodsReady: {blockAdmission: true}"

    assert read(f"{HEAD}{section}\nfeatureGates: {{DisableWaitForPodsReady: true}}").pods_ready is None


def test_what_counts_against_quota_is_read():
    resources = read(
        HEAD
        + """
resources:
  excludeResourcePrefixes: [networking.example.com/]
  transformations:
    - {input: a, strategy: Replace, multiplyBy: cpu, outputs: {b: 5Gi, c: "2"}}
    - {input: d, outputs: {b: 1}}
    - {input: e}
"""
    ).resources

    assert resources.excluded_prefixes == ("networking.example.com/",)
    assert resources.transformations == {
        "a": ResourceTransformation({"b": Decimal(5 * 2**30), "c": Decimal(2)}, replaces=True, multiply_by="cpu"),
        "d": ResourceTransformation({"b": Decimal(1)}),
        "e": ResourceTransformation({}),
    }
    assert not resources.ignores_undeclared


@pytest.mark.parametrize(
    ("more", "is_ignored"),
    [
        pytest.param("", True, id="as it says"),
        pytest.param("featureGates: {QuotaCheckStrategy: false}", False, id="its gate is off"),
    ],
)
def test_whether_what_has_no_quota_is_looked_at(more, is_ignored):
    resources = read(f"{HEAD}resources: {{quotaCheckStrategy: IgnoreUndeclared}}\n{more}").resources

    assert resources.ignores_undeclared is is_ignored


def test_an_output_that_is_no_quantity_is_refused():
    with pytest.raises(BadConfiguration, match="Unable to load the configuration: quantities must match"):
        read(f"{HEAD}resources: {{transformations: [{{input: a, outputs: {{b: much}}}}]}}")


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


@pytest.mark.parametrize(
    ("text", "strategies"),
    [
        pytest.param(f"{HEAD}fairSharing: {{preemptionStrategies: [{FINAL}]}}", (FINAL,), id="one"),
        pytest.param(f"{HEAD}fairSharing: {{preemptionStrategies: [{FINAL}, {INITIAL}]}}", (FINAL, INITIAL), id="both"),
        pytest.param(f"{OLD}fairSharing: {{enable: true}}", (FINAL, INITIAL), id="both by default in v1beta1"),
        pytest.param(
            f"{OLD}fairSharing: {{enable: true, preemptionStrategies: [{INITIAL}]}}", (INITIAL,), id="one in v1beta1"
        ),
    ],
)
def test_the_strategies_of_fair_sharing_are_read(text, strategies):
    assert read(text).fair_sharing == FairSharingSettings(preemption_strategies=strategies)


@pytest.mark.parametrize("text", [HEAD, OLD, f"{OLD}fairSharing: {{preemptionStrategies: [{FINAL}]}}"])
def test_shares_are_fair_only_where_a_configuration_says_so(text):
    assert read(text).fair_sharing is None


def test_the_gates_of_fair_sharing_count():
    gates = "{FairSharingPreemptWithinNominal: false, FairSharingPrioritizeNonBorrowing: false}"

    sharing = read(f"{OLD}fairSharing: {{enable: true}}\nfeatureGates: {gates}").fair_sharing

    assert (sharing.preempts_within_nominal, sharing.prioritizes_non_borrowing) == (False, False)


@pytest.mark.parametrize(
    ("section", "sharing"),
    [
        pytest.param("{}", AdmissionFairSharingSettings(0.0, 300.0), id="all by default"),
        pytest.param(
            "{usageHalfLifeTime: 1h, usageSamplingInterval: 1m, resourceWeights: {cpu: 2, gpu: 0.5}}",
            AdmissionFairSharingSettings(3600.0, 60.0, {"cpu": 2.0, "gpu": 0.5}),
            id="all chosen",
        ),
        pytest.param("{usageSamplingInterval: 0s}", AdmissionFairSharingSettings(), id="no interval is the default"),
    ],
)
@pytest.mark.parametrize("version", [HEAD, OLD], ids=["v1beta2", "v1beta1"])
def test_how_local_queues_share_is_read(version, section, sharing):
    assert read(f"{version}admissionFairSharing: {section}").admission_fair_sharing == sharing


def test_local_queues_share_only_where_a_configuration_and_a_gate_say_so():
    section = f"{HEAD}admissionFairSharing: {{usageHalfLifeTime: 1h}}"

    assert read(HEAD).admission_fair_sharing is None
    assert read(f"{section}\nfeatureGates: {{AdmissionFairSharing: false}}").admission_fair_sharing is None


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("{usageHalfLifeTime: -1s}", 'usageHalfLifeTime: Invalid value: "-1s": must be greater than or equal to 0'),
        ("{usageSamplingInterval: -1s}", 'usageSamplingInterval: Invalid value: "0s": must be greater than 0'),
        (
            "{resourceWeights: {gpu: 1, cpu: -1}}",
            'resourceWeights[cpu]: Invalid value: {"cpu":-1,"gpu":1}: must be greater than or equal to 0',
        ),
    ],
)
def test_sharing_that_cannot_be_meant_is_refused(section, says):
    with pytest.raises(BadConfiguration) as refusal:
        read(f"{HEAD}admissionFairSharing: {section}")

    assert str(refusal.value) == f"Unable to validate the configuration: admissionFairSharing.{says}"
