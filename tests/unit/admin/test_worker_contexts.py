"""Which of the user's contexts leads to the worker that has the pods of a job."""

import pytest

from fleetqueue.admin import worker_contexts
from fleetqueue.admin.job_location import JobLocation, NoPods
from fleetqueue.admin.known_clusters import HUB, KnownCluster, known_clusters
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CLUSTER_UID
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.processes.capabilities import known_identity
from fleetqueue.runtime.cluster import OURS

URL, OTHER_URL, PROXY = "https://c1.example:6443", "https://c2.example:6443", "https://proxy.example"


def located(*, uid="", other="", hub="", at="c1"):
    fleet = {"c1": KnownCluster((URL,), uid), "c2": KnownCluster((OTHER_URL,), other), HUB: KnownCluster(uid=hub)}
    return JobLocation("Job/train", "team-a", at, fleet=fleet)


def connections(**servers):
    return {name: Connection(server, name=name) for name, server in servers.items()}


def nobody_is_asked(connection):
    pytest.fail(f"{connection.name} is asked who it is")


@pytest.fixture
async def own_uid(api):
    """Who the cluster is that every context opens which is asked."""
    api.namespace("kube-system")
    return await known_identity(Client(api))


@pytest.mark.parametrize(
    ("contexts", "name"),
    [
        pytest.param(connections(hub="https://hub", mine=URL), "mine", id="by the address"),
        pytest.param(connections(mine=URL, c1=f"{URL}/"), "c1", id="the one that is called like it"),
        pytest.param(connections(c1=PROXY, mine=URL), "mine", id="the address comes before the name"),
    ],
)
async def test_a_context_with_the_address_of_a_worker_leads_there(contexts, name):
    assert (await worker_contexts.found(located(), contexts, nobody_is_asked)).name == name


async def test_a_context_of_the_name_leads_to_the_worker_that_it_opens_by_another_address(api, own_uid):
    contexts = connections(hub="https://hub", c1=PROXY)

    chosen = await worker_contexts.found(located(uid=own_uid), contexts, lambda connection: Client(api))

    assert chosen.name == "c1"


async def refusal(api, location, contexts):
    with pytest.raises(NoPods) as refused:
        await worker_contexts.found(location, contexts, lambda connection: Client(api))
    return str(refused.value)


async def test_a_context_of_the_name_that_opens_another_cluster_is_not_taken(api, own_uid):
    assert "context c1 of your kubeconfig leads to another cluster" in await refusal(
        api, located(uid="one"), connections(c1=PROXY)
    )
    assert "context c1 of your kubeconfig leads to c2" in await refusal(
        api, located(uid="one", other=own_uid), connections(c1=PROXY)
    )


async def test_a_context_of_the_name_is_not_taken_where_nobody_knows_the_worker(api, own_uid):
    said = await refusal(api, located(), connections(c1=PROXY))

    assert "nobody can tell whether it leads there; if it does, name it" in said


async def test_a_context_of_the_name_that_does_not_answer_is_told(api):
    api.cut()

    said = await refusal(api, located(uid="one"), connections(c1=PROXY))

    assert "context c1 of your kubeconfig has another address and does not say which cluster it opens:" in said


async def test_who_has_no_context_hears_whom_to_ask_and_what_to_run():
    with pytest.raises(NoPods) as refused:
        await worker_contexts.found(located(uid="one"), connections(hub="https://hub"), nobody_is_asked)

    assert "is on c1 (at https://c1.example:6443), and no context of your kubeconfig leads there" in str(refused.value)
    assert "ask the administrator of c1" in str(refused.value)
    assert "kubectl logs --context CONTEXT -n team-a job/train" in str(refused.value)


@pytest.mark.parametrize(
    ("known", "server", "opened"),
    [
        pytest.param({"uid": "one", "other": "OWN"}, PROXY, "c2", id="another worker, by who it is"),
        pytest.param({}, OTHER_URL, "c2", id="another worker, by its address"),
        pytest.param({"uid": "one", "hub": "OWN"}, PROXY, "the hub", id="the hub"),
        pytest.param({"uid": "one"}, PROXY, "another cluster", id="none of the fleet"),
        pytest.param({"uid": "OWN"}, PROXY, "", id="the same, by another address"),
        pytest.param({"uid": "one"}, URL, "", id="the same, by its address"),
        pytest.param({}, PROXY, "", id="nobody can tell"),
        pytest.param({"at": HUB, "hub": "OWN"}, PROXY, "", id="the hub, which has the pods"),
        pytest.param({"at": HUB, "hub": "one", "uid": "OWN"}, PROXY, "c1", id="a worker, and the hub has the pods"),
    ],
)
async def test_a_named_context_that_leads_elsewhere_is_told_by_name(api, own_uid, known, server, opened):
    location = located(**{name: own_uid if value == "OWN" else value for name, value in known.items()})
    told = ""

    try:
        await worker_contexts.check(location, Connection(server, name="mine"), lambda connection: Client(api))
    except NoPods as error:
        told = str(error)

    assert bool(told) == bool(opened)
    assert f"context mine leads to {opened}" in told or not opened


async def test_what_the_hub_knows_of_its_clusters_is_what_its_secrets_say(api, own_uid):
    api.add(cluster.ManagedCluster.manifest("c1", spec={"managedClusterClientConfigs": [{"url": URL}]}))
    labels, annotations = {**OURS, CLUSTER_LABEL: "c1"}, {CLUSTER_UID: "one"}
    secret = Secret.manifest(
        "kueue-admin-c1-kubeconfig", "kueue-system", labels=labels, annotations=annotations, data={}
    )
    api.add(secret)

    everything = await known_clusters(Client(api))
    api.fail_on("list secrets*", errors.Forbidden("no"))
    without_secrets = await known_clusters(Client(api))

    assert everything == {"c1": KnownCluster((URL,), "one"), HUB: KnownCluster(uid=own_uid)}
    assert without_secrets["c1"] == KnownCluster((URL,))
