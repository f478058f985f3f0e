"""What an agent says of its worker: resources, claims, conditions, namespaces."""

import pytest

from fleetqueue.api.cluster_claims_v1alpha1 import WORKER_ONLY_LABEL, ClusterClaim
from fleetqueue.embedded.ocm.registration import messages
from fleetqueue.embedded.ocm.registration.agent.cluster_creation import new_cluster, with_client_configs
from fleetqueue.embedded.ocm.registration.agent.reporting import (
    WorkerState,
    is_accepted,
    is_out_of_sync,
    news,
    reported,
    shown_claims,
    total,
    totals,
    with_namespaces,
)
from fleetqueue.embedded.ocm.registration.objects import WorkerNode
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import START

SETTINGS = RegistrationAgentSettings("c")
EARLIER = "2025-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("quantities", "wanted"),
    [
        (["8"], "8"),
        (["8", "4"], "12"),
        (["500m", "1500m"], "2"),
        (["1", "250m"], "1250m"),
        (["1Gi", "512Mi"], "1536Mi"),
        (["1Gi", "1Gi"], "2Gi"),
        (["65843512Ki", "65843512Ki"], "131687024Ki"),
        (["0", "1Gi"], "1Gi"),
        (["110", "110"], "220"),
        (["1G", "500M"], "1500M"),
        (["1e3", "1"], "1001"),
        (["0"], "0"),
        (["0", "0"], "0"),
    ],
)
def test_sums_are_written_as_kubernetes_writes_them(quantities, wanted):
    assert total(quantities) == wanted


def test_every_resource_is_added_up_under_its_name():
    assert totals([{"cpu": "1", "gpu": "2"}, {"cpu": "3"}]) == {"cpu": "4", "gpu": "2"}


def node(*, unschedulable=False, **resources):
    status = {"capacity": resources, "allocatable": resources}
    return WorkerNode.view(WorkerNode.manifest("n", spec={"unschedulable": unschedulable}, status=status))


def worker(*nodes, health=None, claims=()):
    return WorkerState(health or messages.available(), "v1.36.3", nodes, claims)


def types(status):
    return {each["type"]: each["status"] for each in status["conditions"]}


def test_a_first_report_says_that_the_cluster_has_joined():
    status = reported({}, worker(node(cpu="4")), SETTINGS, START)

    assert types(status) == {"ManagedClusterJoined": "True", "ManagedClusterConditionAvailable": "True"}
    assert status["version"] == {"kubernetes": "v1.36.3"}
    assert status["capacity"] == status["allocatable"] == {"cpu": "4"}


def test_conditions_of_others_and_dates_of_ours_stay():
    live = {
        "conditions": [
            condition("Other", since=EARLIER),
            condition("ManagedClusterJoined", True, "ManagedClusterJoined", "Managed cluster joined", EARLIER),
            condition("ManagedClusterConditionAvailable", "Unknown", since=EARLIER),
        ]
    }

    status = reported(live, worker(), SETTINGS, START)

    dates = {each["type"]: each["lastTransitionTime"] for each in status["conditions"]}
    assert dates == {
        "Other": EARLIER,
        "ManagedClusterJoined": EARLIER,
        "ManagedClusterConditionAvailable": "2026-01-01T00:00:00Z",
    }


def test_the_second_report_is_the_first():
    first = reported({}, worker(node(cpu="4")), SETTINGS, START)

    assert reported(first, worker(node(cpu="4")), SETTINGS, START.replace(year=2027)) == first


def test_a_node_that_takes_no_pods_is_not_allocatable():
    status = reported({}, worker(node(cpu="4"), node(cpu="4", unschedulable=True)), SETTINGS, START)

    assert (status["capacity"], status["allocatable"]) == ({"cpu": "8"}, {"cpu": "4"})


def test_capacity_of_others_stays_and_what_is_allocatable_does_not():
    live = {"capacity": {"theirs": "1", "cpu": "9"}, "allocatable": {"theirs": "1"}}

    status = reported(live, worker(node(cpu="4")), SETTINGS, START)

    assert status["capacity"] == {"theirs": "1", "cpu": "4"}
    assert status["allocatable"] == {"cpu": "4"}


def test_a_worker_that_is_not_well_keeps_its_last_numbers():
    live = {"version": {"kubernetes": "v1"}, "capacity": {"cpu": "4"}, "clusterClaims": []}

    status = reported(live, worker(health=messages.unavailable(500, "no leader")), SETTINGS, START)

    assert (status["version"], status["capacity"]) == ({"kubernetes": "v1"}, {"cpu": "4"})
    assert types(status)["ManagedClusterConditionAvailable"] == "False"


def claim(name, value="v", **labels):
    return ClusterClaim.view(ClusterClaim.manifest(name, labels=labels, spec={"value": value}))


def test_reserved_claims_come_first_and_others_up_to_a_limit():
    claims = [claim("b"), claim("a"), claim("c"), claim("product.open-cluster-management.io"), claim("x.mine")]
    settings = RegistrationAgentSettings("c", custom_claims=2, reserved_suffixes=[".mine"])

    shown = [each["name"] for each in shown_claims(claims, settings)]

    assert shown == ["product.open-cluster-management.io", "x.mine", "a", "b"]


def test_claims_that_are_the_workers_own_are_not_shown():
    assert shown_claims([claim("a", **{WORKER_ONLY_LABEL: "true"})], SETTINGS) == []


def test_every_wanted_namespace_gets_its_condition():
    live = {"managedNamespaces": [{"name": "one", "clusterSet": "s"}, {"name": "one", "clusterSet": "t"}]}

    status = with_namespaces(live, {"one": messages.namespace_applied()}, START)

    assert [each["conditions"][0]["reason"] for each in status["managedNamespaces"]] == ["NamespaceApplied"] * 2


@pytest.mark.parametrize(
    ("old", "new", "told"), [("", "True", "True"), ("True", "True", ""), ("True", "False", "False")]
)
def test_only_a_change_is_news(old, new, told):
    def status(text):
        return {"conditions": [condition("ManagedClusterConditionAvailable", text)] if text else []}

    assert news(status(old), status(new)) == told


def test_the_hub_is_heard():
    assert is_accepted({"conditions": [condition("HubAcceptedManagedCluster")]})
    assert not is_accepted({})
    assert is_out_of_sync({"conditions": [condition("ManagedClusterConditionClockSynced", False)]})
    assert not is_out_of_sync({})


def test_only_annotations_of_agents_are_taken_along():
    notes = {"agent.open-cluster-management.io/x": "1", "mine": "2"}

    made = new_cluster(RegistrationAgentSettings("c", annotations=notes))

    assert made["metadata"]["annotations"] == {"agent.open-cluster-management.io/x": "1"}
    assert made["spec"] == {"hubAcceptsClient": False}


def test_ways_to_the_worker_are_added_to_those_that_are_known():
    live = {"spec": {"managedClusterClientConfigs": [{"url": "https://a"}]}}

    added = with_client_configs(live, RegistrationAgentSettings("c", urls=["https://a", "https://b"], ca=b"pem"))

    assert added["spec"]["managedClusterClientConfigs"] == [
        {"url": "https://a"},
        {"url": "https://b", "caBundle": "cGVt"},
    ]
    assert with_client_configs(added, RegistrationAgentSettings("c", urls=["https://a"])) == added
