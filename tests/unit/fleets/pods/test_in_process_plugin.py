"""The plugin where no program is run: asked as one, answered by the hub."""

import pytest

from fleetqueue.api.core_v1 import secret
from fleetqueue.api.errors import Unreachable
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.fleets.pods.in_process_plugin import account_of, plugin_runner

CONNECTION = Connection("https://c1:6443")
NAMESPACE = "kueue-system"


def plugin(*args, config=None, **more):
    given = {"clusterName": "c1"} if config is None else config
    return ExecPlugin("secret-reader", args=args, cluster_config=given, **{"provide_cluster_info": True, **more})


@pytest.fixture
def run(api, hub):
    api.add(secret("c1", NAMESPACE, {"token": "t1"}), secret("c1-app", NAMESPACE, {"token": "t2"}))
    return plugin_runner(hub.client, NAMESPACE)


@pytest.mark.parametrize(
    ("args", "token"),
    [
        pytest.param((), "t1", id="the cluster's own token"),
        pytest.param(("--managed-service-account=app",), "t2", id="an account's token"),
        pytest.param(("--managed-serviceaccount", "app"), "t2", id="an account's token, asked for as OCM does"),
    ],
)
async def test_credential_is_read_on_the_hub(run, args, token):
    assert (await run(plugin(*args), CONNECTION)).token == token


async def test_answer_is_in_the_version_that_was_asked_for(run):
    asked = plugin(api_version="client.authentication.k8s.io/v1beta1")

    assert (await run(asked, CONNECTION)).token == "t1"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        pytest.param(plugin(config={"clusterName": "c2"}), "failed to get secret kueue-system/c2", id="no secret"),
        pytest.param(plugin(provide_cluster_info=False), "spec.cluster.server is missing", id="nothing is told"),
    ],
)
async def test_refusal_is_what_a_failed_program_would_be(run, asked, why):
    with pytest.raises(Unreachable, match=f'exec plugin "secret-reader" failed with 1: {why}'):
        await run(asked, CONNECTION)


async def test_hub_that_does_not_answer_gives_no_credential(run, api):
    api.cut()

    with pytest.raises(Unreachable):
        await run(plugin(), CONNECTION)


@pytest.mark.parametrize(
    ("args", "account"),
    [
        ((), ""),
        (("secret-reader",), ""),
        (("--managed-serviceaccount",), ""),
        (("-v", "--managed-serviceaccount=a"), "a"),
    ],
)
def test_account_is_found_among_arguments(args, account):
    assert account_of(args) == account
