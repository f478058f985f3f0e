"""A worker that is managed under two names: both credentials use one account there, which the last of them removes."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.kueue_v1beta2 import AdmissionCheck
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.credentials.admin_kubeconfigs import accounts_in_use
from fleetqueue.controllers.credentials.secret_content import Issued, secret_manifest
from fleetqueue.runtime.cluster import OURS
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def credential(cluster="c2", *, uid="uid", user="account", labels=OURS, annotations=None, **metadata):
    kubeconfig = render(cluster, server="https://c1", ca="CA", token="token", user=user)
    issued = Issued(kubeconfig, MIDNIGHT, MIDNIGHT + timedelta(hours=24), "somebody", uid)
    manifest = secret_manifest(cluster, "kueue-system", issued, None)
    written = {"labels": labels, "annotations": {**manifest["metadata"]["annotations"], **(annotations or {})}}
    return Secret.view({**manifest, "metadata": {**manifest["metadata"], **written, **metadata}})


@pytest.mark.parametrize(
    ("secret", "in_use"),
    [
        pytest.param(credential(), ["account"], id="another name of the same cluster"),
        pytest.param(credential(user="kueue-admin-c2"), ["kueue-admin-c2"], id="another name with its own account"),
        pytest.param(credential("c1"), [], id="the one that is withdrawn"),
        pytest.param(credential(uid="another"), [], id="another cluster"),
        pytest.param(credential(uid=""), [], id="nobody knows which cluster"),
        pytest.param(credential(labels={}), [], id="not ours"),
        pytest.param(
            credential(labels={}, annotations={"fleetqueue.dev/released": "{}"}), ["account"], id="let go by a purge"
        ),
        pytest.param(credential(deletionTimestamp="2026-01-01T00:00:00Z"), [], id="being deleted"),
        pytest.param(credential(annotations={"fleetqueue.dev/content-hash": "x"}), [], id="edited by somebody"),
    ],
)
def test_accounts_in_use(secret, in_use):
    assert list(accounts_in_use([secret], "uid", besides="c1")) == in_use


@pytest.fixture
def worker(world):
    worker = world.add_cluster("c1")
    world.add_cluster("c2", joined=False, url=worker.server)
    world.workers["c2"] = worker
    world.give_admin_kubeconfig("c2")
    world.select("c1", "c2")
    return worker


async def test_the_account_stays_while_the_other_name_uses_it(world, worker):
    async with at_work(world):
        await advance(30)  # both names make the one account: who comes second may have to try again
        before = world.token("c2")
        world.api.remove(ManagedCluster, "c1")
        world.decide_anew("c2")
        await advance(61)

        assert world.secrets() == ["c2-admin", "kueue-admin-c2-kubeconfig"]
        assert world.token("c2") == before
        assert worker.owner(before) == "fleetqueue-multikueue"
        assert len(worker.objects()) == 3
        world.decide_anew()
        await advance(61)

        assert worker.objects() == []


async def test_names_that_go_at_the_same_time_leave_nothing_behind(world, worker):
    async with at_work(world):
        await settle()
        world.api.remove(AdmissionCheck, "check")
        await advance(61)

        assert worker.objects() == []
        assert not world.is_marked("c1")
        assert not world.is_marked("c2")
