"""Every namespace has its account and the CA; secrets that ask for a token get one."""

import base64

import pytest

from fleetqueue.api.core_v1 import ConfigMap, Namespace, Secret, ServiceAccount
from fleetqueue.embedded.kubernetes.account_secrets import ACCOUNT, ACCOUNT_UID, TYPE, AccountSecretController
from fleetqueue.embedded.kubernetes.service_accounts import ServiceAccountController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time


def accounts(env, ca="PEM"):
    return env.running(ServiceAccountController, ServiceAccountController={"ca": ca})


async def test_every_namespace_has_an_account_and_the_ca(env):
    async with accounts(env):
        await env.add(Namespace, "team")
        await settle()

        for namespace in ("default", "kube-system", "team"):
            assert await env.names(ServiceAccount, namespace) == ["default"]
            assert (await env.get(ConfigMap, "kube-root-ca.crt", namespace))["data"] == {"ca.crt": "PEM"}


async def test_what_is_deleted_or_changed_comes_back(env):
    async with accounts(env):
        await env.delete(ServiceAccount, "default")
        await env.change(ConfigMap, "kube-root-ca.crt", data={"ca.crt": "wrong", "more": "x"})
        await settle()

        assert await env.names(ServiceAccount, "default") == ["default"]
        assert (await env.get(ConfigMap, "kube-root-ca.crt"))["data"] == {"ca.crt": "PEM"}


async def test_a_second_look_writes_nothing(env):
    async with accounts(env) as (controller,):
        env.writes.clear()
        controller.wake("default")
        await settle()

        assert env.writes == []


async def test_without_a_ca_none_is_published(env):
    async with accounts(env, ca=""):
        assert await env.names(ConfigMap) == []


async def test_what_failed_halfway_is_done_later(env):
    async with accounts(env):
        env.fail_once("POST /api/v1/namespaces/team/configmaps")
        await env.add(Namespace, "team")
        await advance(1)

        assert await env.get(ConfigMap, "kube-root-ca.crt", "team") is not None


# Tokens


async def sign(account, secret):
    return f"token of {account.key}"


def secrets(env):
    return env.running(AccountSecretController, AccountSecretController={"ca": "PEM", "sign": sign})


async def ask(env, account="robot", **annotations):
    manifest = Secret.manifest("token", "default", annotations={ACCOUNT: account, **annotations}, type=TYPE)
    await env.client.create(Secret.resource, manifest)
    await settle()


async def test_a_secret_gets_the_token_that_it_asks_for(env):
    async with secrets(env):
        account = await env.add(ServiceAccount, "robot")
        await ask(env)

        secret = await env.get(Secret, "token")
        data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
        assert data == {"token": "token of default/robot", "ca.crt": "PEM", "namespace": "default"}
        assert secret["metadata"]["annotations"][ACCOUNT_UID] == account["metadata"]["uid"]


async def test_the_api_server_itself_can_issue_the_token(env):
    async with env.running(AccountSecretController, AccountSecretController={"ca": "PEM"}):
        await env.add(ServiceAccount, "robot")
        await ask(env)

        token = base64.b64decode((await env.get(Secret, "token"))["data"]["token"]).decode()
        review = {"spec": {"token": token}}
        answer = await env.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert answer["status"]["user"]["username"] == "system:serviceaccount:default:robot"


async def test_a_filled_secret_is_left_alone(env):
    async with secrets(env) as (controller,):
        await env.add(ServiceAccount, "robot")
        await ask(env)
        env.writes.clear()
        controller.wake("default/token")
        await settle()

        assert env.writes == []


async def test_the_secret_of_an_account_that_is_not_there_is_deleted(env):
    async with secrets(env):
        await ask(env)

        assert await env.names(Secret) == []


async def test_a_secret_goes_with_its_account(env):
    async with secrets(env):
        await env.add(ServiceAccount, "robot")
        await ask(env)
        await env.delete(ServiceAccount, "robot")
        await settle()

        assert await env.names(Secret) == []


async def test_a_secret_of_an_earlier_account_of_that_name_is_deleted(env):
    async with secrets(env):
        await env.add(ServiceAccount, "robot")
        await ask(env, **{ACCOUNT_UID: "another"})

        assert await env.names(Secret) == []


async def test_other_secrets_are_left_alone(env):
    await env.add(Secret, "plain", type="Opaque")

    async with secrets(env):
        assert env.writes == []
