"""A token that the worker answers with 401, as somebody who met it says on the secret: another one, at once."""

import pytest

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import REFUSED, is_refused
from fleetqueue.runtime.manager import Manager
from fleetqueue.testing.virtual_time import advance, settle
from tests.invariants.second_look import managed

NAME = "kueue-admin-c1-kubeconfig"
WRITE = f"patch secrets/kueue-system/{NAME}"
PATIENCE = 5
"""Seconds after which a new token that is refused counts as refused."""


@pytest.fixture
async def worker(world):
    worker = world.add_cluster("c1")
    world.select("c1")
    return worker


def at_work(world, **settings):
    return managed(Manager(world.hub, world.room(**settings).controllers))


def mark(world):
    """Do what the dispatcher does when the worker has answered it with 401."""
    metadata = {"annotations": {REFUSED: timestamp(clock.now())}}
    world.api.change(Secret, NAME, "kueue-system", metadata=metadata)


def revoke(worker, token="c1-token-1"):
    worker.tokens[token] = ("of another account", worker.tokens[token][1])


def refuse_new_ones(worker):
    """Let the worker issue tokens that it does not accept, as after a change of its signing key."""
    path = "POST /api/v1/namespaces/kueue-system/serviceaccounts/fleetqueue-multikueue/token"
    issue = worker.api.answers[path]

    def issue_dead(request):
        answer = issue(request)
        revoke(worker, answer["status"]["token"])
        return answer

    worker.api.answers[path] = issue_dead
    return lambda: worker.api.answers.update({path: issue})


async def test_it_is_replaced_at_once(world, worker):
    async with at_work(world):
        await advance(2)
        revoke(worker)
        mark(world)
        await settle()

        assert world.token("c1") == "c1-token-2"
        assert not is_refused(world.secret("c1"))
        assert "because the one before was refused (the worker does not accept the token)" in world.notes()


async def test_one_that_the_worker_accepts_after_all_stays(world, worker):
    async with at_work(world):
        await settle()
        mark(world)
        await settle()

        assert world.token("c1") == "c1-token-1"
        assert not is_refused(world.secret("c1"))


async def test_where_the_new_one_is_refused_too_that_is_said_and_waited_for(world, worker):
    async with at_work(world):
        await settle()
        revoke(worker)
        accept_again = refuse_new_ones(worker)
        mark(world)
        await advance(PATIENCE)
        failure = "a new credential does not work: the worker does not accept the token"
        assert f"the worker refuses the present one: {failure}" in world.notes()
        assert "the present one holds until" not in world.notes()
        world.api.writes.clear()
        await advance(300)

        assert [write for write in world.api.writes if write == WRITE] == []
        assert len(worker.tokens) <= 1 + 1 + 300 / 30
        assert is_refused(world.secret("c1"))
        accept_again()
        await advance(30 + PATIENCE)
        assert not is_refused(world.secret("c1"))
        assert world.token("c1") in worker.tokens


async def test_own_look_marks_what_cannot_be_renewed(world, worker):
    async with at_work(world):
        await settle()
        revoke(worker)
        refuse_new_ones(worker)
        await advance(300 + PATIENCE)

        assert is_refused(world.secret("c1"))
        assert world.token("c1") == "c1-token-1"
