"""A worker that answers reads with ever new errors: the hub is told now and then, not without end."""

from fleetqueue.api import errors
from fleetqueue.testing.virtual_time import advance

from .objects import config_map

MANY = 500


async def test_an_agent_is_not_woken_by_its_own_words(env):
    env.post(config_map())
    async with env.agent():
        await env.pass_minutes(1)
        before = len(env.hub.writes)
        for number in range(MANY):
            env.worker.fail_on("get configmaps/*", errors.ServerError(f"boom {number}"), times=1)

        await advance(60)

    assert 2 <= len(env.hub.writes) - before <= 8


async def test_what_can_be_read_again_is_told_after_the_next_look(env):
    env.post(config_map())
    async with env.agent():
        await env.pass_minutes(1)
        env.worker.fail_on("get configmaps/*", errors.ServerError("boom"), times=1)
        await advance(40)

        said = env.said_of()["Available"]

    assert said == ("True", "ResourceAvailable", "Resource is available")
