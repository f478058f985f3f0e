"""Bringing a worker in: what is written on the hub, and what is left alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.joining import Newcomer, adoption, inspect, join, wait_for_credentials
from fleetqueue.admin.portable_kubeconfig import CannotJoin
from fleetqueue.admin.waiting import NotInTime
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import CREDENTIALS_ANNOTATION
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.credentials.issued import Issued, secret_manifest
from fleetqueue.controllers.processes.capabilities import known_identity
from fleetqueue.runtime.cluster import OURS, is_ours
from tests.unit.unserved_kinds import lack

START = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = Connection("https://worker:6443", ca=b"authority", token="secret-token")
NEWCOMER = Newcomer("cluster1", WORKER, cluster_set="spoke", labels={"accelerator": "nvidia-tesla-t4"})


def silent(line: str) -> None:
    """Tell nobody."""


async def test_everything_that_a_worker_needs_is_written(api):
    await join(Client(api), NEWCOMER, silent)

    member = api.get(ManagedCluster, "cluster1")
    assert member.spec.hub_accepts_client
    assert member.spec.managed_cluster_client_configs[0].url == "https://worker:6443"
    assert member.metadata.labels[CLUSTER_SET_LABEL] == "spoke"
    assert member.metadata.labels["accelerator"] == "nvidia-tesla-t4"
    assert member.metadata.annotations[CREDENTIALS_ANNOTATION] == "true"
    assert api.get(ManagedClusterSet, "spoke") is not None
    assert api.get(Namespace, "cluster1") is not None
    secret = api.get(Secret, "cluster1-admin", "fleetqueue-system")
    assert is_ours(secret)
    assert "secret-token" in secret.text("kubeconfig")


@pytest.mark.parametrize(("same", "warnings"), [(True, 1), (False, 0)])
async def test_a_worker_that_is_the_hub_itself_is_warned_of(api, same, warnings):
    api.namespace("kube-system")
    uid = await known_identity(Client(api)) if same else "another"
    said = []

    await join(Client(api), replace(NEWCOMER, uid=uid), said.append)

    assert sum('warning: "cluster1" is this hub itself' in line for line in said) == warnings


async def test_joining_again_writes_nothing(api):
    await join(Client(api), NEWCOMER, silent)
    api.writes.clear()

    await join(Client(api), NEWCOMER, silent)

    assert api.writes == []


async def test_a_new_kubeconfig_replaces_the_old_one(api):
    await join(Client(api), NEWCOMER, silent)

    await join(Client(api), Newcomer("cluster1", Connection(WORKER.server, token="newer"), "spoke"), silent)

    assert "newer" in api.get(Secret, "cluster1-admin", "fleetqueue-system").text("kubeconfig")


async def test_a_secret_of_somebody_else_is_left_alone(api):
    api.add(Secret.manifest("cluster1-admin", "fleetqueue-system", data={}))

    with pytest.raises(CannotJoin, match="was not made by fleetqueue"):
        await join(Client(api), NEWCOMER, silent)

    assert api.get(Secret, "cluster1-admin", "fleetqueue-system").data == {}


async def test_a_cluster_that_an_agent_registered_keeps_what_the_agent_wrote(api):
    url = {"url": "https://as-the-agent-says", "caBundle": "QUdFTlQ="}
    api.add(ManagedCluster.manifest("cluster1", spec={"managedClusterClientConfigs": [url]}))

    await join(Client(api), NEWCOMER, silent)

    member = api.get(ManagedCluster, "cluster1")
    assert member.spec.managed_cluster_client_configs[0].url == "https://as-the-agent-says"
    assert member.spec.hub_accepts_client
    assert not is_ours(member)


@pytest.mark.parametrize(
    ("live", "patch"),
    [
        pytest.param(
            {
                "metadata": {
                    "labels": {CLUSTER_SET_LABEL: "spoke", "accelerator": "nvidia-tesla-t4"},
                    "annotations": {CREDENTIALS_ANNOTATION: "true"},
                },
                "spec": {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": "x"}]},
            },
            {},
            id="complete",
        ),
        pytest.param(
            {
                "metadata": {
                    "labels": {CLUSTER_SET_LABEL: "default", "accelerator": "nvidia-tesla-t4"},
                    "annotations": {CREDENTIALS_ANNOTATION: "true"},
                },
                "spec": {"hubAcceptsClient": True, "managedClusterClientConfigs": [{"url": "x"}]},
            },
            {"metadata": {"labels": {CLUSTER_SET_LABEL: "spoke"}}},
            id="in another set",
        ),
    ],
)
def test_adoption_adds_what_is_missing(live, patch):
    assert adoption(live, NEWCOMER) == patch


async def test_a_worker_without_kueue_is_refused(api):
    lack(api, kueue.Workload)

    with pytest.raises(CannotJoin, match=r'worker "cluster1" does not serve .*install Kueue there first'):
        await inspect(Client(api), "cluster1")


async def test_a_worker_with_kueue_tells_its_version(api):
    api.answers["GET /version"] = {"gitVersion": "v1.36.3"}

    assert await inspect(Client(api), "cluster1") == "v1.36.3"


async def test_without_a_controller_the_wait_ends_with_a_hint(api):
    with pytest.raises(NotInTime, match="is `fleetqueue controller` running on this hub"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)


async def test_a_secret_that_nobody_renews_is_not_waited_for_in_vain(api):
    credential = Issued("kubeconfig", START, START + timedelta(days=1))
    api.add(secret_manifest("cluster1", "kueue-system", credential, None))

    with pytest.raises(NotInTime, match="was not made by fleetqueue, so nobody renews it; rename or delete it"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)


async def test_a_secret_that_the_controller_keeps_says_until_when_it_holds(api):
    manifest = secret_manifest("cluster1", "kueue-system", Issued("kubeconfig", START, START + timedelta(days=1)), None)
    manifest["metadata"]["labels"] |= OURS
    api.add(manifest)

    assert await wait_for_credentials(Client(api), NEWCOMER, limit=30) == "2026-01-02 00:00:00 UTC"


async def test_what_the_controller_complained_of_is_repeated(api):
    regarding = {"kind": "ManagedCluster", "name": "cluster1"}
    said = {"type": "Warning", "reason": "NoCredentials", "note": "no namespace kueue-system"}
    source = {"reportingController": "fleetqueue.dev/controller", "reportingInstance": "x", "action": "NoCredentials"}
    moment = "2025-12-31T23:00:00.000000Z"
    api.add(Event.manifest("e", "default", **said, **source, eventTime=moment, regarding=regarding))

    with pytest.raises(NotInTime, match="no namespace kueue-system"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)
