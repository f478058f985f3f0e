"""One kubeconfig for each cluster, and one for all."""

import base64

import pytest
import yaml

from fleetqueue.lab.kubeconfigs import aliases, dump, kubeconfig, merged
from fleetqueue.lab.pki import KeyPair


@pytest.fixture
def configs():
    pair = KeyPair(b"certificate", b"key")
    return [kubeconfig(name, f"https://{name}", b"authority", pair) for name in ("hub", "cluster1")]


def test_one_cluster_is_its_own_context(configs):
    hub = configs[0]

    assert hub["current-context"] == "hub"
    assert hub["contexts"] == [{"name": "hub", "context": {"cluster": "hub", "user": "hub-admin"}}]
    assert base64.b64decode(hub["users"][0]["user"]["client-key-data"]) == b"key"


def test_all_clusters_in_one_file_start_at_the_hub(configs):
    config = merged(configs, {})

    assert config["current-context"] == "hub"
    assert [cluster["name"] for cluster in config["clusters"]] == ["hub", "cluster1"]
    assert [user["name"] for user in config["users"]] == ["hub-admin", "cluster1-admin"]


def test_an_alias_is_a_second_context_of_the_same_cluster(configs):
    contexts = {entry["name"]: entry["context"] for entry in merged(configs, {"kind-hub": "hub"})["contexts"]}

    assert contexts["kind-hub"] == contexts["hub"]
    assert set(contexts) == {"hub", "cluster1", "kind-hub"}


@pytest.mark.checklist("M-1")
def test_contexts_have_the_names_of_kind_and_of_kueues_page_too():
    assert aliases("hub", ["cluster1", "cluster2"]) == {
        "kind-hub": "hub",
        "kind-cluster1": "cluster1",
        "kind-cluster2": "cluster2",
        "manager-cluster": "hub",
        "worker1-cluster": "cluster1",
        "worker2-cluster": "cluster2",
    }


def test_the_file_is_plain_yaml(configs):
    config = merged(configs, {"kind-hub": "hub"})

    text = dump(config)

    assert text.startswith(
        b"apiVersion: v1\nkind: Config\nclusters:\n- name: hub\n  cluster:\n    server: https://hub\n"
    )
    assert yaml.safe_load(text) == config


@pytest.mark.parametrize("name", ["no", "Null", "1e5", "10", "a: b", "- a", "~", "", "a #b", "{a}", "中"])
def test_a_name_that_yaml_could_take_for_something_else_stays_a_name(configs, name):
    config = merged(configs, {name: "hub"})

    assert yaml.safe_load(dump(config)) == config
