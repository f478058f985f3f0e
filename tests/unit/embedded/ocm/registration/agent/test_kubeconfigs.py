"""The kubeconfigs of an agent, and when the hub's is good."""

import base64
from datetime import timedelta

import pytest
import yaml

from fleetqueue.api.core_v1 import Secret
from fleetqueue.client.kubeconfig import KubeconfigError, render
from fleetqueue.embedded.ocm.registration.agent.kubeconfigs import (
    bootstrap_text,
    hub_connection,
    hub_kubeconfig,
    is_valid,
)
from fleetqueue.embedded.ocm.registration.certificates import agent_subject
from fleetqueue.testing.virtual_time import START
from tests.unit.embedded.ocm.registration.objects import signed

BOOTSTRAP = render("hub", server="https://hub:6443", ca=b"pem", token="secret", user="bootstrap")


def secret(**entries):
    names = {"kubeconfig": "kubeconfig", "certificate": "tls.crt", "key": "tls.key"}
    data = {names[field]: base64.b64encode(content).decode() for field, content in entries.items()}
    return Secret.view(Secret.manifest("s", "ns", data=data))


def whole(certificate=None, bootstrap=BOOTSTRAP):
    kubeconfig = hub_kubeconfig(bootstrap).encode()
    return secret(kubeconfig=kubeconfig, certificate=certificate or signed(agent_subject("c", "a")), key=b"key")


def test_the_hubs_kubeconfig_is_the_first_with_another_user():
    config = yaml.safe_load(hub_kubeconfig(BOOTSTRAP))

    assert config["current-context"] == "default-context"
    assert config["contexts"][0]["context"] == {"cluster": "hub", "namespace": "configuration", "user": "default-auth"}
    assert config["clusters"][0]["cluster"]["server"] == "https://hub:6443"
    assert config["users"][0]["user"] == {"client-certificate": "tls.crt", "client-key": "tls.key"}


def test_a_connection_holds_what_the_files_beside_the_kubeconfig_do():
    found = whole(b"certificate")

    connection = hub_connection(found)

    assert (connection.server, connection.ca) == ("https://hub:6443", b"pem")
    assert (connection.client_certificate, connection.client_key) == (b"certificate", b"key")
    assert connection.token == ""


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="no secret"),
        pytest.param(secret(kubeconfig=b"{}", certificate=b"c"), id="no key"),
        pytest.param(secret(kubeconfig=b"{}", certificate=b"c", key=b"k"), id="an empty kubeconfig"),
        pytest.param(secret(kubeconfig=b"[", certificate=b"c", key=b"k"), id="no YAML"),
        pytest.param(secret(kubeconfig=b"text", certificate=b"c", key=b"k"), id="no map"),
    ],
)
def test_a_secret_that_is_not_whole_is_no_connection(found):
    assert hub_connection(found) is None


@pytest.mark.parametrize(
    ("found", "bootstrap", "after", "valid"),
    [
        pytest.param(whole(), BOOTSTRAP, 0, True, id="ours"),
        pytest.param(whole(), "", 0, True, id="ours, and nothing to compare it with"),
        pytest.param(whole(), BOOTSTRAP, 2000, False, id="it has ended"),
        pytest.param(whole(signed(agent_subject("c", "b"))), BOOTSTRAP, 0, False, id="another agent's"),
        pytest.param(whole(signed(agent_subject("d", "a"))), BOOTSTRAP, 0, False, id="another cluster's"),
        pytest.param(whole(b"nothing"), BOOTSTRAP, 0, False, id="no certificate"),
        pytest.param(whole(), BOOTSTRAP.replace("hub:6443", "new:6443"), 0, False, id="the hub has moved"),
        pytest.param(whole(), "nothing", 0, False, id="a bootstrap kubeconfig that cannot be read"),
        pytest.param(None, BOOTSTRAP, 0, False, id="none at all"),
    ],
)
def test_a_kubeconfig_is_good_for_this_agent_on_this_hub(found, bootstrap, after, valid):
    now = START + timedelta(seconds=after)

    assert is_valid(found, bootstrap, cluster="c", agent="a", now=now) == valid


def test_without_a_cluster_no_kubeconfig_can_be_made():
    with pytest.raises(KubeconfigError):
        hub_kubeconfig("{}")


def test_an_absent_bootstrap_secret_reads_as_empty():
    assert bootstrap_text(None) == ""
    assert bootstrap_text(secret(kubeconfig=b"text")) == "text"
