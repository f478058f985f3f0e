"""What a manager that runs as a process gets from the shipped manifests and from the ConfigMap."""

import base64
from pathlib import Path

import pytest

from fleetqueue.lab.pki import KeyPair
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.kueue import config_map, derive, kept, rewired, webhook_secret
from fleetqueue.real.layout import Layout

SERVICE = {"service": {"name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/mutate"}}
SHIPPED = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "health": {"healthProbeBindAddress": ":8081"},
    "leaderElection": {"leaderElect": True, "resourceName": "x"},
    "clientConnection": {"qps": 300, "burst": 500},
    "integrations": {"frameworks": ["batch/job", "ray.io/rayjob"], "labelKeysToCopy": ["team"]},
}


@pytest.fixture
def cluster():
    ports = {"kueue-webhook": 1, "kueue-health": 2, "kueue-metrics": 3}
    return RealCluster("hub", Path("/data/hub"), ports, Layout(Path("/engine")))


def test_a_process_listens_on_its_own_ports(cluster):
    config = derive(SHIPPED, cluster)

    assert config["health"]["healthProbeBindAddress"] == "127.0.0.1:2"
    assert config["metrics"]["bindAddress"] == "127.0.0.1:3"
    assert config["webhook"] == {"host": "127.0.0.1", "port": 1, "certDir": "/data/hub/kueue"}


def test_a_process_elects_no_leader_and_serves_no_visibility(cluster):
    config = derive(SHIPPED, cluster)

    assert config["leaderElection"] == {"leaderElect": False, "resourceName": "x"}
    assert config["featureGates"] == {"VisibilityOnDemand": False}


def test_what_somebody_wrote_into_the_config_map_stays(cluster):
    edited = SHIPPED | {"multiKueue": {"dispatcherName": "ours"}, "featureGates": {"TopologyAwareScheduling": True}}

    config = derive(edited, cluster)

    assert config["multiKueue"] == {"dispatcherName": "ours"}
    assert config["clientConnection"] == {"qps": 300, "burst": 500}
    assert config["featureGates"] == {"TopologyAwareScheduling": True, "VisibilityOnDemand": False}


def test_the_kinds_of_jobs_are_those_that_are_listed(cluster):
    assert derive(SHIPPED, cluster)["integrations"] == SHIPPED["integrations"]


def test_a_fleet_of_chosen_kinds_of_jobs_integrates_exactly_those(cluster):
    integrations = derive(SHIPPED, cluster, ["batch/job", "kubeflow.org/pytorchjob"])["integrations"]

    assert integrations == {"frameworks": ["batch/job", "kubeflow.org/pytorchjob"], "labelKeysToCopy": ["team"]}


def test_the_shipped_configuration_is_not_changed(cluster):
    derive(SHIPPED, cluster)

    assert SHIPPED["leaderElection"]["leaderElect"] is True


def test_webhooks_are_rewired_to_the_process():
    item = {"kind": "MutatingWebhookConfiguration", "webhooks": [{"name": "w", "clientConfig": SERVICE}]}

    changed = rewired(item, 4711, b"CA")

    bundle = base64.b64encode(b"CA").decode()
    assert changed["webhooks"] == [
        {"name": "w", "clientConfig": {"url": "https://127.0.0.1:4711/mutate", "caBundle": bundle}}
    ]
    assert item["webhooks"][0]["clientConfig"] is SERVICE


def test_conversion_is_rewired_to_the_process():
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": SERVICE, "conversionReviewVersions": ["v1"]}}
    crd = {"kind": "CustomResourceDefinition", "spec": {"group": "g", "conversion": conversion}}

    changed = rewired(crd, 4711, b"CA")["spec"]

    assert changed["group"] == "g"
    assert changed["conversion"]["webhook"]["clientConfig"]["url"] == "https://127.0.0.1:4711/mutate"
    assert changed["conversion"]["webhook"]["conversionReviewVersions"] == ["v1"]


@pytest.mark.parametrize(
    "item",
    [
        pytest.param({"kind": "CustomResourceDefinition", "spec": {"group": "g"}}, id="a CRD without conversion"),
        pytest.param({"kind": "ClusterRole", "rules": []}, id="something else"),
    ],
)
def test_the_rest_stays_as_it_is(item):
    assert rewired(item, 1, b"CA") is item


def test_what_belongs_to_a_pod_is_left_out():
    shipped = [named(kind) for kind in ("Namespace", "Deployment", "Service", "Secret", "APIService", "ClusterRole")]
    settings = named("ConfigMap", "kueue-manager-config")

    assert [item["kind"] for item in kept([*shipped, settings])] == ["Namespace", "ClusterRole"]
    assert config_map([*shipped, settings]) is settings


def test_the_webhook_secret_holds_authority_and_server():
    secret = webhook_secret(KeyPair(b"a", b"b"), KeyPair(b"c", b"d"))

    assert {name: base64.b64decode(value) for name, value in secret["data"].items()} == {
        "ca.crt": b"a",
        "ca.key": b"b",
        "tls.crt": b"c",
        "tls.key": b"d",
    }


def named(kind, name="x"):
    return {"kind": kind, "metadata": {"name": name}}
