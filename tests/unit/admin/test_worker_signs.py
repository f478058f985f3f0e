"""By what a worker is known, and what is no sign of one."""

import pytest

from fleetqueue.admin.worker_signs import Signs, told, why_worker
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.client import Client
from fleetqueue.runtime.cluster import OURS
from tests.unit.unserved_kinds import lack

AGENT = "it has the agent of Open Cluster Management and no ManagedClusters"
ACCOUNT = "kueue-system/fleetqueue-multikueue-1a2b3c4d"


@pytest.mark.parametrize(
    ("signs", "why"),
    [
        pytest.param(Signs(), "", id="Kueue alone"),
        pytest.param(Signs(has_agent=True), AGENT, id="an agent"),
        pytest.param(
            Signs(accounts=[ACCOUNT]),
            f"it has the service account {ACCOUNT}, by which a hub sends jobs to it",
            id="an account",
        ),
        pytest.param(Signs(has_agent=True, accounts=[ACCOUNT]), AGENT, id="both: the sign that everybody can see"),
        pytest.param(Signs(has_agent=True, accounts=[ACCOUNT], sends_jobs=True), "", id="a hub of its own"),
    ],
)
def test_what_makes_a_cluster_a_worker(signs, why):
    assert told(signs) == why


def account(name, labels=OURS):
    return ServiceAccount.manifest(name, "kueue-system", labels=dict(labels))


@pytest.mark.parametrize(
    ("name", "is_sign"),
    [
        pytest.param("fleetqueue-multikueue", True, id="of a hub that is not known"),
        pytest.param("fleetqueue-multikueue-1a2b3c4d", True, id="of a known hub"),
        pytest.param("fleetqueue-kubeconfig", True, id="made by hand"),
        pytest.param("fleetqueue-controller", False, id="of the controller, which runs on hubs"),
    ],
)
async def test_the_accounts_that_send_jobs_are_signs(api, name, is_sign):
    api.add(account(name))

    assert bool(await why_worker(Client(api))) is is_sign


async def test_an_account_of_others_is_none(api):
    api.add(account("fleetqueue-multikueue", labels={}))

    assert await why_worker(Client(api)) == ""


async def test_the_kinds_of_an_agent_are_one_where_no_kind_of_a_hub_is_beside_them(api):
    beside = await why_worker(Client(api))
    lack(api, ManifestWork)
    alone = await why_worker(Client(api))

    assert (beside, alone) == ("", AGENT)


async def test_a_hub_without_ocm_is_no_worker_even_where_it_is_one_of_another_hub(api):
    lack(api, ManifestWork)
    api.add(kueue.MultiKueueCluster.manifest("far"))

    assert await why_worker(Client(api)) == ""


async def test_what_may_not_be_seen_is_no_sign(api):
    api.add(account("fleetqueue-multikueue"))
    api.fail_on("list serviceaccounts*", errors.Forbidden("no"))
    api.fail_on("list multikueueclusters*", errors.Forbidden("no"))

    assert await why_worker(Client(api)) == ""
