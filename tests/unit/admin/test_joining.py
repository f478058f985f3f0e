"""Bringing a worker in: what is written on the hub, and what is left alone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.admin.joining import Newcomer, adoption, inspect, join, mark_refused, wait_for_credentials
from fleetqueue.admin.portable_kubeconfig import CannotJoin
from fleetqueue.admin.waiting import NotInTime
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import CREDENTIALS_ANNOTATION, REFUSED, is_refused
from fleetqueue.api.meta import without_nulls
from fleetqueue.api.requests import Response
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, render
from fleetqueue.controllers.credentials.secret_content import Issued, secret_manifest
from fleetqueue.embedded.apiserver.http.exchange import status_of
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
    with pytest.raises(NotInTime, match="does a fleetqueue controller run") as late:
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)

    assert 'Kueue has no credentials yet: secret "kueue-system/kueue-admin-cluster1-kubeconfig"' in str(late.value)


async def test_a_short_wait_does_not_blame_a_controller_that_is_at_work(api):
    spec = {"holderIdentity": "controller-0", "renewTime": f"{clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"}
    api.add(Lease.manifest("any-name", "anywhere", labels=OURS, spec=spec))

    with pytest.raises(NotInTime, match=r"not within 4 s; the controller is at work; .* longer --timeout"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=4)


async def test_a_secret_that_nobody_renews_is_not_waited_for_in_vain(api):
    credential = Issued("kubeconfig", START, START + timedelta(days=1))
    api.add(secret_manifest("cluster1", "kueue-system", credential, None))

    with pytest.raises(NotInTime, match="was not made by fleetqueue, so nobody renews it; rename or delete it"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)


KUBECONFIG = render("cluster1", server=WORKER.server, ca=b"", token="issued", user="u")


def kept(api, **marks):
    """Add the secret that the controller wrote before, for the cluster with uid "one"."""
    credential = Issued(KUBECONFIG, START, START + timedelta(days=1), cluster_uid="one")
    manifest = without_nulls(secret_manifest("cluster1", "kueue-system", credential, None))
    manifest["metadata"]["labels"] |= OURS
    manifest["metadata"]["annotations"] |= marks
    api.add(manifest)


async def test_a_secret_that_the_controller_keeps_says_until_when_it_holds(api):
    kept(api)

    assert await wait_for_credentials(Client(api), NEWCOMER, limit=30) == "2026-01-02 00:00:00 UTC"


class Worker:
    """A worker that accepts some tokens."""

    def __init__(self, *accepted):
        self.accepted = accepted
        self.asked = []

    def dial(self, connection):
        self.asked.append(connection)
        return Client(self)

    async def request(self, request, *, timeout):
        if self.asked[-1].token not in self.accepted:
            return Response(401, status_of(errors.Unauthorized("Unauthorized")))
        return Response(200, {"metadata": {"name": "kube-system", "uid": "one"}})

    async def close(self):
        """Nothing is open."""


@pytest.mark.parametrize(
    ("marks", "uid"),
    [
        pytest.param({REFUSED: "2026-01-01T00:00:00Z"}, "one", id="refused by the worker"),
        pytest.param({}, "another", id="for another cluster"),
    ],
)
async def test_a_secret_that_does_not_open_the_worker_is_not_enough(api, marks, uid):
    kept(api, **marks)

    with pytest.raises(NotInTime, match=r"kueue-admin-cluster1-kubeconfig\": not within 30 s"):
        await wait_for_credentials(Client(api), replace(NEWCOMER, uid=uid), limit=30)


@pytest.mark.parametrize(("accepted", "marked"), [("issued", False), ("newer", True)])
async def test_a_secret_from_before_is_marked_where_the_worker_refuses_it(api, accepted, marked):
    kept(api)
    worker = Worker(accepted)

    await mark_refused(Client(api), replace(NEWCOMER, uid="one"), worker.dial)

    assert is_refused(api.get(Secret, "kueue-admin-cluster1-kubeconfig", "kueue-system")) == marked
    assert [(way.server, way.ca) for way in worker.asked] == [(WORKER.server, WORKER.ca)]


async def test_the_secret_of_a_replaced_cluster_is_not_asked_of_the_new_one(api):
    kept(api)
    worker = Worker()

    await mark_refused(Client(api), replace(NEWCOMER, uid="another"), worker.dial)

    assert worker.asked == []


def complain(api, note):
    """Add the Event of a controller that could make no credential."""
    regarding = {"kind": "ManagedCluster", "name": "cluster1"}
    said = {"type": "Warning", "reason": "NoCredentials", "note": note}
    source = {"reportingController": "fleetqueue.dev/controller", "reportingInstance": "x", "action": "NoCredentials"}
    moment = "2025-12-31T23:00:00.000000Z"
    api.add(Event.manifest("e", "default", **said, **source, eventTime=moment, regarding=regarding))


async def test_what_the_controller_complained_of_is_repeated(api):
    complain(api, "no namespace kueue-system")

    with pytest.raises(NotInTime, match="no namespace kueue-system"):
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)


@pytest.mark.parametrize(("url", "hinted"), [("https://elsewhere:6443", True), ("https://worker:6443/", False)])
async def test_a_token_that_is_tried_at_another_address_is_hinted_at(api, url, hinted):
    api.add(ManagedCluster.manifest("cluster1", spec={"managedClusterClientConfigs": [{"url": url}]}))
    complain(api, "a new credential does not work: the worker does not accept the token")

    with pytest.raises(NotInTime, match="does not accept the token") as late:
        await wait_for_credentials(Client(api), NEWCOMER, limit=30)

    hint = f'the kubeconfig is for https://worker:6443, and ManagedCluster "cluster1" says {url}'
    assert (hint in str(late.value)) == hinted
