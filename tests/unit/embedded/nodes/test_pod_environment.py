"""What a pod's containers find: environment variables and files, from everywhere that a pod can name."""

import pytest

from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.embedded.nodes.pod_environment import ACCOUNT_FOLDER, NotThere, PodEnvironment, expanded
from fleetqueue.embedded.nodes.programs import ProgramAccount

pytestmark = pytest.mark.virtual_time

ACCOUNT = ProgramAccount("default", "robot", "a-token")
POD = {
    "metadata": {"name": "pod", "namespace": "default", "uid": "u", "labels": {"app.kubernetes.io/name": "a"}},
    "spec": {"nodeName": "node"},
    "status": {"podIP": "10.0.0.1"},
}


@pytest.fixture
async def here(env):
    """Read for a pod with these volumes, beside a ConfigMap `c` and a secret `s`."""
    data = {"a": "1", "b": "2"}
    await env.client.create(ConfigMap.resource, ConfigMap.manifest("c", "default", data=data))
    secret = Secret.manifest("s", "default", data={"a": "c2VjcmV0", "binary": "/w=="})
    await env.client.create(Secret.resource, secret)

    def read(*volumes):
        return PodEnvironment(env.client, {**POD, "spec": {**POD["spec"], "volumes": list(volumes)}})

    return read


def mounting(path="/m", **more):
    return {"volumeMounts": [{"name": "v", "mountPath": path, **more}]}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        pytest.param({"value": "x"}, "x", id="a value"),
        pytest.param({}, "", id="no value"),
        pytest.param({"value": "$(FIRST)-$(LATER)"}, "1-$(LATER)", id="a variable that stands before"),
        pytest.param({"valueFrom": {"configMapKeyRef": {"name": "c", "key": "b"}}}, "2", id="an entry of a ConfigMap"),
        pytest.param({"valueFrom": {"secretKeyRef": {"name": "s", "key": "a"}}}, "secret", id="an entry of a secret"),
        pytest.param(
            {"valueFrom": {"secretKeyRef": {"name": "s", "key": "z", "optional": True}}},
            "",
            id="an entry if it is there",
        ),
        pytest.param(
            {"valueFrom": {"secretKeyRef": {"name": "z", "key": "z", "optional": True}}},
            "",
            id="a secret if it is there",
        ),
        pytest.param({"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}, "node", id="its node"),
        pytest.param({"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}, "10.0.0.1", id="its address"),
        pytest.param({"valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}, "", id="what it does not have"),
        pytest.param(
            {"valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app.kubernetes.io/name']"}}}, "a", id="a label"
        ),
    ],
)
async def test_an_environment_variable(here, variable, value):
    env = await here().env({"env": [{"name": "FIRST", "value": "1"}, {"name": "X", **variable}]})

    assert env == {"FIRST": "1", "X": value}


async def test_all_entries_as_variables(here):
    sources = [{"configMapRef": {"name": "c"}, "prefix": "C_"}, {"secretRef": {"name": "z", "optional": True}}]

    assert await here().env({"envFrom": sources}) == {"C_a": "1", "C_b": "2"}


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        pytest.param({"secretKeyRef": {"name": "z", "key": "a"}}, 'Error: secret "z" not found', id="no secret"),
        pytest.param(
            {"configMapKeyRef": {"name": "c", "key": "z"}}, "couldn't find key z in ConfigMap default/c", id="no entry"
        ),
    ],
)
async def test_a_variable_that_cannot_be_had(here, variable, why):
    with pytest.raises(NotThere, match=why) as raised:
        await here().env({"env": [{"name": "X", "valueFrom": variable}]})

    assert raised.value.reason == "Failed"


@pytest.mark.parametrize(
    ("volume", "mount", "files"),
    [
        pytest.param({"configMap": {"name": "c"}}, mounting(), {"/m/a": b"1", "/m/b": b"2"}, id="a ConfigMap"),
        pytest.param(
            {"configMap": {"name": "c", "items": [{"key": "a", "path": "x/y"}]}},
            mounting("/m/"),
            {"/m/x/y": b"1"},
            id="one entry under another name",
        ),
        pytest.param({"configMap": {"name": "c"}}, mounting("/f", subPath="a"), {"/f": b"1"}, id="one file alone"),
        pytest.param(
            {"secret": {"secretName": "s"}}, mounting(), {"/m/a": b"secret", "/m/binary": b"\xff"}, id="a secret"
        ),
        pytest.param({"secret": {"secretName": "z", "optional": True}}, mounting(), {}, id="a secret if it is there"),
        pytest.param({"emptyDir": {}}, mounting(), {}, id="an empty folder"),
        pytest.param(
            {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            mounting(),
            {"/m/name": b"pod"},
            id="fields of the pod",
        ),
        pytest.param(
            {
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt"}},
                        {"secret": {"name": "s", "items": [{"key": "a", "path": "s"}]}},
                    ]
                }
            },
            mounting(),
            {"/m/token": b"a-token", "/m/s": b"secret"},
            id="several in one",
        ),
    ],
)
async def test_files(here, volume, mount, files):
    found = await here({"name": "v", **volume}).files(mount, ACCOUNT)

    account = {f"{ACCOUNT_FOLDER}/token": b"a-token", f"{ACCOUNT_FOLDER}/namespace": b"default"}
    assert found == account | files


async def test_files_that_cannot_be_had(here):
    with pytest.raises(NotThere, match='failed for volume "v" : configmap "z" not found') as raised:
        await here({"name": "v", "configMap": {"name": "z"}}).files(mounting(), ACCOUNT)

    assert raised.value.reason == "FailedMount"


def test_only_whole_references_are_replaced():
    assert expanded("$(A)$A${A}$(B)$$(A)", {"A": "1"}) == "1$A${A}$(B)$(A)"
