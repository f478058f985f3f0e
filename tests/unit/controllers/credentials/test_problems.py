"""When a credential cannot be had: what is said, what stays, and who does not suffer from it."""

import base64
from datetime import timedelta

import pytest
import yaml

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.fleetqueue import NAMESPACE
from fleetqueue.api.rbac_v1 import ClusterRoleBinding
from fleetqueue.client.kubeconfig import render
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def set_admin_kubeconfig(world, name, text):
    data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
    world.api.change(Secret, f"{name}-admin", NAMESPACE, data=data)


async def test_unreachable_worker_keeps_its_secret(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world, lifetime=3600):
        await settle()
        until = timestamp(clock.now() + timedelta(hours=1))
        worker.api.cut()
        await advance(2 * 3600)

        assert world.token("c1") == "c1-token-1"
        assert f"the present one holds until {until}: the worker cannot be reached" in world.notes()


async def test_worker_that_is_back_gets_a_new_token(world):
    worker = world.add_cluster("c1")
    world.select("c1")

    async with at_work(world, lifetime=3600):
        await settle()
        worker.api.cut()
        await advance(2 * 3600)
        worker.api.heal()
        await advance(31)

        assert world.token("c1") == "c1-token-2"


async def test_workers_that_hang_do_not_hold_up_the_others(world):
    names = [f"dead{number}" for number in range(40)]
    for name in names:
        world.add_cluster(name).api.cut(silently=True)
    world.add_cluster("zz")
    world.select(*names, "zz")

    async with at_work(world):
        await advance(1)

        assert world.token("zz") == "zz-token-1"


async def test_slow_worker_is_not_waited_for_longer_than_the_setting(world):
    world.add_cluster("c1").api.seconds_per_request = 12.0
    world.select("c1")

    async with at_work(world, answer_timeout=10.0):
        await advance(11)

        assert "timed out" in world.notes()


async def test_missing_admin_kubeconfig_tells_what_to_do(world):
    world.add_cluster("c1", joined=False)
    world.select("c1")

    async with at_work(world):
        await settle()
        assert 'give it with "fleetqueue join", which writes secret fleetqueue-system/c1-admin' in world.notes()
        world.give_admin_kubeconfig("c1")
        await settle()

        assert world.token("c1") == "c1-token-1"


async def test_admin_kubeconfig_without_its_key_is_named(world):
    world.add_cluster("c1")
    world.api.change(Secret, "c1-admin", NAMESPACE, data={"kubeconfig": None})
    world.select("c1")

    async with at_work(world):
        await settle()

        assert 'Secret "fleetqueue-system/c1-admin" has no key "kubeconfig"' in world.notes()


async def test_programs_named_by_an_admin_kubeconfig_are_never_run(world):
    world.add_cluster("c1")
    config = yaml.safe_load(render("c1", server="https://c1.example", ca="", token="", user="u"))
    config["users"][0]["user"] = {"exec": {"command": "/bin/sh", "apiVersion": "client.authentication.k8s.io/v1"}}
    set_admin_kubeconfig(world, "c1", yaml.safe_dump(config))
    world.select("c1")

    async with at_work(world):
        await settle()

        assert "exec names a program, which is not allowed here" in world.notes()
        assert world.secret("c1") is None


async def test_files_named_by_an_admin_kubeconfig_are_never_read(world):
    world.add_cluster("c1")
    config = yaml.safe_load(render("c1", server="https://c1.example", ca="", token="", user="u"))
    config["users"][0]["user"] = {"tokenFile": "/etc/passwd"}
    set_admin_kubeconfig(world, "c1", yaml.safe_dump(config))
    world.select("c1")

    async with at_work(world):
        await settle()

        assert "tokenFile names a file, which is not allowed here" in world.notes()


async def test_expired_admin_kubeconfig_asks_for_a_new_one(world):
    worker = world.add_cluster("c1")
    worker.api.fail_on("get *", errors.Unauthorized("Unauthorized"))
    world.select("c1")

    async with at_work(world):
        await settle()

        assert "does not accept the admin kubeconfig any more" in world.notes()


async def test_address_that_kueue_would_refuse_is_never_written(world):
    world.add_cluster("c1", url="https://kube_api:6443")
    world.select("c1")

    async with at_work(world):
        await settle()

        assert world.secret("c1") is None
        assert "neither an IP address nor a DNS name" in world.notes()


async def test_worker_without_kueue_is_waited_for(world):
    worker = world.add_cluster("c1")
    worker.api.fail_on("create serviceaccounts/*", errors.NotFound('namespaces "kueue-system" not found'), times=1)
    world.select("c1")

    async with at_work(world):
        await settle()
        assert 'no namespace "kueue-system"; install Kueue there' in world.notes()
        await advance(31)

        assert world.token("c1") == "c1-token-1"


async def test_credential_that_lacks_a_right_is_never_written(world):
    worker = world.add_cluster("c1")
    worker.api.fail_on("create clusterrolebindings/*", errors.Forbidden("not allowed to bind"), times=2)
    world.select("c1")

    async with at_work(world):
        await settle()
        assert world.secret("c1") is None
        await advance(60)

        assert world.token("c1") != ""


async def test_right_that_shows_a_moment_later_is_waited_for(world, follow):
    worker = world.add_cluster("c1")
    world.select("c1")
    controller = world.controller()
    await follow(controller)
    worker.api.fail_on("create clusterrolebindings/*", errors.ServerError("late"), times=1)

    with pytest.raises(errors.ServerError):
        await controller.reconcile("c1")

    assert worker.tokens == {}
    assert worker.api.get(ClusterRoleBinding, "fleetqueue-multikueue") is None


async def test_account_of_somebody_else_on_the_worker_is_never_used(world):
    worker = world.add_cluster("c1")
    worker.api.add(ServiceAccount.manifest("fleetqueue-multikueue", "kueue-system"))
    world.select("c1")

    async with at_work(world):
        await settle()

        assert worker.tokens == {}
        assert "on the worker was not made by fleetqueue; rename or delete it" in world.notes()


async def test_mark_is_written_before_anything_on_the_worker(world, follow):
    worker = world.add_cluster("c1")
    world.select("c1")
    world.api.fail_on("patch secrets/fleetqueue-system/c1-admin", errors.ServerError("boom"))
    controller = world.controller()
    await follow(controller)

    with pytest.raises(errors.ServerError):
        await controller.reconcile("c1")

    assert worker.api.writes == []


async def test_failed_write_of_the_secret_is_tried_again(world):
    world.add_cluster("c1")
    world.select("c1")
    world.api.fail_on("create secrets/kueue-system/*", errors.ServerError("boom"), times=3)

    async with at_work(world):
        await advance(5)

        assert world.token("c1") == "c1-token-1"


async def test_lost_answer_to_the_write_of_the_secret_does_no_harm(world):
    world.add_cluster("c1")
    world.select("c1")
    world.api.fail_on("create secrets/kueue-system/*", errors.Unreachable("lost"), times=1, applied=True)

    async with at_work(world):
        await advance(5)

        assert world.token("c1") == "c1-token-1"


async def test_problem_is_logged_once_and_not_every_time(world, caplog):
    world.add_cluster("c1", joined=False)
    world.select("c1")

    async with at_work(world):
        await advance(3600)

    assert len([record for record in caplog.records if record.name == "fleetqueue.credentials"]) == 1
