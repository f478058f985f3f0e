"""The secret with which Kueue reaches a worker, issued by ourselves: made, kept right, renewed."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue import clock
from fleetqueue.admin.uninstalling import release
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.fleetqueue import RELEASED
from fleetqueue.api.kueue_v1beta2 import MultiKueueCluster
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.client.kubeconfig import parse, render
from fleetqueue.controllers.credentials.kubeconfig_secrets import why_renewed
from fleetqueue.controllers.credentials.secret_content import EXPIRES, Issued
from fleetqueue.runtime.cluster import is_ours
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.builders import condition
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

SECRET = "secrets/kueue-system/kueue-admin-c1-kubeconfig"


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


async def test_selected_cluster_gets_a_secret_that_works(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()

        connection = parse(world.secret("c1").text("kubeconfig"))
        assert (connection.server, connection.ca, connection.name) == (worker.server, b"admin's CA", "c1")
        assert list(worker.tokens) == [connection.token]
        assert world.said() == ["CredentialsIssued"]
        assert 'Placement "gpu" selects it' in world.notes()


async def test_cluster_that_nobody_needs_is_left_alone(world):
    worker = world.add_cluster("c1")
    world.decide("unchecked", "c1")

    async with at_work(world):
        await advance(3600)

    assert world.secret("c1") is None
    assert worker.api.requests == []
    assert world.api.writes == []


async def test_a_check_that_names_a_placement_of_another_group_is_no_reason(world):
    world.add_cluster("c1")
    world.check("check", "gpu", group="example.com")
    world.decide("gpu", "c1")

    async with at_work(world):
        await settle()

    assert world.secret("c1") is None


async def test_annotation_on_the_cluster_asks_for_a_secret(world):
    world.add_cluster("c1", annotations={"fleetqueue.dev/credentials": "true"})

    async with at_work(world):
        await settle()

        assert world.token("c1") == "c1-token-1"


async def test_account_on_the_worker_has_the_rights_and_no_pod_gets_its_token(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.configure("batch/job", "pod")

    async with at_work(world):
        await settle()

    raw = worker.api.raw(ServiceAccount, "fleetqueue-multikueue", "kueue-system")
    role = worker.api.get(ClusterRole, "fleetqueue-multikueue")
    assert raw["automountServiceAccountToken"] is False
    assert raw["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "fleetqueue"}
    assert [rule["resources"] for rule in role.rules] == [
        ["workloads"],
        ["workloads/status"],
        ["clusterqueues", "localqueues"],
        ["namespaces"],
        ["jobs"],
        ["pods"],
    ]


async def test_second_reconcile_writes_and_asks_nothing(world, follow):
    worker = world.add_cluster("c1")
    world.select("c1")
    controller = world.controller()
    await follow(controller)

    with pytest.raises(errors.RetryLater):
        await controller.reconcile("c1")
    await settle()
    world.api.writes.clear()
    worker.api.requests.clear()
    with pytest.raises(errors.RetryLater):
        await controller.reconcile("c1")

    assert world.api.writes == []
    assert worker.api.requests == []


async def test_quiet_day_ends_with_one_renewal(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        issued = world.expiry("c1")
        world.api.writes.clear()
        await advance(20 * 3600)

        assert [write for write in world.api.writes if "events" not in write] == [f"patch {SECRET}"]
        assert world.token("c1") == "c1-token-2"
        assert world.expiry("c1") == issued + 0.8 * 24 * 3600
        assert world.said() == ["CredentialsIssued", "CredentialsRenewed"]
        assert "was renewed in time and holds until" in world.notes()


async def test_life_that_the_worker_shortened_is_what_counts(world):
    worker = world.add_cluster("c1")
    worker.longest = 3600
    world.select("c1")

    async with at_work(world):
        await advance(3500)

        assert world.token("c1") == "c1-token-2"


@pytest.mark.parametrize("hours", [-48, 48], ids=["two days behind", "two days ahead"])
async def test_worker_with_a_wrong_clock_gets_its_renewals_in_time(world, hours):
    world.add_cluster("c1").clock_is_ahead = timedelta(hours=hours)
    world.select("c1")

    async with at_work(world):
        await advance(19 * 3600)
        assert world.token("c1") == "c1-token-1"
        await advance(3600)

        assert world.token("c1") == "c1-token-2"


async def test_renewal_due_while_we_were_away_comes_at_once(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    async with at_work(world):
        await settle()
    await advance(48 * 3600)

    other = type(world)(world.api, type(world.hub)("hub", world.hub.client), world.new_api)
    other.workers["c1"] = worker
    async with at_work(other):
        await settle()

        assert world.token("c1") == "c1-token-2"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"data": {"kubeconfig": "bm9uc2Vuc2U="}}, id="the content"),
        pytest.param({"data": {"token": "YQ=="}}, id="a further entry"),
        pytest.param({"metadata": {"annotations": {EXPIRES: "2036-01-01T00:00:00Z"}}}, id="the end, made later"),
        pytest.param({"metadata": {"annotations": None}}, id="the annotations"),
        pytest.param({"metadata": {"labels": {"fleetqueue.dev/cluster": None}}}, id="the label"),
    ],
)
async def test_edited_secret_is_repaired_at_once(world, change):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        before = world.secret("c1")
        world.api.change(Secret, before.name, before.namespace, **change)
        await settle()

        after = world.secret("c1")
        assert list(after.data) == ["kubeconfig"]
        assert world.token("c1") in world.workers["c1"].tokens
        assert after.metadata.labels["fleetqueue.dev/cluster"] == "c1"
        assert after.metadata.annotations[EXPIRES] == before.metadata.annotations[EXPIRES]


async def test_deleted_secret_is_written_again_at_once(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await advance(60)
        world.api.remove(Secret, "kueue-admin-c1-kubeconfig", "kueue-system")
        await settle()

        assert world.token("c1") == "c1-token-2"


async def test_revoked_token_is_noticed_and_replaced(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.api.remove(ServiceAccount, "fleetqueue-multikueue", "kueue-system")
        await advance(301)

        assert world.token("c1") == "c1-token-2"
        assert worker.tokens["c1-token-2"][0] == worker.account.uid
        assert "was renewed, because its account on the worker was gone, and holds until" in world.notes()


async def test_refused_token_is_replaced_and_the_event_says_so(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.tokens["c1-token-1"] = ("of another account", worker.tokens["c1-token-1"][1])
        await advance(301)

        assert world.token("c1") == "c1-token-2"
        assert "because the one before was refused (the worker does not accept the token)" in world.notes()


async def test_next_look_comes_when_the_last_proof_runs_out(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await advance(150)
        for connected in (False, True):  # the first one makes a proof
            conditions = [condition("Active", connected)]
            world.api.change(MultiKueueCluster, "gpu-c1", status={"conditions": conditions})
            await settle()
        await advance(151)  # the look that was due for the proof before
        worker.api.remove(ServiceAccount, "fleetqueue-multikueue", "kueue-system")
        await advance(150)

        assert world.token("c1") == "c1-token-2"


async def test_events_between_two_looks_cost_the_worker_nothing(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.api.requests.clear()
        await advance(301)
        one_look = len(worker.api.requests)
        for number in range(30):
            world.api.change(ManagedCluster, "c1", metadata={"labels": {"any": f"label-{number}"}})
            await advance(100)

        assert len(worker.api.requests) == 11 * one_look


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({}, "", id="its time had come"),
        pytest.param({"because": "it was lost"}, "it was lost", id="the source knows why"),
        pytest.param({"token": "one"}, "the cluster's address or what is known of it has changed", id="the same token"),
        pytest.param({"user": "other"}, "it is of account other now", id="another account"),
        pytest.param({"hours": 24}, "the one before had ended", id="too late"),
    ],
)
def test_why_renewed(change, why):
    def credential(token, user="account", hours=0, because=""):
        kubeconfig = render("c1", server="https://c1", ca="CA", token=token, user=user)
        begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
        return Issued(kubeconfig, begin, begin + timedelta(hours=24), "somebody", because=because)

    assert why_renewed(credential("one"), credential(**{"token": "two", "hours": 19, **change})) == why


async def test_revoked_token_is_replaced_although_the_worker_still_takes_it(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        worker.takes_dead_tokens = True
        worker.api.remove(ServiceAccount, "fleetqueue-multikueue", "kueue-system")
        await advance(301)

        assert world.token("c1") == "c1-token-2"


async def test_lost_connection_of_kueue_looks_at_the_token_at_once(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.member("gpu-c1", "c1")

    async with at_work(world):
        await advance(10)
        worker.api.remove(ServiceAccount, "fleetqueue-multikueue", "kueue-system")
        conditions = [condition("Active", False, "ClientConnectionFailed")]
        world.api.change(MultiKueueCluster, "gpu-c1", status={"conditions": conditions})
        await settle()

        assert world.token("c1") == "c1-token-2"


async def test_role_edited_on_the_worker_is_put_right_and_the_token_stays(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()
        rules = worker.api.raw(ClusterRole, "fleetqueue-multikueue")["rules"]
        worker.api.change(ClusterRole, "fleetqueue-multikueue", rules=rules[1:])
        await advance(301)

        assert worker.api.raw(ClusterRole, "fleetqueue-multikueue")["rules"] == rules
        assert world.token("c1") == "c1-token-1"


async def test_new_address_is_written_with_the_same_token(world):
    world.add_cluster("c1", url="https://c1.old:6443")
    world.select("c1")

    async with at_work(world):
        await settle()
        configs = [{"url": "https://c1.new:6443"}]
        world.api.change(ManagedCluster, "c1", spec={"managedClusterClientConfigs": configs})
        await settle()

        connection = parse(world.secret("c1").text("kubeconfig"))
        assert (connection.server, connection.token) == ("https://c1.new:6443", "c1-token-1")


async def test_secret_of_somebody_else_is_never_touched(world):
    world.add_cluster("c1")
    world.select("c1")
    world.api.add(Secret.manifest("kueue-admin-c1-kubeconfig", "kueue-system", data={"kubeconfig": "YQ=="}))

    async with at_work(world):
        await advance(600)

    assert not any(SECRET in write for write in world.api.writes)
    assert "was not made by fleetqueue; rename or delete it" in world.notes()


async def test_expiry_is_a_metric(world):
    world.add_cluster("c1")
    world.select("c1")

    async with at_work(world):
        await settle()

        assert world.expiry("c1") == (clock.now() + timedelta(hours=24)).timestamp()


async def test_nothing_secret_is_logged_or_said(world, caplog):
    worker = world.add_cluster("c1")
    world.select("c1")

    with caplog.at_level("DEBUG", logger="fleetqueue"):
        async with at_work(world, lifetime=3600):
            await advance(3600)
            worker.api.cut()
            await advance(3600)

    output = world.notes() + "".join(str(record.__dict__) for record in caplog.records)
    assert len(worker.tokens) > 1
    assert not [token for token in (*worker.tokens, "admin-token") if token in output]


async def test_a_secret_that_a_purge_let_go_is_taken_back_and_renewed(world):
    world.add_cluster("c1")
    world.select("c1")
    async with at_work(world):
        await settle()
        first = world.token("c1")
        secret = world.secret("c1")
        world.api.change(Secret, secret.name, secret.namespace, metadata=release(secret))
        await settle()

        assert is_ours(world.secret("c1"))
        assert RELEASED not in world.secret("c1").metadata.annotations
        assert world.token("c1") == first
        await advance(20 * 3600)
        assert world.token("c1") != first
