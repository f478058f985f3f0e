"""The secret with which Kueue reaches a worker, made from what OCM's managed-serviceaccount add-on brings."""

from datetime import timedelta

import pytest

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.addon_v1alpha1 import ManagedClusterAddOn
from fleetqueue.api.cluster_permission_v1alpha1 import ClusterPermission
from fleetqueue.api.cluster_v1 import ManagedCluster, PlacementDecision
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.client.kubeconfig import parse
from fleetqueue.controllers.credentials.hub_apis import CredentialApis
from fleetqueue.controllers.credentials.proofs import PATIENCE
from fleetqueue.controllers.credentials.worker_rules import rules_for
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

ACCOUNT = "kueue-admin-c1"
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "fleetqueue-multikueue"}


def at_work(world, **settings):
    room = world.room(capabilities=CredentialApis(managed_accounts=True), **settings)
    return managed(Manager(world.hub, room.controllers))


def add_cluster(world, **about):
    """Add a worker that has the account's rights already; its agent has not come yet."""
    worker = world.add_cluster("c1", joined=False, **about)
    worker.api.add(
        core.ServiceAccount.manifest("fleetqueue-multikueue", "kueue-system"),
        ClusterRole.manifest("fleetqueue-multikueue", rules=[rule.manifest() for rule in rules_for(["batch/job"])]),
        ClusterRoleBinding.manifest("fleetqueue-multikueue", roleRef=ROLE),
    )
    world.select("c1")
    return worker


def report(world, token="token-1", *, keys=("token", "ca.crt"), hours=24):
    """Do what the agent does: issue a token on the worker, put it into the secret, say so."""
    worker = world.workers["c1"]
    until = clock.now() + timedelta(hours=hours)
    worker.tokens[token] = (worker.account.uid, until)
    entries = {key: value for key, value in (("token", token), ("ca.crt", "worker's CA")) if key in keys}
    manifest = core.secret(ACCOUNT, "c1", entries)
    if world.api.get(core.Secret, ACCOUNT, "c1") is None:
        world.api.add(manifest)
    else:
        world.api.change(core.Secret, ACCOUNT, "c1", data=manifest["data"])
    status = {
        "conditions": [condition("TokenReported")],
        "expirationTimestamp": timestamp(until),
        "tokenSecretRef": {"name": ACCOUNT, "lastRefreshTimestamp": timestamp(clock.now())},
    }
    world.api.change(ManagedServiceAccount, ACCOUNT, "c1", status=status)


def apply_permission(world):
    conditions = [condition("AppliedRBACManifestWork")]
    world.api.change(ClusterPermission, ACCOUNT, "c1", status={"conditions": conditions})


async def bring_credentials(world):
    await settle()
    report(world)
    apply_permission(world)
    await settle()


async def test_account_and_permission_are_made_in_the_clusters_namespace(world):
    add_cluster(world)

    async with at_work(world):
        await settle()

    account = world.api.raw(ManagedServiceAccount, ACCOUNT, "c1")
    permission = world.api.raw(ClusterPermission, ACCOUNT, "c1")
    assert account["spec"] == {"rotation": {"enabled": True, "validity": "24h0m0s"}}
    assert permission["spec"]["clusterRoleBinding"] == {
        "subject": {
            "apiGroup": "authentication.open-cluster-management.io",
            "kind": "ManagedServiceAccount",
            "name": ACCOUNT,
        }
    }
    assert permission["spec"]["clusterRole"]["rules"] == [rule.manifest() for rule in rules_for(["batch/job"])]
    assert world.api.writes.index(f"create managedserviceaccounts/c1/{ACCOUNT}") < world.api.writes.index(
        f"create clusterpermissions/c1/{ACCOUNT}"
    )


@pytest.mark.checklist("ENV-7")
@pytest.mark.checklist("ENV-8")
async def test_secret_is_made_from_what_the_agent_brought(world):
    worker = add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)

        connection = parse(world.secret("c1").text("kubeconfig"))
        assert (connection.server, connection.ca, connection.token) == (worker.server, b"worker's CA", "token-1")
        assert world.expiry("c1") == (clock.now() + timedelta(hours=24)).timestamp()


async def test_other_kinds_reach_the_worker_through_the_permission_and_nobody_hears_of_it(world):
    worker = add_cluster(world)
    world.configure("batch/job")

    async with at_work(world):
        await bring_credentials(world)
        world.configure("batch/job", "pod")
        await advance(8)  # OCM takes its time
        rules = world.api.raw(ClusterPermission, ACCOUNT, "c1")["spec"]["clusterRole"]["rules"]
        worker.api.change(ClusterRole, "fleetqueue-multikueue", rules=rules)
        await advance(10)

        assert rules == [rule.manifest() for rule in rules_for(["batch/job", "pod"])]
        assert world.token("c1") == "token-1"
        assert world.said() == ["CredentialsIssued"]


async def test_nothing_is_written_before_token_and_rights_are_there(world):
    add_cluster(world)

    async with at_work(world):
        await settle()
        report(world)
        await settle()
        assert world.secret("c1") is None
        assert world.said() == []
        await advance(40)
        assert "is not applied on the worker yet" in world.notes()
        apply_permission(world)
        await settle()

        assert world.token("c1") == "token-1"


async def test_token_that_lacks_a_right_is_not_written(world):
    worker = add_cluster(world)
    worker.api.change(ClusterRole, "fleetqueue-multikueue", rules=[])

    async with at_work(world):
        await bring_credentials(world)
        await advance(5)

        assert world.secret("c1") is None
        assert "does not allow to create workloads.kueue.x-k8s.io" in world.notes()


async def test_second_reconcile_writes_nothing(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        world.api.writes.clear()
        await advance(3600)

        assert world.api.writes == []


async def test_proven_token_is_not_proven_again_at_every_event(world):
    worker = add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        worker.api.requests.clear()
        world.api.change(ManagedCluster, "c1", metadata={"labels": {"any": "label"}})
        await settle()

        assert worker.api.requests == []


@pytest.mark.checklist("C-1")
async def test_rotated_token_is_copied_at_once(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        await advance(19 * 3600)
        report(world, "token-2")
        await settle()

        assert world.token("c1") == "token-2"
        assert world.said()[-1] == "CredentialsRenewed"
        assert "was renewed in time" in world.notes()


async def test_a_token_that_takes_the_place_of_a_refused_one_says_so(world):
    worker = add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        worker.tokens["token-1"] = ("of another account", worker.tokens["token-1"][1])
        await advance(310)
        report(world, "token-2")
        await advance(sum(PATIENCE))  # a look that is under way, with the token of before, ends first

        assert world.token("c1") == "token-2"
        assert "because the one before was refused (the worker does not accept the token)" in world.notes()


@pytest.mark.checklist("C-2")
async def test_deleted_token_secret_takes_the_kubeconfig_with_it(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        world.api.remove(core.Secret, ACCOUNT, "c1")
        await advance(301)
        assert world.secret("c1") is None
        report(world, "token-2")
        await settle()

        assert world.token("c1") == "token-2"


@pytest.mark.checklist("C-3")
async def test_deleted_permission_takes_the_kubeconfig_with_it_and_is_made_again(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        world.api.remove(ClusterPermission, ACCOUNT, "c1")
        await settle()
        assert world.secret("c1") is None
        assert world.api.get(ClusterPermission, ACCOUNT, "c1") is not None
        apply_permission(world)
        await settle()

        assert world.token("c1") == "token-1"


@pytest.mark.checklist("C-4")
@pytest.mark.parametrize("missing", ["token", "ca.crt"])
async def test_token_secret_without_an_entry_is_an_error(world, missing):
    add_cluster(world)

    async with at_work(world):
        await settle()
        report(world, keys={"token", "ca.crt"} - {missing})
        apply_permission(world)
        await settle()

        assert world.secret("c1") is None
        assert f"{missing} not found in secret {ACCOUNT}" in world.notes()


@pytest.mark.checklist("C-5")
async def test_cluster_without_client_configs_is_an_error(world):
    add_cluster(world)
    world.api.change(ManagedCluster, "c1", spec={"managedClusterClientConfigs": []})

    async with at_work(world):
        await bring_credentials(world)

        assert world.secret("c1") is None
        assert "no client config found for cluster c1" in world.notes()


@pytest.mark.checklist("C-7")
async def test_cluster_proxy_is_used_with_the_hubs_ca(world):
    worker = add_cluster(world)
    world.workers["proxy"] = worker
    world.api.add(core.ConfigMap.manifest("kube-root-ca.crt", "kueue-system", data={"ca.crt": "hub's CA"}))

    async with at_work(world, cluster_proxy_url="https://proxy.open-cluster-management:9092/"):
        await bring_credentials(world)

        connection = parse(world.secret("c1").text("kubeconfig"))
        assert (connection.server, connection.ca) == ("https://proxy.open-cluster-management:9092/c1", b"hub's CA")


@pytest.mark.checklist("D-2")
async def test_cluster_that_is_being_deleted_loses_account_and_permission(world):
    add_cluster(world)
    world.api.change(ManagedCluster, "c1", metadata={"finalizers": ["x/y"]})

    async with at_work(world):
        await bring_credentials(world)
        world.api.remove(ManagedCluster, "c1")
        await advance(61)

        assert world.secret("c1") is None
        assert world.api.list(ManagedServiceAccount) == []
        assert world.api.list(ClusterPermission) == []


@pytest.fixture
async def draining(world):
    """A world whose cluster has the add-on, and a member through which jobs run."""
    add_cluster(world)
    world.api.change(ManagedCluster, "c1", metadata={"finalizers": ["x/y"]})
    world.api.add(ManagedClusterAddOn.manifest("managed-serviceaccount", "c1", spec={}))
    world.member("gpu-c1", "c1")
    return world


async def test_the_add_on_is_held_while_its_token_is_in_use(draining):
    """OCM deletes it as soon as the ManagedCluster is deleted, and with it the account on the worker."""
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        draining.api.remove(ManagedClusterAddOn, "managed-serviceaccount", "c1")
        await advance(3600)
        assert finalizers(draining) == ["fleetqueue.dev/credentials"]
        assert draining.token("c1") == "token-1"
        draining.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(11)
        assert draining.api.list(ManagedServiceAccount) == []
        assert finalizers(draining) == ["fleetqueue.dev/credentials"]  # its agent removes the account
        await advance(11)

        assert draining.api.list(ManagedClusterAddOn) == []
        assert draining.api.list(ClusterPermission) == []
        assert draining.secret("c1") is None


async def test_a_dropped_cluster_gives_its_add_on_free(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.change(PlacementDecision, "gpu-1", "kueue-system", status={"decisions": []})
        draining.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(61)

        assert finalizers(draining) == []


async def test_a_crash_before_the_account_is_deleted_still_frees_the_add_on(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.fail_on("delete *", errors.ServerError("boom"), times=1)
        draining.api.fail_on("patch managedclusteraddons/*", errors.ServerError("boom"), times=1)
        draining.api.remove(ManagedCluster, "c1")
        draining.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(120)

        assert finalizers(draining) == []
        assert draining.api.list(ManagedServiceAccount) == []


async def test_the_add_on_is_freed_also_where_somebody_deleted_account_and_permission(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        draining.api.remove(ManagedClusterAddOn, "managed-serviceaccount", "c1")
        await settle()
        draining.api.remove(ManagedServiceAccount, ACCOUNT, "c1")
        draining.api.remove(ClusterPermission, ACCOUNT, "c1")
        await advance(60)
        assert finalizers(draining) == ["fleetqueue.dev/credentials"]  # the secret is still in use
        draining.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(11)

        assert draining.api.list(ManagedClusterAddOn) == []


async def test_the_add_on_is_freed_also_where_the_hub_does_not_serve_accounts_any_more(draining):
    async with at_work(draining):
        await bring_credentials(draining)
    draining.api.remove(ManagedCluster, "c1")
    draining.api.remove(ManagedClusterAddOn, "managed-serviceaccount", "c1")

    later = draining.anew()
    async with managed(Manager(later.hub, later.room().controllers)):
        await advance(60)
        assert finalizers(later) == ["fleetqueue.dev/credentials"]  # jobs may run with its last token
        later.api.remove(MultiKueueCluster, "gpu-c1")
        await advance(11)

        assert later.api.list(ManagedClusterAddOn) == []
        assert later.secret("c1") is None


async def test_the_add_on_is_freed_when_an_admin_kubeconfig_takes_the_place_of_accounts(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        assert finalizers(draining) == ["fleetqueue.dev/credentials"]
    worker = draining.workers["c1"].api
    worker.change(core.ServiceAccount, "fleetqueue-multikueue", "kueue-system", metadata={"labels": OURS})
    for kind in (ClusterRole, ClusterRoleBinding):
        worker.change(kind, "fleetqueue-multikueue", metadata={"labels": OURS})
    draining.give_admin_kubeconfig("c1")

    later = draining.anew()
    async with managed(Manager(later.hub, later.room().controllers)):
        await advance(60)

        assert later.token("c1").startswith("c1-token-")
        assert finalizers(later) == []


async def test_the_add_on_of_an_unused_cluster_is_looked_at_once(draining):
    draining.api.change(PlacementDecision, "gpu-1", "kueue-system", status={"decisions": []})
    draining.api.remove(MultiKueueCluster, "gpu-c1")

    async with at_work(draining):
        await settle()
        for label in ("one", "two"):
            draining.api.change(ManagedCluster, "c1", metadata={"labels": {"any": label}})
            await settle()

    asked = [request for request in draining.api.requests if request.startswith("get managedclusteraddons/")]
    assert len(asked) == 1


async def test_an_add_on_that_gives_no_credential_is_not_held(draining):
    async with at_work(draining):
        await advance(120)

        assert finalizers(draining) == []


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda api: api.remove(ManagedServiceAccount, ACCOUNT, "c1"), id="its account"),
        pytest.param(lambda api: api.remove(ClusterPermission, ACCOUNT, "c1"), id="its permission"),
        pytest.param(lambda api: api.remove(core.Secret, ACCOUNT, "c1"), id="its token"),
        pytest.param(lambda api: api.remove(ManagedCluster, "c1"), id="nothing more"),
    ],
)
async def test_a_leaving_cluster_keeps_its_secret_although_ocm_removed(draining, lose):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        await settle()
        lose(draining.api)
        await advance(3600)

        assert draining.token("c1") == "token-1"
        assert len(draining.api.list(ManagedServiceAccount)) <= 1


async def test_a_leaving_cluster_goes_on_with_an_admin_kubeconfig_where_ocm_took_its_account(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        await settle()
        draining.api.remove(ManagedServiceAccount, ACCOUNT, "c1")
        draining.workers["c1"].api.change(
            core.ServiceAccount, "fleetqueue-multikueue", "kueue-system", metadata={"labels": OURS}
        )
        for kind in (ClusterRole, ClusterRoleBinding):
            draining.workers["c1"].api.change(kind, "fleetqueue-multikueue", metadata={"labels": OURS})
        draining.give_admin_kubeconfig("c1")
        await advance(60)

        assert draining.token("c1").startswith("c1-token-")


async def test_a_leaving_cluster_gets_the_rights_that_its_credential_needs_by_now(draining):
    """A newer version, or Kueue with other kinds, asks for more than the permission gave when it was made."""
    draining.configure("batch/job")

    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        await settle()
        draining.configure("batch/job", "pod")
        await advance(8)
        rules = draining.api.raw(ClusterPermission, ACCOUNT, "c1")["spec"]["clusterRole"]["rules"]
        draining.workers["c1"].api.change(ClusterRole, "fleetqueue-multikueue", rules=rules)
        report(draining, "token-2")
        await advance(10)

        assert rules == [rule.manifest() for rule in rules_for(["batch/job", "pod"])]
        assert draining.token("c1") == "token-2"
        assert "CredentialsFailed" not in draining.said()


async def test_the_permission_of_somebody_else_is_not_changed_when_its_cluster_leaves(draining):
    draining.configure("batch/job")

    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        await settle()
        draining.api.change(ClusterPermission, ACCOUNT, "c1", metadata={"labels": None})
        theirs = draining.api.raw(ClusterPermission, ACCOUNT, "c1")["spec"]
        draining.configure("batch/job", "pod")
        rules = [rule.manifest() for rule in rules_for(["batch/job", "pod"])]
        draining.workers["c1"].api.change(ClusterRole, "fleetqueue-multikueue", rules=rules)
        report(draining, "token-2")
        await advance(60)

        assert draining.api.raw(ClusterPermission, ACCOUNT, "c1")["spec"] == theirs
        assert draining.token("c1") == "token-2"  # the worker allows what is needed, whoever saw to that


async def test_the_account_of_somebody_else_is_not_used_when_its_cluster_leaves(draining):
    async with at_work(draining):
        await bring_credentials(draining)
        draining.api.remove(ManagedCluster, "c1")
        await settle()
        draining.api.change(ManagedServiceAccount, ACCOUNT, "c1", metadata={"labels": None})
        draining.api.writes.clear()
        report(draining, "token-of-theirs")
        draining.workers["c1"].tokens.clear()  # so that the agent would be asked for another
        await advance(400)

        assert draining.token("c1") == "token-1"
        assert f"patch managedserviceaccounts/c1/{ACCOUNT}" not in draining.api.writes
        assert "was not made by fleetqueue" in draining.notes()


async def test_a_token_secret_that_may_not_be_read_does_not_hide_an_admin_kubeconfig(world):
    world.add_cluster("c1")
    world.select("c1")
    world.api.fail_on(f"get secrets/c1/{ACCOUNT}", errors.Forbidden("no role there"), times=1000)

    async with at_work(world):
        await settle()
        status = {
            "conditions": [condition("TokenReported")],
            "expirationTimestamp": timestamp(clock.now() + timedelta(hours=24)),
            "tokenSecretRef": {"name": ACCOUNT, "lastRefreshTimestamp": timestamp(clock.now())},
        }
        world.api.change(ManagedServiceAccount, ACCOUNT, "c1", status=status)
        apply_permission(world)
        await advance(60)

        assert world.token("c1") == "c1-token-1"


def finalizers(world):
    return list(world.api.get(ManagedClusterAddOn, "managed-serviceaccount", "c1").metadata.finalizers)


async def test_dropped_cluster_loses_account_and_permission(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        world.api.change(PlacementDecision, "gpu-1", "kueue-system", status={"decisions": []})
        await advance(61)

        assert world.secret("c1") is None
        assert world.api.list(ManagedServiceAccount) == []
        assert world.api.list(ClusterPermission) == []


async def test_account_that_is_already_there_by_another_hand_is_left_alone(world):
    add_cluster(world)
    theirs = {"rotation": {"enabled": False, "validity": "1h0m0s"}}
    world.api.add(ManagedServiceAccount.manifest(ACCOUNT, "c1", spec=theirs))

    async with at_work(world):
        await advance(60)

    assert world.api.raw(ManagedServiceAccount, ACCOUNT, "c1")["spec"] == theirs
    assert "was not made by fleetqueue" in world.notes()


@pytest.fixture
async def moved(world):
    """A world whose cluster got its credential from us, on a hub that has begun to serve managed service accounts."""
    world.add_cluster("c1")
    world.select("c1")
    async with managed(Manager(world.hub, world.room().controllers)):
        await settle()
    moved = type(world)(world.api, Cluster("hub", world.hub.client), world.new_api)
    moved.workers = world.workers
    return moved


async def test_credential_from_before_the_add_on_is_kept_until_the_add_on_gives_one(moved):
    async with at_work(moved):
        await advance(20 * 3600)
        assert moved.token("c1") == "c1-token-2"
        await bring_credentials(moved)

        assert moved.token("c1") == "token-1"


async def test_account_from_before_the_add_on_is_removed_from_the_worker(moved):
    assert moved.is_marked("c1")

    async with at_work(moved):
        await bring_credentials(moved)

    assert not moved.is_marked("c1")
    assert moved.workers["c1"].objects() == []


async def test_passing_problem_of_the_add_on_does_not_bring_the_admin_kubeconfig_back(moved):
    async with at_work(moved):
        await bring_credentials(moved)
        conditions = [condition("TokenReported", False, "TokenReportFailed")]
        moved.api.change(ManagedServiceAccount, ACCOUNT, "c1", status={"conditions": conditions})
        await advance(200)

        assert moved.token("c1") == "token-1"
        assert not moved.is_marked("c1")


async def test_agent_with_a_dead_token_is_asked_for_another_once_a_minute(world):
    worker = add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        worker.tokens.clear()
        await advance(301 + 60 - clock.now().second)  # to when a minute has just begun
        world.api.writes.clear()
        await advance(300)

        asked = [write for write in world.api.writes if write == f"patch managedserviceaccounts/c1/{ACCOUNT}"]
        assert len(asked) in (4, 5)
        assert world.token("c1") == "token-1"


async def test_cluster_without_the_add_on_gets_its_credential_from_the_admin_kubeconfig(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await advance(29)
        assert world.secret("c1") is None
        await advance(10)

        assert world.token("c1") == "c1-token-1"


async def test_cluster_with_neither_says_both(world):
    add_cluster(world)

    async with at_work(world):
        await advance(40)

        assert "has no token yet" in world.notes()
        assert "no admin kubeconfig" in world.notes()


async def test_agent_that_is_late_with_a_renewal_is_not_asked_every_second(world):
    add_cluster(world)

    async with at_work(world):
        await bring_credentials(world)
        await advance(20 * 3600)
        world.api.requests.clear()
        await advance(3600)

        assert len([request for request in world.api.requests if request == f"get secrets/c1/{ACCOUNT}"]) <= 12


async def test_hub_that_refuses_is_asked_again(world):
    add_cluster(world)
    world.api.fail_on("create clusterpermissions/*", errors.ServerError("boom"), times=2)

    async with at_work(world):
        await advance(60)
        await bring_credentials(world)

        assert world.token("c1") == "token-1"
