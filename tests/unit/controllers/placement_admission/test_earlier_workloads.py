"""Whether a job may have had another Workload, which nobody saw."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.fence import LOST_WORKER, sent_to
from fleetqueue.controllers.placement_admission.earlier_workloads import CLOCK_SECONDS, FIRST_SECONDS, may_be_second
from fleetqueue.controllers.placement_admission.groups import INDEX, OWNER_KIND
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import advance, settle

DATED = pytest.mark.embedded_only("a real server has a clock of its own")
START = datetime(2026, 1, 1, tzinfo=UTC)
"""When the virtual clock begins, and our process with it."""
LABELS = {"app": "a"}
CONTAINERS = [{"name": "main", "image": "busybox"}]
SPECS = {
    Job: {"template": pod_template()},
    StatefulSet: {
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}},
    },
}


@pytest.mark.parametrize(
    ("job", "workload", "expected"),
    [
        pytest.param(-3600, -3600 + FIRST_SECONDS, False, id="made with its job"),
        pytest.param(-3600, -3600 + FIRST_SECONDS + 1, True, id="younger than its job"),
        pytest.param(-3600, 3600, True, id="made while we watch, for a job from before"),
        pytest.param(CLOCK_SECONDS - 1, 3600, True, id="perhaps for a job from before, by another clock"),
        pytest.param(CLOCK_SECONDS, 3600, False, id="every Workload of its job was seen"),
    ],
)
def test_may_be_second(job, workload, expected):
    job, workload = (START + timedelta(seconds=seconds) for seconds in (job, workload))

    assert may_be_second(job=job, workload=workload, since=START) is expected


@DATED
class TestAfterARestart:
    """Nobody has seen that a Workload was deleted, and c1 is lost."""

    @pytest.fixture(autouse=True)
    async def lost_cluster(self, env, two_clusters):
        env.workers["c1"].cut()

    async def submit(self, env, policy="wait", *, kind=Job, before=60.0):
        """Let a job have a Workload that is so much younger than itself."""
        env.api.add(kind.manifest("job", "team-a", spec=SPECS[kind]))
        uid = env.api.get(kind, "job", "team-a").uid
        await advance(before)
        env.workload(pod_annotations={LOST_WORKER: policy}, checks={"mk": "Pending", "ac": "Pending"})
        owner = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "name": "job", "uid": uid}
        env.api.change(kueue.Workload, "job", "team-a", metadata={"ownerReferences": [owner]})

    @pytest.mark.parametrize("kind", [Job, StatefulSet], ids=lambda kind: kind.resource.kind)
    async def test_a_workload_that_may_be_the_second_waits_for_every_cluster(self, env, kind):
        await self.submit(env, kind=kind)

        async with env.beating():
            await env.connected()
            await advance(3600)
            assert env.nominated() == []
            assert "waits for gpu-c1" in env.api.get(kueue.Workload, "job", "team-a").check("ac").message

            env.workers["c1"].heal()
            await advance(120)
            assert env.nominated() != []

    @pytest.mark.parametrize(
        ("on", "nominated"),
        [pytest.param("", [], id="which is nowhere"), pytest.param("gpu-c2", ["gpu-c2"], id="which is on a cluster")],
    )
    async def test_a_workload_of_a_group_goes_where_another_one_is(self, env, on, nominated):
        await self.submit(env)
        uid = env.api.get(Job, "job", "team-a").uid
        for name, index in (("job", "1"), ("other", "0")):
            if name == "other":
                checks = {"mk": "Ready", "ac": "Ready"} if on else {"mk": "Pending", "ac": "Pending"}
                env.workload(name, pod_annotations={LOST_WORKER: "wait"}, on=on, checks=checks)
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": uid}
            metadata = {"annotations": {OWNER_KIND: "batch/v1, Kind=Job", INDEX: index}, "ownerReferences": [owner]}
            env.api.change(kueue.Workload, name, "team-a", metadata=metadata)

        async with env.beating():
            await env.connected()
            await advance(60)

            assert env.nominated() == nominated

    async def test_the_first_one_waits_for_nobody(self, env):
        await self.submit(env, before=1.0)

        async with env.beating():
            await settle()
            env.connect("gpu-c2")
            await advance(5)

            assert env.nominated() == ["gpu-c2"]
            assert sent_to(env.api.get(kueue.Workload, "job", "team-a")) == {"gpu-c2": ""}

    async def test_a_job_that_may_run_twice_waits_for_nobody(self, env):
        await self.submit(env, "rerun")

        async with env.beating():
            await settle()
            env.connect("gpu-c2")
            await advance(5)

            assert env.nominated() == ["gpu-c2"]

    async def test_a_job_that_may_not_be_read_is_taken_with_care(self, env):
        await self.submit(env, before=1.0)
        env.api.fail_on("get jobs/team-a/job", errors.Forbidden("no"), times=100)

        async with env.beating():
            await env.connected()
            await advance(3600)

            assert env.nominated() == []
