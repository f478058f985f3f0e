"""Deployments roll out, as `kubectl rollout status` reads them."""

import pytest

from fleetqueue.embedded.kubernetes.deployment_objects import Deployment, template_hash
from fleetqueue.embedded.kubernetes.deployments import DeploymentController, decide
from fleetqueue.embedded.kubernetes.replica_sets import ReplicaSet, ReplicaSetController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

REVISION = "deployment.kubernetes.io/revision"


def template(image="nginx:1"):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}


SPEC = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}


class Rollout:
    def __init__(self, env):
        self.env = env
        self.fewest = self.most = None

    async def make(self, **spec):
        await self.env.add(Deployment, "web", spec={**SPEC, **spec})
        await settle()

    async def change(self, **spec):
        await self.env.change(Deployment, "web", spec=spec)
        await settle()

    async def finish(self):
        """Let every pod get ready, one after the other, and note how many were there meanwhile."""
        ready = []
        for _ in range(40):
            pods = await self.env.pods()
            states = {pod["metadata"]["name"]: pod.get("status", {}).get("phase") == "Running" for pod in pods}
            ready.append(sum(states.values()))
            self.fewest, self.most = min(ready), max(self.most or 0, len(states))
            waiting = [name for name, is_running in states.items() if not is_running]
            if not waiting:
                return
            await self.env.run_pod(waiting[0])
            await settle()
        raise AssertionError("the rollout does not end")

    async def status(self):
        return (await self.env.get(Deployment, "web"))["status"]

    async def says(self, kind):
        return next(
            (c["status"], c["reason"], c["message"]) for c in (await self.status())["conditions"] if c["type"] == kind
        )

    async def images(self):
        return sorted(pod["spec"]["containers"][0]["image"] for pod in await self.env.pods())

    async def sets(self):
        found = await self.env.list(ReplicaSet)
        found.sort(key=lambda one: int(one["metadata"]["annotations"][REVISION]))
        return [(one["metadata"]["name"], one["spec"]["replicas"]) for one in found]


@pytest.fixture
def rollout(env):
    return Rollout(env)


@pytest.fixture
def rolling(env):
    return lambda: env.running(DeploymentController, ReplicaSetController)


async def test_a_new_deployment_comes_up(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=3)
        ((name, size),) = await rollout.sets()
        assert size == 3
        assert await rollout.says("Available") == (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
        await rollout.finish()

        assert await rollout.says("Available") == (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
        assert await rollout.says("Progressing") == (
            "True",
            "NewReplicaSetAvailable",
            f'ReplicaSet "{name}" has successfully progressed.',
        )
        status = await rollout.status()
        assert {key: status[key] for key in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")} == {
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        }
        assert "unavailableReplicas" not in status
        found = await env.get(Deployment, "web")
        assert status["observedGeneration"] == found["metadata"]["generation"]
        assert found["metadata"]["annotations"][REVISION] == "1"
        (pod, *_) = await env.pods()
        assert pod["metadata"]["labels"]["pod-template-hash"] == name.removeprefix("web-")
        assert await env.events("ScalingReplicaSet") == [f"Scaled up replica set {name} from 0 to 3"]


async def test_a_new_template_replaces_the_pods_within_its_bounds(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=4)
        await rollout.finish()
        await rollout.change(template=template("nginx:2"))
        await rollout.finish()

        assert await rollout.images() == ["nginx:2"] * 4
        assert [size for _, size in await rollout.sets()] == [0, 4]
        assert (await env.get(Deployment, "web"))["metadata"]["annotations"][REVISION] == "2"
        assert rollout.fewest >= 3
        assert rollout.most <= 5
        assert (await rollout.says("Progressing"))[1] == "NewReplicaSetAvailable"


async def test_recreate_lets_the_old_pods_go_first(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=2, strategy={"type": "Recreate", "rollingUpdate": None})
        await rollout.finish()
        await rollout.change(template=template("nginx:2"))
        await rollout.finish()

        assert await rollout.images() == ["nginx:2"] * 2
        assert rollout.most == 2


async def test_it_scales(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=1)
        await rollout.finish()
        await rollout.change(replicas=3)
        await rollout.finish()
        assert len(await env.pods()) == 3
        await rollout.change(replicas=0)

        assert await env.pods() == []
        assert len(await rollout.sets()) == 1


async def test_a_rollout_that_does_not_get_on_is_given_up(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=1, progressDeadlineSeconds=60)
        await advance(59)
        assert (await rollout.says("Progressing"))[0] == "True"
        await advance(3)

        assert (await rollout.says("Progressing"))[:2] == ("False", "ProgressDeadlineExceeded")


async def test_old_replica_sets_are_kept_up_to_a_limit(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=1, revisionHistoryLimit=1)
        for number in (2, 3, 4):
            await rollout.finish()
            await rollout.change(template=template(f"nginx:{number}"))
        await rollout.finish()
        await settle()

        assert len(await rollout.sets()) == 2


async def test_a_paused_deployment_does_not_roll(env, rollout, rolling):
    async with rolling():
        await rollout.make(replicas=1)
        await rollout.finish()
        await rollout.change(paused=True, template=template("nginx:2"))
        assert await rollout.images() == ["nginx:1"]
        await rollout.change(paused=False)
        await rollout.finish()

        assert await rollout.images() == ["nginx:2"]


async def test_a_second_look_writes_nothing(env, rollout, rolling):
    async with rolling() as (controller, _):
        await rollout.make(replicas=2)
        await rollout.finish()
        env.writes.clear()
        controller.wake("default/web")
        await settle()

        assert env.writes == []


async def test_a_replica_set_that_cannot_be_made_is_tried_again(env, rollout, rolling):
    async with rolling():
        env.refuse("POST /apis/apps/v1/namespaces/default/replicasets")
        await rollout.make(replicas=1)
        assert await rollout.sets() == []
        env.refuse("")
        await advance(5)

        assert len(await rollout.sets()) == 1


def test_a_template_has_one_short_name():
    assert template_hash(template()) == template_hash(dict(reversed(template().items())))
    assert template_hash(template()) != template_hash(template("nginx:2"))


def a_set(name, replicas, available, revision=1):
    metadata = {"name": name, "annotations": {REVISION: str(revision)}}
    return ReplicaSet.view(
        {"metadata": metadata, "spec": {"replicas": replicas}, "status": {"availableReplicas": available}}
    )


@pytest.mark.parametrize(
    ("spec", "old", "new", "sizes"),
    [
        pytest.param({"replicas": 4}, (4, 4), (1, 0), {"old": 3}, id="one may be missing at once"),
        pytest.param({"replicas": 4}, (3, 3), (1, 0), {"new": 2}, id="it grows up to its surge"),
        pytest.param({"replicas": 4}, (3, 3), (2, 0), {}, id="it waits for the new ones"),
        pytest.param({"replicas": 4}, (0, 0), (4, 4), {}, id="done"),
        pytest.param({"replicas": 2}, (0, 0), (4, 4), {"new": 2}, id="made smaller"),
        pytest.param({"replicas": 1}, (1, 1), (1, 0), {}, id="a single one is not missed"),
        pytest.param({"replicas": 1}, (1, 1), (1, 1), {"old": 0}, id="until the other is there"),
        pytest.param({"replicas": 4}, (4, 0), (1, 1), {"old": 2}, id="what does not run is not missed"),
        pytest.param({"replicas": 2, "strategy": {"type": "Recreate"}}, (2, 2), (0, 0), {"old": 0}, id="recreate"),
        pytest.param({"replicas": 2, "paused": True}, (2, 2), (0, 0), {}, id="paused"),
    ],
)
def test_decide(spec, old, new, sizes):
    deployment = Deployment.view({"metadata": {"name": "web"}, "spec": spec})
    old_set, new_set = a_set("old", *old), a_set("new", *new, revision=2)

    scales = decide(deployment, [old_set, new_set], new_set)

    assert {scale.found.name: scale.replicas for scale in scales} == sizes
