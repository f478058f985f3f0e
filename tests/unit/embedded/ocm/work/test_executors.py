"""A work with an executor needs the rights of that account."""

from fleetqueue.testing.virtual_time import advance

from .objects import config_map


def executor(name="runner"):
    return {"subject": {"type": "ServiceAccount", "serviceAccount": {"namespace": "default", "name": name}}}


async def test_an_executor_that_may_not_is_asked_again_after_a_minute(env):
    env.post(config_map(), executor=executor())
    reviews = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"
    env.worker.answers[reviews] = {"status": {"allowed": False}}
    async with env.agent():
        await advance(5)
        refused = env.said_of()["Applied"][2]
        env.worker.answers[reviews] = {"status": {"allowed": True}}
        await advance(50)
        still = env.said()["Applied"][0]
        await advance(15)

    where = "not allowed to apply the resource  configmaps, default cm, will try again in 1m0s"
    assert refused == f"Failed to apply manifest: {where}"
    assert still == "False"
    assert env.said()["Applied"][0] == "True"
