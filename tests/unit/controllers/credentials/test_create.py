"""A kubeconfig made by hand on a worker."""

import pytest

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.controllers.credentials.create import create_kubeconfig
from fleetqueue.controllers.credentials.problems import CredentialProblem

ADMIN = Connection("https://127.0.0.1:6443", ca=b"CA", name="worker1")


def answer_tokens(api, namespace="kueue-system"):
    asked = []

    def issue(request):
        asked.append(request.body["spec"]["expirationSeconds"])
        return {**request.body, "status": {"token": "t", "expirationTimestamp": "2026-01-02T00:00:00Z"}}

    api.answers[f"POST /api/v1/namespaces/{namespace}/serviceaccounts/fleetqueue-kubeconfig/token"] = issue
    return asked


async def test_kubeconfig_holds_the_token_and_the_address_of_the_worker(api):
    answer_tokens(api)

    connection = parse(await create_kubeconfig(Client(api), ADMIN))

    assert (connection.name, connection.server, connection.ca) == ("worker1", ADMIN.server, b"CA")
    assert connection.token == "t"


async def test_account_has_the_rights_for_the_kinds_in_use(api):
    answer_tokens(api)

    await create_kubeconfig(Client(api), ADMIN, job_kinds=["jobset.x-k8s.io/jobset"])

    role = api.get(ClusterRole, "fleetqueue-kubeconfig")
    assert role.rules[-1]["resources"] == ["jobsets"]
    assert api.get(ServiceAccount, "fleetqueue-kubeconfig", "kueue-system") is not None
    assert api.get(ClusterRoleBinding, "fleetqueue-kubeconfig") is not None


async def test_the_account_is_where_kueue_is_on_the_worker(api):
    api.namespace("batch-system")
    answer_tokens(api, "batch-system")

    await create_kubeconfig(Client(api), ADMIN, namespace="batch-system")

    assert api.get(ServiceAccount, "fleetqueue-kubeconfig", "batch-system") is not None


@pytest.mark.parametrize("wanted", [pytest.param(365 * 86400, id="a year"), pytest.param(600, id="the least")])
async def test_lifetime_is_asked_for(api, wanted):
    seconds = answer_tokens(api)

    await create_kubeconfig(Client(api), ADMIN, lifetime=wanted)

    assert seconds == [wanted]


async def test_lifetime_that_the_api_does_not_allow_is_refused_before_anything_is_made(api):
    answer_tokens(api)

    with pytest.raises(CredentialProblem, match=r"lifetime is 599 s, .* less than 600 s \(10 minutes\)"):
        await create_kubeconfig(Client(api), ADMIN, lifetime=599)

    assert api.writes == []


async def test_second_time_gives_another_token_and_changes_nothing_else(api):
    seconds = answer_tokens(api)

    await create_kubeconfig(Client(api), ADMIN)
    api.writes.clear()
    await create_kubeconfig(Client(api), ADMIN)

    assert api.writes == []
    assert len(seconds) == 2


async def test_address_that_kueue_would_refuse_is_told_before_anything_is_made(api):
    with pytest.raises(CredentialProblem, match="Kueue would refuse this kubeconfig"):
        await create_kubeconfig(Client(api), Connection("https://kube_api:6443"))

    assert api.requests == []
