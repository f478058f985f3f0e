"""A cluster from its first word to its end, with its agent and the hub in one process."""

import base64

import pytest

from fleetqueue.api import errors
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.cluster_v1 import ACCEPTED, AVAILABLE, CLOCK_SYNCED, JOINED, ManagedCluster, ManagedClusterSet
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Secret, secret
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.rbac_v1 import ClusterRole, RoleBinding
from fleetqueue.client.certificates import content_of, new_request
from fleetqueue.embedded.ocm.registration.accepting import CannotAccept, accept
from fleetqueue.embedded.ocm.registration.agent.certificates import request_manifest
from fleetqueue.embedded.ocm.registration.agent.statuses import namespace_label
from fleetqueue.embedded.ocm.registration.certificates import agent_of, agent_subject
from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE, BOOTSTRAP_SECRET, HUB_SECRET, LEASE
from fleetqueue.embedded.ocm.registration.objects import RemainingAddOn, RemainingWork
from fleetqueue.embedded.ocm.registration.settings import RegistrationAgentSettings, RegistrationHubSettings

from .world import ACCOUNT, HUB_URL, SYSTEM, World

pytestmark = pytest.mark.fleet(workers=1)

ROLE = "open-cluster-management:managedcluster:cluster1"


@pytest.fixture
async def world(fleet):
    async with World.open(fleet) as world:
        yield world


@pytest.fixture
async def joined(world):
    """A world in which cluster1 has joined and is well."""
    await world.join("cluster1")
    await accept(world.hub.client(), "cluster1")
    await world.fleet.advance(5)
    return world


def role(world):
    return next((each for each in world.hub.list(ClusterRole) if each.name == ROLE), None)


def bindings(world):
    return [each.name.removeprefix(ROLE) for each in world.hub.list(RoleBinding) if each.namespace == "cluster1"]


def events(world, namespace="cluster1"):
    found = [world.hub.raw(Event, each.name, each.namespace) for each in world.hub.list(Event)]
    told = sorted((raw for raw in found if raw["metadata"]["namespace"] == namespace), key=lambda raw: raw["eventTime"])
    return [(raw["reportingController"], raw["reason"]) for raw in told]


async def test_a_cluster_that_nobody_accepted_is_known_and_nothing_more(world):
    await world.join("cluster1", urls=["https://cluster1:6443"], ca=b"pem")

    cluster = world.cluster()
    assert not cluster.spec.hub_accepts_client
    assert [config.url for config in cluster.spec.managed_cluster_client_configs] == ["https://cluster1:6443"]
    assert world.taints() == ["unreachable"]
    assert world.hub.get(Namespace, "cluster1") is None
    assert role(world) is None
    assert world.fleet["cluster1"].get(Secret, HUB_SECRET, AGENT_NAMESPACE) is None


async def test_an_accepted_cluster_becomes_available(world):
    await world.join("cluster1")

    approved = await accept(world.hub.client(), "cluster1")
    await world.fleet.advance(5)

    assert len(approved) == 1
    assert [world.says(kind) for kind in (ACCEPTED, JOINED, AVAILABLE)] == ["True"] * 3
    assert world.taints() == []
    assert world.cluster().status.capacity["cpu"] == "8"
    assert world.cluster().status.version.kubernetes.startswith("v1.36")
    assert events(world) == [("klusterlet-agent", "Available")]


async def test_the_secret_is_as_ocm_leaves_it(joined):
    found = joined.fleet["cluster1"].get(Secret, HUB_SECRET, AGENT_NAMESPACE)

    certificate = base64.b64decode(found.data["tls.crt"])
    assert sorted(found.data) == ["agent-name", "cluster-name", "kubeconfig", "tls.crt", "tls.key"]
    assert "client-certificate: tls.crt" in found.text("kubeconfig")
    assert agent_of(certificate) == ("cluster1", found.text("agent-name"))


async def test_the_agent_may_do_no_more_than_its_role_says(joined):
    requests = joined.hub.list(CertificateSigningRequest)
    assert [each.spec.username for each in requests] == [f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"]

    agent = joined.agents["cluster1"].clients[-1]

    with pytest.raises(errors.Forbidden):
        await agent.list(Secret.resource, "cluster1")
    with pytest.raises(errors.Forbidden):
        await agent.get(ManagedCluster.resource, "cluster2")


async def test_a_renewed_lease_shows_that_the_clocks_agree(joined):
    created = joined.hub.get(Lease, LEASE, "cluster1").spec.renew_time

    await joined.fleet.advance(80)

    assert joined.hub.get(Lease, LEASE, "cluster1").spec.renew_time > created
    assert joined.says(CLOCK_SYNCED) == "True"


async def test_nothing_is_written_while_nothing_happens_but_leases(joined):
    await joined.fleet.advance(120)
    version = joined.cluster().metadata.resource_version

    await joined.fleet.advance(1800)

    assert joined.cluster().metadata.resource_version == version


async def test_an_agent_that_is_cut_off_for_ten_minutes_is_missed_and_comes_back(joined):
    joined.ways["cluster1"].cut()
    await joined.fleet.advance(290)
    assert joined.says(AVAILABLE) == "True"

    await joined.fleet.advance(310)
    lost = joined.says(AVAILABLE), joined.taints(), events(joined)[-1]
    joined.ways["cluster1"].heal()
    await joined.fleet.advance(90)

    assert lost == ("Unknown", ["unreachable"], ("registration-controller", "AvailableUnknown"))
    assert joined.says(AVAILABLE) == "True"
    assert joined.taints() == []


async def test_hub_and_agent_do_not_contradict_each_other_without_end(joined):
    """A Lease that is not renewed makes the hub say so at once, and the agent answers; with a pause between."""
    joined.hub.fail_on("* leases/cluster1/*", errors.ServerError("etcdserver: request timed out"))
    await joined.fleet.advance(600)
    joined.hub.writes.clear()

    await joined.fleet.advance(10)

    assert len([write for write in joined.hub.writes if "managedclusters/" in write]) < 40
    joined.hub.heal()
    await joined.fleet.advance(90)
    assert joined.says(AVAILABLE) == "True"


async def test_a_worker_whose_api_is_not_well_is_unavailable_until_it_is(joined):
    joined.fleet["cluster1"].answers["GET /livez"] = _broken
    await joined.fleet.advance(61)
    broken = joined.says(AVAILABLE), joined.taints()

    joined.fleet["cluster1"].answers.clear()
    await joined.fleet.advance(61)

    assert broken == ("False", ["unavailable"])
    assert (joined.says(AVAILABLE), joined.taints()) == ("True", [])


def _broken(request):
    raise errors.ServerError("etcd failed", code=500)


async def test_a_denied_cluster_loses_its_rights_and_is_not_heard_any_more(joined):
    joined.hub.change(ManagedCluster, "cluster1", spec={"hubAcceptsClient": False})
    await joined.fleet.advance(5)
    denied = joined.says(ACCEPTED)

    await joined.fleet.advance(400)

    assert denied == "False"
    assert role(joined).rules[0]["verbs"] == ["get", "list", "watch"]
    assert bindings(joined) == []
    assert joined.says(AVAILABLE) == "Unknown"


async def test_a_cluster_that_is_accepted_again_is_available_again(joined):
    joined.hub.change(ManagedCluster, "cluster1", spec={"hubAcceptsClient": False})
    await joined.fleet.advance(400)

    joined.hub.change(ManagedCluster, "cluster1", spec={"hubAcceptsClient": True})
    await joined.fleet.advance(60)

    assert (joined.says(AVAILABLE), joined.taints()) == ("True", [])


async def test_a_deleted_cluster_takes_its_rights_with_it_and_leaves_its_namespace(joined):
    joined.hub.remove(ManagedCluster, "cluster1")
    await joined.fleet.advance(30)

    assert joined.cluster() is None
    assert role(joined) is None
    assert bindings(joined) == []
    assert joined.hub.get(Namespace, "cluster1") is not None


async def test_add_ons_go_before_works_and_both_before_the_cluster(joined):
    joined.hub.add(
        {**RemainingAddOn.manifest("a", "cluster1", spec={}), "metadata": held("a")},
        {**RemainingWork.manifest("w", "cluster1", spec={}), "metadata": held("w")},
    )
    joined.hub.remove(ManagedCluster, "cluster1")
    await joined.fleet.advance(6)
    first = joined.hub.get(RemainingAddOn, "a", "cluster1"), joined.hub.get(RemainingWork, "w", "cluster1")

    joined.hub.change(RemainingAddOn, "a", "cluster1", metadata={"finalizers": None})
    await joined.fleet.advance(6)
    second = joined.hub.get(RemainingWork, "w", "cluster1")
    kept = bindings(joined)
    joined.hub.change(RemainingWork, "w", "cluster1", metadata={"finalizers": None})
    await joined.fleet.advance(6)

    assert [each.is_deleting for each in first] == [True, False]
    assert second.is_deleting
    assert kept == [":work"], "the work agent is still needed"
    assert joined.cluster() is None


def held(name):
    return {"name": name, "namespace": "cluster1", "finalizers": ["test/held"]}


async def test_an_agent_renews_its_certificate_before_it_ends(world):
    await world.join("cluster1", certificate_seconds=1500)
    await accept(world.hub.client(), "cluster1")
    await world.fleet.advance(5)
    first = certificate(world)

    await world.fleet.advance(1300)

    second = certificate(world)
    assert content_of(second).until > content_of(first).until
    assert world.says("ClusterCertificateRotated") == "True"
    assert world.says(AVAILABLE) == "True"


async def test_an_agent_whose_certificate_has_ended_begins_anew(world):
    await world.join("cluster1", certificate_seconds=600)
    await accept(world.hub.client(), "cluster1")
    await world.fleet.advance(5)
    world.ways["cluster1"].cut()
    await world.fleet.advance(700)
    lost = world.says(AVAILABLE)

    world.ways["cluster1"].heal()
    worker, kubeconfig = world.fleet["cluster1"], await world.bootstrap_kubeconfig()
    worker.change(Secret, BOOTSTRAP_SECRET, AGENT_NAMESPACE, data=secret("", "", {"kubeconfig": kubeconfig})["data"])
    await world.fleet.advance(60)
    await accept(world.hub.client(), "cluster1")
    await world.fleet.advance(90)

    assert lost == "Unknown"
    assert world.says(AVAILABLE) == "True"


async def test_an_agent_that_is_started_anew_goes_on_with_its_certificate(joined):
    before = certificate(joined)
    await joined.stop_agent("cluster1")

    await joined.start_agent("cluster1")
    await joined.fleet.advance(60)

    assert certificate(joined) == before
    assert len(joined.hub.list(CertificateSigningRequest)) == 1
    assert joined.says(AVAILABLE) == "True"


def certificate(world):
    found = world.fleet["cluster1"].get(Secret, HUB_SECRET, AGENT_NAMESPACE)
    return base64.b64decode(found.data["tls.crt"])


async def test_an_agent_that_nobody_answers_stops_asking(world):
    for number in range(10):
        world.hub.add(request_of("cluster1", f"cluster1-{number}"))

    await world.join("cluster1")
    await world.fleet.advance(600)

    assert len(world.hub.list(CertificateSigningRequest)) == 10


def request_of(cluster, name):
    asked = request_manifest(RegistrationAgentSettings(cluster), new_request(agent_subject(cluster, "other"))[1])
    return {**asked, "metadata": {"name": name, "labels": asked["metadata"]["labels"]}}


async def test_a_namespace_that_a_set_wants_is_on_the_worker_while_it_is_wanted(joined):
    label = namespace_label(HUB_URL)
    joined.hub.change(ManagedClusterSet, "global", spec={"managedNamespaces": [{"name": "team"}]})
    await joined.fleet.advance(5)
    wanted = joined.fleet["cluster1"].get(Namespace, "team").metadata.labels[label]
    said = joined.cluster().status.managed_namespaces[0].conditions[0].reason

    joined.hub.change(ManagedClusterSet, "global", spec={"managedNamespaces": None})
    await joined.fleet.advance(5)

    assert (wanted, said) == ("true", "NamespaceApplied")
    assert joined.fleet["cluster1"].get(Namespace, "team").metadata.labels[label] == "false"


async def test_several_agents_for_one_cluster_are_not_accepted_by_accident(world):
    await world.join("cluster1", agent="one")
    await world.start_agent("cluster1", agent="two")

    with pytest.raises(CannotAccept, match="several agents"):
        await accept(world.hub.client(), "cluster1")


@pytest.mark.fleet(workers=2)
async def test_where_acceptance_is_automatic_a_worker_joins_by_itself_and_a_denial_stands(fleet):
    user = f"system:serviceaccount:{SYSTEM}:{ACCOUNT}"
    async with World.open(fleet, RegistrationHubSettings(auto_accept=True, auto_approved_users=[user])) as world:
        await world.join("cluster1")
        await world.join("cluster2")
        await fleet.advance(40)
        both = world.says(AVAILABLE, "cluster1"), world.says(AVAILABLE, "cluster2")

        world.hub.change(ManagedCluster, "cluster2", spec={"hubAcceptsClient": False})
        await fleet.advance(40)

        assert both == ("True", "True")
        assert world.says(ACCEPTED, "cluster2") == "False"
