"""Which cluster a kubeconfig opens that is given at `join`: mistakes are refused before anything is written."""

import pytest

from fleetqueue.admin.joining import Newcomer, join
from fleetqueue.admin.portable_kubeconfig import CannotJoin
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CLUSTER_UID
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.processes.capabilities import known_identity
from fleetqueue.runtime.cluster import OURS

URL = "https://c1.example:6443"


def newcomer(uid, server=URL):
    return Newcomer("c1", Connection(server, token="t"), uid=uid)


def cluster(api, name, uid=""):
    """Add a cluster with the secret that says who it is, where that is known."""
    api.add(
        ManagedCluster.manifest(name, spec={"managedClusterClientConfigs": [{"url": f"https://{name}.example:6443"}]})
    )
    if uid:
        labels, annotations = {**OURS, CLUSTER_LABEL: name}, {CLUSTER_UID: uid}
        secret = f"kueue-admin-{name}-kubeconfig"
        api.add(Secret.manifest(secret, "kueue-system", labels=labels, annotations=annotations, data={}))


async def refusal(api, given):
    """Return why a worker is refused; nothing may be written then."""
    api.writes.clear()
    with pytest.raises(CannotJoin) as refused:
        await join(Client(api), given, lambda line: None)
    assert api.writes == []
    return str(refused.value)


async def test_the_hub_itself_is_refused(api):
    api.namespace("kube-system")
    uid = await known_identity(Client(api))

    assert 'the kubeconfig for "c1" opens this hub itself' in await refusal(api, newcomer(uid))


async def test_another_worker_is_refused_by_its_name(api):
    cluster(api, "c1", "one")
    cluster(api, "c2", "two")

    said = await refusal(api, newcomer("two", "https://c2.example:6443"))

    assert 'opens "c2", where kube-system has uid two' in said
    assert f'"c1" is known as the cluster at {URL}, where it has uid one' in said
    assert "if it was really replaced, run `fleetqueue unjoin c1` first" in said


async def test_another_worker_is_refused_where_the_own_one_is_not_known_yet(api):
    cluster(api, "c1")
    cluster(api, "c2", "two")

    assert 'opens "c2"' in await refusal(api, newcomer("two", "https://c2.example:6443"))


async def test_another_worker_at_the_address_is_refused_as_well(api):
    cluster(api, "c1", "one")
    cluster(api, "c2", "two")

    assert 'opens "c2"' in await refusal(api, newcomer("two"))


async def test_an_unknown_cluster_at_another_address_is_refused(api):
    cluster(api, "c1", "one")

    said = await refusal(api, newcomer("new", "https://elsewhere:6443"))

    assert "opens another cluster, at https://elsewhere:6443, where kube-system has uid new" in said


@pytest.mark.parametrize(
    ("known", "given", "told"),
    [
        pytest.param("one", newcomer("one", "https://other-name:6443"), False, id="the same by another address"),
        pytest.param("one", newcomer("new"), True, id="rebuilt at its address"),
        pytest.param("one", newcomer("new", "https://C1.example:6443/"), True, id="its address in other letters"),
        pytest.param("one", newcomer("", "https://elsewhere:6443"), False, id="one that does not say who it is"),
        pytest.param("", newcomer("new", "https://elsewhere:6443"), False, id="a name of which nothing is known"),
    ],
)
async def test_what_may_be_right_is_joined(api, known, given, told):
    cluster(api, "c1", known)
    said = []

    await join(Client(api), given, said.append)

    assert api.get(Secret, "c1-admin", "fleetqueue-system") is not None
    assert (
        any("another cluster than before: what runs on the old one is drained first" in line for line in said) == told
    )


async def test_a_second_name_for_a_member_is_refused(api):
    cluster(api, "c2", "two")

    said = await refusal(api, newcomer("two", "https://c2.example:6443"))

    assert 'opens "c2", which is in the fleet already: kube-system of both has uid two' in said
    assert "to rename it, run `fleetqueue unjoin c2` first" in said


async def test_a_second_name_that_an_agent_has_registered_is_refused_as_well(api):
    cluster(api, "c1")
    cluster(api, "c2", "two")

    assert 'opens "c2", which is in the fleet already' in await refusal(api, newcomer("two", URL))


async def test_a_worker_that_has_two_names_from_before_may_be_joined_again_by_both(api):
    cluster(api, "c1", "two")
    cluster(api, "c2", "two")

    await join(Client(api), newcomer("two"), lambda line: None)

    assert api.get(Secret, "c1-admin", "fleetqueue-system") is not None
