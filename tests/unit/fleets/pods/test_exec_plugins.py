"""Plugins: those that are built in are asked as programs and answered by the hub; the others are programs."""

import json

import pytest

from fleetqueue.api.core_v1 import secret
from fleetqueue.api.errors import Unreachable
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.fleets.pods.exec_plugins import account_of, is_built_in, plugin_runner

CONNECTION = Connection("https://c1:6443")
NAMESPACE = "kueue-system"
NO_HUB = None
"""Nobody is asked by a program that is run."""


def plugin(*args, config=None, **more):
    given = {"clusterName": "c1"} if config is None else config
    made = {"command": "/plugins/cp-creds", "provide_cluster_info": True, **more}
    return ExecPlugin(args=args, cluster_config=given, **made)


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
    with pytest.raises(Unreachable, match=f"exec: executable /plugins/cp-creds failed with exit code 1: {why}"):
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


@pytest.mark.parametrize(
    ("command", "args"),
    [
        pytest.param("fleetqueue", ("secret-reader",), id="our own"),
        pytest.param("/plugins/fleetqueue", ("secret-reader", "--namespace=x"), id="our own in a volume"),
        pytest.param("/plugins/kubeconfig-secretreader", (), id="the one of our guide"),
        pytest.param("secretreader", (), id="the one of the walkthroughs"),
        pytest.param("./cp-creds", (), id="the one of OCM"),
    ],
)
def test_readers_of_secrets_are_built_in(command, args):
    assert is_built_in(ExecPlugin(command, args=args))


@pytest.mark.parametrize(
    ("command", "args"),
    [
        pytest.param("fleetqueue", ("get",), id="our program does something else"),
        pytest.param("aws", ("eks", "get-token"), id="another program"),
        pytest.param("secret-reader", (), id="what is no program of ours"),
    ],
)
def test_other_programs_are_not_built_in(command, args):
    assert not is_built_in(ExecPlugin(command, args=args))


@pytest.fixture
def program(tmp_path):
    """A program that prints, as a token, what it was told."""
    path = tmp_path / "kubeconfig-secretreader"
    path.write_text(
        """#!/bin/sh
told=$(printf '%s' "$1 $NAME $KUBERNETES_EXEC_INFO" | sed 's/"/\\\\"/g')
printf '{"apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "%s"}}' "$told"
"""
    )
    path.chmod(0o755)
    return str(path)


async def test_a_program_that_is_there_is_run(program):
    run = plugin_runner(NO_HUB, NAMESPACE)
    asked = plugin("first", command=program, env={"NAME": "value"})

    argument, variable, info = (await run(asked, CONNECTION)).token.split(" ", 2)

    assert (argument, variable) == ("first", "value")
    assert json.loads(info)["spec"]["cluster"] == {"server": CONNECTION.server, "config": {"clusterName": "c1"}}


async def test_a_program_does_not_run_in_virtual_time(run, program):
    with pytest.raises(Unreachable, match=f"^exec: fork/exec {program}: no process can be started in virtual time$"):
        await run(plugin(command=program), CONNECTION)


async def test_a_program_that_is_not_there_is_named():
    run = plugin_runner(NO_HUB, NAMESPACE)

    with pytest.raises(Unreachable, match=r"^exec: executable no-such-plugin not found$"):
        await run(plugin(command="no-such-plugin"), CONNECTION)
