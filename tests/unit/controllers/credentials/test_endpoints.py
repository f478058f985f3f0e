"""Where a worker is, and the kubeconfig that says so."""

import base64

import pytest
import yaml

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.credentials.endpoints import Endpoint, advertised_server, endpoint, refusal
from fleetqueue.controllers.credentials.problems import CredentialProblem

ADMIN = Connection("https://admin:6443", ca=b"admin's CA")
CA = base64.b64encode(b"cluster's CA").decode()


def cluster(*configs):
    return ManagedCluster.view(ManagedCluster.manifest("c1", spec={"managedClusterClientConfigs": list(configs)}))


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        pytest.param([], Endpoint("https://admin:6443", b"admin's CA"), id="nothing advertised"),
        pytest.param(
            [{"url": "https://c1", "caBundle": CA}], Endpoint("https://c1", b"cluster's CA"), id="all advertised"
        ),
        pytest.param([{"url": "https://c1"}], Endpoint("https://c1", b"admin's CA"), id="no CA advertised"),
        pytest.param(
            [{"url": "https://first"}, {"url": "https://second"}],
            Endpoint("https://first", b"admin's CA"),
            id="the first of two",
        ),
    ],
)
def test_endpoint(configs, expected):
    assert endpoint(cluster(*configs), ADMIN) == expected


@pytest.mark.parametrize(
    ("url", "name"),
    [
        pytest.param("https://admin", "api.internal", id="the server of the kubeconfig"),
        pytest.param("https://c1", "", id="another server, with a certificate of its own"),
    ],
)
def test_the_way_of_the_admins_kubeconfig_is_kept(url, name):
    admin = Connection("https://admin:443", tls_server_name="api.internal", proxy_url="http://proxy:3128")

    config = yaml.safe_load(endpoint(cluster({"url": url}), admin).kubeconfig("c1", token="t", user="u"))

    entry = config["clusters"][0]["cluster"]
    assert (entry.get("tls-server-name", ""), entry["proxy-url"]) == (name, "http://proxy:3128")


@pytest.mark.checklist("C-5")
def test_cluster_without_client_config_is_an_error():
    with pytest.raises(CredentialProblem, match=r"^no client config found for cluster c1$"):
        advertised_server(cluster())


@pytest.mark.checklist("C-6")
def test_first_of_two_client_configs_is_used():
    assert advertised_server(cluster({"url": "https://first"}, {"url": "https://second"})) == "https://first"


@pytest.mark.checklist("ENV-8")
def test_kubeconfig_has_the_shape_that_kueue_takes():
    config = yaml.safe_load(Endpoint("https://c1:6443", b"CA").kubeconfig("c1", token="t", user="u"))

    assert config == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "c1",
                "cluster": {
                    "server": "https://c1:6443",
                    "certificate-authority-data": base64.b64encode(b"CA").decode(),
                },
            }
        ],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c1", "context": {"cluster": "c1", "user": "u"}}],
        "current-context": "c1",
    }


@pytest.mark.parametrize(
    "server",
    ["https://127.0.0.1:6443", "https://[::1]:6443", "https://api.C1.Example", "http://c1", "https://c1/proxy/path"],
)
def test_addresses_that_kueue_takes(server):
    assert refusal(server) == ""


@pytest.mark.parametrize("server", ["https://kube_api:6443", "https://", "c1:6443", "https://-c1", "https://[::1]"])
def test_addresses_that_kueue_refuses(server):
    assert f'"{server}"' in refusal(server)
