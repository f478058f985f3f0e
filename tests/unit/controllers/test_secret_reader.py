"""What the exec plugin makes of what it is handed, and why it refuses."""

import base64

import orjson
import pytest
import yaml

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret, secret
from fleetqueue.client.credentials import read_exec_credential
from fleetqueue.client.kubeconfig import ExecPlugin, render
from fleetqueue.controllers.secret_reader import PluginError, exec_credential, user_status

V1 = "client.authentication.k8s.io/v1"
KUBECONFIG = render("c1", server="https://c1", ca=b"CA", token="from-kubeconfig", user="robot")
SECRETS = {
    ("kueue-system", "c1"): secret("c1", "kueue-system", {"token": "from-token"}),
    ("kueue-system", "c1-app"): secret("c1-app", "kueue-system", {"token": "from-account", "ca.crt": "CA"}),
    ("kueue-system", "c1-kubeconfig"): secret("c1-kubeconfig", "kueue-system", {"kubeconfig": KUBECONFIG}),
    ("elsewhere", "c1-kubeconfig"): secret("c1-kubeconfig", "elsewhere", {"kubeconfig": "a: [", "text": "text"}),
}


async def read(namespace, name):
    if (namespace, name) not in SECRETS:
        raise errors.NotFound(f'secrets "{name}" not found')
    return Secret.view(SECRETS[namespace, name])


def info(config=None, *, server="https://c1", version=V1):
    cluster = {"server": server, **({"config": config} if config is not None else {})}
    return {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False, "cluster": cluster}}


@pytest.mark.parametrize(
    ("config", "account", "token"),
    [
        pytest.param({"clusterName": "c1"}, "", "from-token", id="a token by the cluster's name"),
        pytest.param({"clusterName": "c1"}, "app", "from-account", id="a managed account's token"),
        pytest.param({"name": "c1-kubeconfig", "key": "kubeconfig"}, "", "from-kubeconfig", id="a kubeconfig"),
        pytest.param(
            {"name": "c1-kubeconfig", "key": "kubeconfig", "namespace": "kueue-system", "context": "c1"},
            "",
            "from-kubeconfig",
            id="a kubeconfig with everything named",
        ),
    ],
)
@pytest.mark.parametrize("version", [V1, f"{V1}beta1"])
async def test_credential(config, account, token, version):
    printed = await exec_credential(
        info(config, version=version), read, namespace="kueue-system", managed_service_account=account
    )

    assert printed["status"] == {"token": token}
    assert (printed["apiVersion"], printed["kind"]) == (version, "ExecCredential")


async def test_what_is_printed_is_what_clients_read():
    printed = await exec_credential(info({"clusterName": "c1"}), read, namespace="kueue-system")

    assert read_exec_credential(ExecPlugin("fleetqueue"), orjson.dumps(printed)).token == "from-token"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(info({}), "missing ExecCredential.Spec.Cluster.Config", id="the profile says nothing"),
        pytest.param(info(), "missing ExecCredential.Spec.Cluster.Config", id="no extension"),
        pytest.param(info("c1"), "invalid ExecCredential.Spec.Cluster.Config: it is no map", id="a text"),
        pytest.param(
            info({"clusterName": "c1"}, server=" "),
            "spec.cluster.server is missing in KUBERNETES_EXEC_INFO",
            id="no server",
        ),
        pytest.param(
            {"apiVersion": V1, "kind": "ExecCredential", "spec": {}},
            "spec.cluster.server is missing in KUBERNETES_EXEC_INFO",
            id="without provideClusterInfo",
        ),
        pytest.param(
            info({"clusterName": "c1"}, version=f"{V1}alpha1"),
            f"unexpected ExecCredential type (expect v1), got {V1}alpha1",
            id="another version",
        ),
        pytest.param(info({"key": "k"}), "missing name in ExecCredential.Spec.Cluster.Config", id="no name"),
        pytest.param(info({"name": "n"}), "missing key in ExecCredential.Spec.Cluster.Config", id="no key"),
        pytest.param(
            info({"clusterName": "c2"}),
            'failed to get secret kueue-system/c2: secrets "c2" not found',
            id="no such secret",
        ),
        pytest.param(
            info({"name": "c1-kubeconfig", "key": "other"}),
            'secret kueue-system/c1-kubeconfig missing "other" key',
            id="no such entry",
        ),
        pytest.param(
            info({"name": "c1-kubeconfig", "key": "kubeconfig", "context": "x"}),
            'context "x" not found in kubeconfig',
            id="no such context",
        ),
        pytest.param(
            info({"name": "c1-kubeconfig", "key": "text", "namespace": "elsewhere"}),
            "failed to parse kubeconfig from secret elsewhere/c1-kubeconfig: it is no map",
            id="no kubeconfig",
        ),
    ],
)
async def test_refusal(given, why):
    with pytest.raises(PluginError) as refused:
        await exec_credential(given, read, namespace="kueue-system")

    assert str(refused.value) == why


async def test_broken_yaml_is_refused():
    config = {"name": "c1-kubeconfig", "key": "kubeconfig", "namespace": "elsewhere"}

    with pytest.raises(PluginError, match="failed to parse kubeconfig from secret elsewhere/c1-kubeconfig: "):
        await exec_credential(info(config), read, namespace="kueue-system")


def kubeconfig(user, **more):
    config = yaml.safe_load(KUBECONFIG)
    return {**config, "users": [{"name": "robot", "user": user}], **more}


DATA = {
    "client-certificate-data": base64.b64encode(b"CERT").decode(),
    "client-key-data": base64.b64encode(b"KEY").decode(),
}


def test_client_certificate_is_printed_as_pem():
    assert user_status(kubeconfig(DATA), "") == {"clientCertificateData": "CERT", "clientKeyData": "KEY"}


@pytest.mark.parametrize(
    ("config", "why"),
    [
        pytest.param(
            kubeconfig({}, extensions=[{"name": "x"}]), "kubeconfig extensions are not supported", id="extensions"
        ),
        pytest.param(
            kubeconfig({}, **{"current-context": ""}),
            "no context specified and no current-context in kubeconfig",
            id="no context",
        ),
        pytest.param(kubeconfig({}, users=[]), 'user "robot" not found in kubeconfig', id="no user"),
        pytest.param(
            kubeconfig({"tokenFile": "/etc/passwd"}),
            'no authentication method found in user "robot" '
            "(neither token nor client-certificate-data/client-key-data)",
            id="a token in a file",
        ),
        pytest.param(
            kubeconfig({"client-certificate": "a.pem", "client-key": "b.pem"}),
            "client-certificate file path is not supported; use client-certificate-data",
            id="a certificate in a file",
        ),
        pytest.param(
            kubeconfig({"client-key-data": DATA["client-key-data"]}),
            'client-key-data found but no client-certificate-data in user "robot"',
            id="a key without its certificate",
        ),
        pytest.param(
            kubeconfig({"client-certificate-data": DATA["client-certificate-data"]}),
            'client-certificate-data found but no client-key-data in user "robot"',
            id="a certificate without its key",
        ),
    ],
)
def test_user_that_cannot_be_used(config, why):
    with pytest.raises(PluginError) as refused:
        user_status(config, "")

    assert str(refused.value) == why
