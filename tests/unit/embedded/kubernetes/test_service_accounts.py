"""Every namespace has its account and the CA; secrets that ask for a token get one."""

import base64

import pytest

from fleetqueue.api.core_v1 import ConfigMap, Namespace, Secret, ServiceAccount
from fleetqueue.embedded.kubernetes.account_secrets import ACCOUNT, ACCOUNT_UID, TYPE, AccountSecretController
from fleetqueue.embedded.kubernetes.service_accounts import ServiceAccountController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time


def accounts(scene, ca="PEM"):
    return scene.running(ServiceAccountController, ServiceAccountController={"ca": ca})


async def test_every_namespace_has_an_account_and_the_ca(scene):
    async with accounts(scene):
        await scene.add(Namespace, "team")
        await settle()

        for namespace in ("default", "kube-system", "team"):
            assert await scene.names(ServiceAccount, namespace) == ["default"]
            assert (await scene.get(ConfigMap, "kube-root-ca.crt", namespace))["data"] == {"ca.crt": "PEM"}


async def test_what_is_deleted_or_changed_comes_back(scene):
    async with accounts(scene):
        await scene.delete(ServiceAccount, "default")
        await scene.change(ConfigMap, "kube-root-ca.crt", data={"ca.crt": "wrong", "more": "x"})
        await settle()

        assert await scene.names(ServiceAccount, "default") == ["default"]
        assert (await scene.get(ConfigMap, "kube-root-ca.crt"))["data"] == {"ca.crt": "PEM"}


async def test_a_second_look_writes_nothing(scene):
    async with accounts(scene) as (controller,):
        scene.writes.clear()
        controller.wake("default")
        await settle()

        assert scene.writes == []


async def test_without_a_ca_none_is_published(scene):
    async with accounts(scene, ca=""):
        assert await scene.names(ConfigMap) == []


async def test_what_failed_halfway_is_done_later(scene):
    async with accounts(scene):
        scene.fail_once("POST /api/v1/namespaces/team/configmaps")
        await scene.add(Namespace, "team")
        await advance(1)

        assert await scene.get(ConfigMap, "kube-root-ca.crt", "team") is not None


# Tokens


async def sign(account, secret):
    return f"token of {account.key}"


def secrets(scene):
    return scene.running(AccountSecretController, AccountSecretController={"ca": "PEM", "sign": sign})


async def ask(scene, account="robot", **annotations):
    manifest = Secret.manifest("token", "default", annotations={ACCOUNT: account, **annotations}, type=TYPE)
    await scene.client.create(Secret.resource, manifest)
    await settle()


async def test_a_secret_gets_the_token_that_it_asks_for(scene):
    async with secrets(scene):
        account = await scene.add(ServiceAccount, "robot")
        await ask(scene)

        secret = await scene.get(Secret, "token")
        data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
        assert data == {"token": "token of default/robot", "ca.crt": "PEM", "namespace": "default"}
        assert secret["metadata"]["annotations"][ACCOUNT_UID] == account["metadata"]["uid"]


async def test_the_api_server_itself_can_issue_the_token(scene):
    async with scene.running(AccountSecretController, AccountSecretController={"ca": "PEM"}):
        await scene.add(ServiceAccount, "robot")
        await ask(scene)

        token = base64.b64decode((await scene.get(Secret, "token"))["data"]["token"]).decode()
        review = {"spec": {"token": token}}
        answer = await scene.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
        assert answer["status"]["user"]["username"] == "system:serviceaccount:default:robot"


async def test_a_filled_secret_is_left_alone(scene):
    async with secrets(scene) as (controller,):
        await scene.add(ServiceAccount, "robot")
        await ask(scene)
        scene.writes.clear()
        controller.wake("default/token")
        await settle()

        assert scene.writes == []


async def test_the_secret_of_an_account_that_is_not_there_is_deleted(scene):
    async with secrets(scene):
        await ask(scene)

        assert await scene.names(Secret) == []


async def test_a_secret_goes_with_its_account(scene):
    async with secrets(scene):
        await scene.add(ServiceAccount, "robot")
        await ask(scene)
        await scene.delete(ServiceAccount, "robot")
        await settle()

        assert await scene.names(Secret) == []


async def test_a_secret_of_an_earlier_account_of_that_name_is_deleted(scene):
    async with secrets(scene):
        await scene.add(ServiceAccount, "robot")
        await ask(scene, **{ACCOUNT_UID: "another"})

        assert await scene.names(Secret) == []


async def test_other_secrets_are_left_alone(scene):
    await scene.add(Secret, "plain", type="Opaque")

    async with secrets(scene):
        assert scene.writes == []
