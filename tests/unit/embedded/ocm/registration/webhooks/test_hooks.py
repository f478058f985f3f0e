"""What is filled in and refused when clusters and bindings are written."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.authentication_v1 import SUBRESOURCE, issued_token, token_request
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSetBinding
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.embedded.ocm.registration.settings import RegistrationHubSettings
from fleetqueue.embedded.ocm.registration.webhooks.cluster_rules import (
    check_acceptance,
    check_binding,
    check_cluster,
    completed,
    dated,
    rights_for_binding,
    rights_for_cluster,
)
from fleetqueue.embedded.ocm.registration.webhooks.hooks import OWNER, hooks
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.systems.ocm import BOOTSTRAP_ACCOUNT, BOOTSTRAP_NAMESPACE, bootstrap_rights
from fleetqueue.fleets.systems.parts import create_all, install_kinds
from fleetqueue.testing.virtual_time import START, advance
from tests.unit.embedded.ocm.registration.objects import cluster_manifest, member

NOW, THEN = "2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"


def taint(key="k", effect="NoSelect", value="", added=None):
    return {
        "key": key,
        "effect": effect,
        **({"value": value} if value else {}),
        **({"timeAdded": added} if added else {}),
    }


@pytest.mark.parametrize(
    ("old", "new", "stored"),
    [
        pytest.param(None, [taint()], [taint(added=NOW)], id="of a new cluster"),
        pytest.param(None, [taint(added=THEN)], [taint(added=NOW)], id="of a new cluster, whatever it says"),
        pytest.param([], [taint()], [taint(added=NOW)], id="a new one"),
        pytest.param([taint(added=THEN)], [taint(added=THEN)], [taint(added=THEN)], id="one that stays"),
        pytest.param([taint(added=THEN)], [taint(value="v")], [taint(value="v", added=NOW)], id="another value"),
        pytest.param(
            [taint(added=THEN)],
            [taint(effect="PreferNoSelect")],
            [taint(effect="PreferNoSelect", added=NOW)],
            id="another effect",
        ),
        pytest.param([taint()], [{**taint(), "timeAdded": None}], [{**taint(), "timeAdded": None}], id="never dated"),
    ],
)
def test_taints_are_dated(old, new, stored):
    assert dated(old, new, START) == stored


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param([], [taint(added=THEN)], id="a new one"),
        pytest.param([taint(added=THEN)], [taint(added=NOW)], id="one that stays"),
        pytest.param([taint(added=THEN)], [taint(value="v", added=THEN)], id="a changed one"),
        pytest.param([taint(added=THEN)], [taint()], id="one that loses its date"),
    ],
)
def test_nobody_says_when_a_taint_was_added(old, new):
    with pytest.raises(errors.BadRequest, match='not allowed to set TimeAdded of Taint "k"'):
        dated(old, new, START)


@pytest.mark.parametrize(
    ("labels", "named"), [({}, "default"), ({CLUSTER_SET_LABEL: ""}, "default"), ({CLUSTER_SET_LABEL: "s"}, "s")]
)
def test_who_is_in_no_set_is_in_the_default_one(labels, named):
    assert completed(None, cluster_manifest("c", labels=labels), START)["metadata"]["labels"] == {
        CLUSTER_SET_LABEL: named
    }


def test_without_a_default_set_nobody_is_in_it():
    assert completed(None, cluster_manifest("c"), START, default_set=False) == cluster_manifest("c")


@pytest.mark.parametrize(
    ("name", "urls", "fault"),
    [
        pytest.param("c", [], "", id="no ways to it"),
        pytest.param("c", ["https://c:6443"], "", id="a good one"),
        pytest.param("c", ["http://c"], 'url "http://c" is invalid in client configs', id="not encrypted"),
        pytest.param("c", [""], 'url "" is invalid in client configs', id="none"),
        pytest.param("a.b", ["https://c"], "metadata.name format is not correct", id="no name of a namespace"),
        pytest.param("a.b", [], "", id="which nobody looks at without ways to it"),
    ],
)
def test_clusters_that_cannot_be(name, urls, fault):
    manifest = cluster_manifest(name, managedClusterClientConfigs=[{"url": url} for url in urls])

    if not fault:
        check_cluster(manifest)
        return
    with pytest.raises(errors.BadRequest, match=fault.replace("?", ".")):
        check_cluster(manifest)


@pytest.mark.parametrize(
    ("old", "phase", "is_refused"),
    [
        pytest.param(None, "Terminating", True, id="a new cluster"),
        pytest.param(cluster_manifest("c"), "Terminating", True, id="a known one"),
        pytest.param(cluster_manifest("c", hubAcceptsClient=True), "Terminating", False, id="one that is accepted"),
        pytest.param(None, "Active", False, id="a namespace that stays"),
    ],
)
def test_no_cluster_is_accepted_whose_namespace_goes(old, phase, is_refused):
    def find(group, plural, namespace, name):
        return {"status": {"phase": phase}}

    new = cluster_manifest("c", hubAcceptsClient=True)
    if not is_refused:
        check_acceptance(old, new, find)
        return
    with pytest.raises(errors.Forbidden, match='cluster namespace "c" is terminating'):
        check_acceptance(old, new, find)


def test_a_binding_is_named_as_its_set():
    check_binding(ManagedClusterSetBinding.manifest("s", "ns", spec={"clusterSet": "s"}))

    with pytest.raises(errors.BadRequest, match="must have the same name"):
        check_binding(ManagedClusterSetBinding.manifest("other", "ns", spec={"clusterSet": "s"}))


@pytest.mark.parametrize(
    ("old", "new", "rights"),
    [
        pytest.param(None, cluster_manifest("c"), [], id="a new cluster"),
        pytest.param(None, cluster_manifest("c", hubAcceptsClient=True), [("accept", "c")], id="accepted at once"),
        pytest.param(
            cluster_manifest("c"), cluster_manifest("c", hubAcceptsClient=True), [("accept", "c")], id="later"
        ),
        pytest.param(cluster_manifest("c", hubAcceptsClient=True), cluster_manifest("c"), [], id="denied"),
        pytest.param(None, member(of="s"), [("join", "s")], id="into a set"),
        pytest.param(member(of="s"), member(of="t"), [("join", "s"), ("join", "t")], id="from one to another"),
        pytest.param(member(of="s"), cluster_manifest("c"), [("join", "s")], id="out of a set"),
        pytest.param(member(of="s"), member(of="s"), [], id="where it is"),
    ],
)
def test_what_a_write_of_a_cluster_takes(old, new, rights):
    assert [(right.subresource, right.name) for right in rights_for_cluster(old, new)] == rights


def test_to_bind_a_set_takes_a_right_and_to_keep_it_none():
    binding = ManagedClusterSetBinding.manifest("s", "ns", spec={"clusterSet": "s"})

    assert [right.subresource for right in rights_for_binding(None, binding)] == ["bind"]
    assert rights_for_binding(binding, binding) == []


@pytest.mark.virtual_time
async def test_who_lacks_a_right_is_told_which():
    async with EmbeddedFleet.open(0) as fleet:
        server, admin = fleet.hub.server, fleet.hub.client()
        await install_kinds(admin, "ocm-hub")
        await create_all(admin, bootstrap_rights())
        server.webhooks.install(OWNER, hooks(RegistrationHubSettings(), server.find))
        await advance(1)
        request = token_request(BOOTSTRAP_ACCOUNT, BOOTSTRAP_NAMESPACE, 3600)
        agent = fleet.hub.client(issued_token(await admin.create(ServiceAccount.resource, request, SUBRESOURCE)).token)

        await agent.create(ManagedCluster.resource, cluster_manifest("c"))
        with pytest.raises(errors.Forbidden) as refusal:
            await agent.create(ManagedCluster.resource, cluster_manifest("d", hubAcceptsClient=True))
        await admin.create(ManagedCluster.resource, cluster_manifest("e", hubAcceptsClient=True))

    assert refusal.value.message == (
        'admission webhook "managedclustervalidators.admission.cluster.open-cluster-management.io" denied the request: '
        'managedclusters/accept.cluster.open-cluster-management.io "d" is forbidden: user '
        '"system:serviceaccount:open-cluster-management:agent-registration-bootstrap" '
        "cannot update the HubAcceptsClient field"
    )


@pytest.mark.embedded_only("hooks of this process")
async def test_a_server_with_the_hooks_fills_in_and_refuses(api):
    server = api.server.api
    server.webhooks.install(OWNER, hooks(RegistrationHubSettings(), server.find))

    api.add(cluster_manifest("c", taints=[taint()]))
    with pytest.raises(errors.BadRequest) as refusal:
        api.change(ManagedCluster, "c", spec={"taints": [taint(added=THEN)]})

    assert api.get(ManagedCluster, "c").metadata.labels == {CLUSTER_SET_LABEL: "default"}
    assert api.get(ManagedCluster, "c").spec.taints[0].time_added == START
    assert refusal.value.message == (
        'admission webhook "managedclustermutators.admission.cluster.open-cluster-management.io" denied the request: '
        'It is not allowed to set TimeAdded of Taint "k".'
    )
