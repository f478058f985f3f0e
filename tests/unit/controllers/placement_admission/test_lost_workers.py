"""What happens to a job whose cluster is lost: rerun, wait or fence, by the job or by its queue."""

from contextlib import asynccontextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.fence import LEASE, LOST_WORKER, PASSED, SENT_TO, sent_to
from fleetqueue.api.fleetqueue import GIVEN_UP
from fleetqueue.controllers.placement_admission.lost_workers import policy_of
from fleetqueue.controllers.placement_admission.names import FENCED
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import advance, settle

DATED = pytest.mark.embedded_only("a real server has a clock of its own")
NOMINATION = "apply workloads/team-a/job/status"
RECORD = "patch workloads/team-a/job"
DURATION = 600
SURELY = (DURATION + 30 + 60) * 1.02
"""Seconds without a renewal after which a job may go elsewhere, with the pods' and our own defaults."""


@pytest.mark.parametrize(
    ("text", "policy"),
    [("", "rerun"), ("rerun", "rerun"), ("wait", "wait"), ("fence", "fence"), ("Fence", "wait"), ("later", "wait")],
)
def test_policy(text, policy):
    assert policy_of(text) == policy


@pytest.fixture
async def two_workers(env, two_clusters):
    for name in ("c1", "c2"):
        env.api.namespace(name)


def asks_for(policy):
    return {LOST_WORKER: policy}


def renew(env, name="c1", **annotations):
    """Let the agent of a cluster renew its Lease."""
    spec = {"leaseDurationSeconds": DURATION, "renewTime": micro_timestamp(clock.now())}
    if env.api.get(Lease, LEASE, name) is None:
        env.api.add(Lease.manifest(LEASE, name, labels={"app.kubernetes.io/managed-by": "fleetqueue"}, spec=spec))
    else:
        env.api.change(Lease, LEASE, name, spec=spec, metadata={"annotations": annotations})


async def lose(env, name="c1", **options):
    """Let a running job lose its cluster, and Kueue evict it and give it quota again."""
    env.change_workload(on=f"gpu-{name}", checks={"mk": "Ready", "ac": "Ready"})
    await settle()
    env.workers[name].cut()
    env.disconnect(f"gpu-{name}")
    env.change_workload(evicted=False, checks={"mk": "Pending", "ac": "Pending"}, **options)
    await settle()


@asynccontextmanager
async def lost_job(env, policy):
    """Run the room with a job that asks for something and has lost its cluster."""
    env.workload(pod_annotations=asks_for(policy))
    async with env.beating(lost_timeout=5.0):
        await env.connected()
        await lose(env)
        yield


def check_message(env):
    return env.api.get(kueue.Workload, "job", "team-a").check("ac").message


def fenced(env):
    conditions = env.api.get(kueue.Workload, "job", "team-a").status.conditions
    return next((condition for condition in conditions if condition.type == FENCED), None)


@DATED
@pytest.mark.usefixtures("two_workers")
class TestFence:
    async def test_where_it_is_sent_is_noted_before_it_is_nominated(self, env):
        renew(env)
        renew(env, "c2")
        env.workload(pod_annotations=asks_for("fence"))

        async with env.beating():
            await env.connected()

        trusted = {"gpu-c1": env.api.get(Lease, LEASE, "c1").uid}
        assert sent_to(env.api.get(kueue.Workload, "job", "team-a")) == trusted
        assert env.writes.index(RECORD) < env.writes.index(NOMINATION)
        assert fenced(env) is None

    async def test_a_note_that_cannot_be_written_keeps_it_from_being_nominated(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))
        env.api.fail_on(RECORD, errors.ServerError("no"), times=3)

        async with env.beating():
            await env.connected()
            assert env.nominated() == []
            await advance(30)

            assert env.nominated() == ["gpu-c1"]

    async def test_it_goes_elsewhere_when_no_renewal_was_seen_for_long_enough(self, env):
        renew(env)

        async with lost_job(env, "fence"):
            await advance(SURELY - 20)
            assert env.nominated() == []
            assert "waits for gpu-c1" in check_message(env)
            assert "elsewhere at 2026-01-01T00:11:43Z unless its agent renews" in check_message(env)
            await advance(40)

            assert env.nominated() == ["gpu-c2"]
            assert PASSED in env.api.get(Lease, LEASE, "c1").metadata.annotations
            assert any("its agent has stopped the job" in note for note in env.events("Fenced"))

    async def test_it_waits_while_the_agent_renews(self, env):
        renew(env)

        async with lost_job(env, "fence"):
            for _ in range(60):
                await advance(DURATION / 6)
                renew(env)

            assert env.nominated() == []
            assert "its agent renews Lease fleetqueue-fence, so the job may go on there" in check_message(env)
            assert PASSED not in env.api.get(Lease, LEASE, "c1").metadata.annotations

    async def test_a_renewal_while_the_lease_is_marked_makes_it_wait_longer(self, env):
        renew(env)

        async with lost_job(env, "fence"):
            env.api.fail_on(f"patch leases/c1/{LEASE}", errors.Conflict("it changed"), times=1)
            await advance(SURELY - 5)
            renew(env)
            await advance(60)

            assert env.nominated() == []

    async def test_pods_that_take_long_to_stop_are_waited_for(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))
        template = pod_template(annotations=asks_for("fence"))
        template["spec"]["terminationGracePeriodSeconds"] = 3600
        pod_sets = [{"name": "main", "count": 1, "template": template}]
        env.api.change(kueue.Workload, "job", "team-a", spec={"podSets": pod_sets})

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            await lose(env)
            await advance(SURELY + 3000)
            assert env.nominated() == []
            await advance(700)

            assert env.nominated() == ["gpu-c2"]

    async def test_what_was_brought_after_the_deadline_has_time_to_be_stopped(self, env):
        """Kueue may reach the worker while its agent does not reach the hub, and bring the copy late."""
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))

        async with env.beating(lost_timeout=5.0, nomination_timeout=10 * SURELY):
            await env.connected()
            await advance(5 * SURELY)
            await lose(env)
            await advance(80)
            assert env.nominated() == []
            await advance(30)

            assert env.nominated() == ["gpu-c2"]

    async def test_what_ran_there_for_long_is_not_waited_for_longer(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            env.change_workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
            await advance(SURELY + 10)
            await lose(env)
            await advance(10)

            assert env.nominated() == ["gpu-c2"]

    async def test_a_new_leader_counts_from_its_takeover(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))
        async with env.beating():
            await env.connected()
            await lose(env)
            await advance(SURELY - 60)

        hub = env.hub
        env.hub = type(hub)("hub", hub.client)
        async with env.beating():
            await advance(SURELY - 60)
            assert env.nominated() == []
            await advance(120)

            assert env.nominated() == ["gpu-c2"]

    @pytest.mark.parametrize(
        "arrange",
        [
            pytest.param(lambda env: None, id="no agent"),
            pytest.param(lambda env: renew(env, **{}) or advance(DURATION + 1), id="an agent that fell silent"),
        ],
    )
    async def test_without_a_fresh_lease_it_waits_as_with_wait_and_says_so(self, env, arrange):
        if (waiting := arrange(env)) is not None:
            await waiting
        env.workload(pod_annotations=asks_for("fence"))

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            assert (fenced(env).status, fenced(env).reason) == ("False", "NoFreshLease")
            await lose(env)
            await advance(10 * SURELY)

            assert env.nominated() == []
            assert "but no agent has promised to stop it" in check_message(env)

    async def test_another_lease_than_the_one_that_was_trusted_tells_nothing(self, env):
        renew(env)

        async with lost_job(env, "fence"):
            env.api.remove(Lease, LEASE, "c1")
            renew(env)
            await advance(10 * SURELY)

            assert env.nominated() == []

    async def test_a_cluster_that_answers_is_asked_and_no_lease_counts(self, env):
        """Only the agent is silent: what the worker has, it has."""
        renew(env)
        env.workload(pod_annotations=asks_for("fence"))

        async with env.beating():
            await env.connected()
            env.copy("c1", admitted=True)
            await lose(env)
            env.workers["c1"].heal()
            await advance(10 * SURELY)

            assert env.nominated() == []
            assert PASSED not in env.api.get(Lease, LEASE, "c1").metadata.annotations

    async def test_while_nothing_changes_it_is_quiet(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("wait"))

        async with env.beating():
            await env.connected()
            await lose(env)
            await advance(60)
            env.api.writes.clear()
            await advance(300)

            assert env.writes == []


@DATED
@pytest.mark.usefixtures("two_workers")
class TestWait:
    async def test_it_waits_for_ever(self, env):
        renew(env)

        async with lost_job(env, "wait"):
            await advance(100_000)

            assert env.nominated() == []
            assert "'wait': until it answers, or `fleetqueue unjoin --force`" in check_message(env)

    async def test_its_agent_has_promised_nothing(self, env):
        renew(env)
        env.workload(pod_annotations=asks_for("wait"))

        async with env.beating():
            await env.connected()

        assert sent_to(env.api.get(kueue.Workload, "job", "team-a")) == {"gpu-c1": ""}

    async def test_it_ends_when_the_cluster_answers_that_it_has_nothing(self, env):
        env.workload(pod_annotations=asks_for("wait"))

        async with env.beating():
            await env.connected()
            await lose(env)
            await advance(3600)
            env.workers["c1"].heal()
            await advance(20)
            assert env.nominated() == []  # pods may be stopping there
            await advance(60)

            assert env.nominated() == ["gpu-c2"]

    async def test_what_a_deleted_workload_has_left_is_waited_for(self, env):
        """Somebody deletes the Workload while its cluster is lost, and Kueue makes another one for the same job."""
        async with lost_job(env, "wait"):
            env.api.remove(kueue.Workload, "job", "team-a")
            await advance(5)
            env.workload(pod_annotations=asks_for("wait"), checks={"mk": "Pending", "ac": "Pending"})
            await advance(3600)
            assert env.nominated() == []
            assert "waits for gpu-c1" in check_message(env)

            env.workers["c1"].heal()
            await advance(80)
            assert env.nominated() == ["gpu-c2"]

    async def test_of_a_job_that_may_run_twice_nothing_is_waited_for_then(self, env):
        async with lost_job(env, "rerun"):
            env.api.remove(kueue.Workload, "job", "team-a")
            await settle()
            env.workload(pod_annotations=asks_for("rerun"))
            await settle()

            assert env.nominated() == ["gpu-c2"]

    async def test_it_ends_when_an_administrator_gives_the_cluster_up(self, env):
        async with lost_job(env, "wait"):
            await advance(600)
            env.api.remove(cluster.ManagedCluster, "c1")
            env.select("c2")
            await advance(600)
            assert env.nominated() == []
            env.api.change(kueue.MultiKueueCluster, "gpu-c1", metadata={"annotations": {GIVEN_UP: "true"}})
            await advance(60)

            assert env.nominated() == ["gpu-c2"]

    async def test_a_cluster_that_left_stays_listed_while_a_job_may_be_there(self, env):
        async with lost_job(env, "wait"):
            env.api.remove(cluster.ManagedCluster, "c1")
            env.select("c2")
            await advance(3600)

            assert "gpu-c1" in env.lists()
            assert "team-a/job may be there and must not run twice" in env.says("Draining").message

    async def test_a_job_that_waits_for_quota_keeps_it_listed_too(self, env):
        queue = kueue.ClusterQueue.manifest("queue", annotations=asks_for("wait"), spec={})
        env.api.add(queue, kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "queue"}))
        env.workload()

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            await lose(env, quota=False)
            env.api.remove(cluster.ManagedCluster, "c1")
            env.select("c2")
            await advance(3600)

            assert "gpu-c1" in env.lists()

    async def test_after_a_restart_it_is_known_where_it_was(self, env):
        """Another cluster that is silent, on which it never was, keeps it from nothing."""
        env.workload(pod_annotations=asks_for("wait"))
        env.api.change(kueue.Workload, "job", "team-a", metadata={"annotations": {SENT_TO: '{"gpu-c1":""}'}})
        env.change_workload(evicted=False)
        env.workers["c2"].cut()

        async with env.beating():
            await env.connected()
            await advance(60)

            assert env.nominated() != []


@DATED
class TestOtherDispatcher:
    @pytest.fixture(autouse=True)
    async def others_dispatcher(self, env):
        env.fleet("c1", "c2", dispatcher=kueue.ALL_AT_ONCE)
        env.placement("gpu", "c1", "c2")
        env.check()
        for name in ("c1", "c2"):
            env.api.namespace(name)
            renew(env, name)

    @pytest.mark.parametrize("policy", ["wait", "fence"])
    async def test_it_does_not_start_elsewhere_what_may_run(self, env, policy):
        env.workload(pod_annotations=asks_for(policy))

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            await lose(env)
            await advance(10 * SURELY)

            assert env.state("ac") == "Pending"
            assert "waits for gpu-c1" in check_message(env)
            env.workers["c1"].heal()
            await advance(20)
            assert env.state("ac") == "Ready"

    async def test_fence_is_wait_and_says_so(self, env):
        env.workload(pod_annotations=asks_for("fence"), checks={"mk": "Pending", "ac": "Pending"})

        async with env.beating():
            await env.connected()
            await advance(5)

            assert env.state("ac") == "Ready"
            assert (fenced(env).status, fenced(env).reason) == ("False", "OtherDispatcher")

    async def test_rerun_is_not_waited_for(self, env):
        env.workload()

        async with env.beating(lost_timeout=5.0):
            await env.connected()
            await lose(env)
            await advance(60)

            assert env.state("ac") == "Ready"
            assert fenced(env) is None


@DATED
@pytest.mark.usefixtures("two_workers")
class TestOneAtATime:
    """Of several nominated clusters Kueue takes the next one when it loses the first, and asks nobody."""

    async def test_where_it_is_not_admitted_it_is_taken_back_first(self, env):
        env.workload(pod_annotations=asks_for("wait"))
        env.copy("c1")

        async with env.beating(nomination_timeout=60.0):
            await env.connected()
            assert env.nominated() == ["gpu-c1"]
            await advance(70)

            assert env.nominated() == ["gpu-c1"]
            assert env.state("ac") == "Retry"
            assert env.events("TakenBack") == ["taken back from gpu-c1, where it was not admitted; gpu-c2 is next"]
            env.remove_copy("c1")
            env.change_workload(evicted=False, checks={"mk": "Pending", "ac": "Pending"})
            await advance(60)

            assert env.nominated() == ["gpu-c2"]

    async def test_the_one_that_was_tried_longest_ago_is_next(self, env):
        env.workload(pod_annotations=asks_for("wait"))
        seen = []

        async with env.beating(nomination_timeout=60.0):
            await env.connected()
            for _ in range(4):
                seen += env.nominated()
                (name,) = [member.removeprefix("gpu-") for member in env.nominated()]
                env.copy(name)
                await advance(70)
                env.remove_copy(name)
                env.change_workload(evicted=False, checks={"mk": "Pending", "ac": "Pending"})
                await advance(60)

            assert seen == ["gpu-c1", "gpu-c2", "gpu-c1", "gpu-c2"]

    async def test_a_cluster_that_has_admitted_it_keeps_it(self, env):
        env.workload(pod_annotations=asks_for("wait"))
        env.copy("c1", admitted=True)

        async with env.beating(nomination_timeout=60.0):
            await env.connected()
            await advance(600)

            assert env.nominated() == ["gpu-c1"]
            assert env.state("ac") == "Ready"

    async def test_without_a_check_of_ours_it_stays(self, env):
        env.workload(pod_annotations=asks_for("wait"), checks={"mk": "Pending"})
        env.copy("c1")

        async with env.beating(nomination_timeout=60.0):
            await env.connected()
            await advance(600)

            assert env.nominated() == ["gpu-c1"]
            assert any("stays on gpu-c1" in note for note in env.events("WaitingForCluster"))

    async def test_of_a_config_that_is_not_ours_one_is_nominated_too(self, env):
        env.multikueue_check("by-hand", "hand-made")
        for name in ("c1", "c2"):
            source = {"kubeConfig": {"location": f"kueue-admin-{name}-kubeconfig", "locationType": "Secret"}}
            env.api.add(kueue.MultiKueueCluster.manifest(name, spec={"clusterSource": source}))
        env.api.add(kueue.MultiKueueConfig.manifest("hand-made", spec={"clusters": ["c1", "c2"]}))
        env.workload("careful", pod_annotations=asks_for("wait"), checks={"by-hand": "Pending"})
        env.workload("other", checks={"by-hand": "Pending"})

        async with env.beating():
            await env.connected()

            assert len(env.nominated("careful")) == 1
            assert env.nominated("other") == ["c1", "c2"]

    async def test_behind_a_cluster_of_somebody_elses_is_the_agent_whose_secret_it_uses(self, env):
        renew(env)
        env.multikueue_check("by-hand", "hand-made")
        env.api.change(
            core.Secret,
            "kueue-admin-c1-kubeconfig",
            "kueue-system",
            metadata={"labels": {"app.kubernetes.io/managed-by": "fleetqueue", "fleetqueue.dev/cluster": "c1"}},
        )
        source = {"kubeConfig": {"location": "kueue-admin-c1-kubeconfig", "locationType": "Secret"}}
        env.api.add(kueue.MultiKueueCluster.manifest("mine", spec={"clusterSource": source}))
        env.api.add(kueue.MultiKueueConfig.manifest("hand-made", spec={"clusters": ["mine"]}))
        env.workload(pod_annotations=asks_for("fence"), checks={"by-hand": "Pending"})

        async with env.beating():
            await env.connected()

            trusted = env.api.get(Lease, LEASE, "c1").uid
            assert sent_to(env.api.get(kueue.Workload, "job", "team-a")) == {"mine": trusted}


@DATED
@pytest.mark.usefixtures("two_workers")
async def test_rerun_is_as_kueue_does_and_notes_nothing(env):
    renew(env)
    env.workload()

    async with env.beating(lost_timeout=300.0):
        await env.connected()
        await lose(env)
        await advance(400)

        assert env.nominated() == ["gpu-c2"]
        assert RECORD not in env.writes
        assert PASSED not in env.api.get(Lease, LEASE, "c1").metadata.annotations


@DATED
@pytest.mark.usefixtures("two_workers")
async def test_a_policy_that_nobody_knows_is_taken_with_care_and_said(env):
    env.workload(pod_annotations=asks_for("retry"))

    async with env.beating(lost_timeout=5.0):
        await env.connected()
        await lose(env)
        await advance(3600)

        assert env.nominated() == []
        assert "is 'retry', which is none of rerun, wait, fence" in check_message(env)
        assert len(env.events("UnknownPolicy")) == 1


@DATED
@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize(
    ("of_queue", "of_job", "goes_on"),
    [
        pytest.param("wait", "", False, id="the queue's"),
        pytest.param("wait", "rerun", True, id="the job's wins"),
        pytest.param("rerun", "wait", False, id="also the other way round"),
    ],
)
async def test_who_decides(env, of_queue, of_job, goes_on):
    env.api.add(kueue.ClusterQueue.manifest("queue", annotations=asks_for(of_queue), spec={}))
    env.workload(pod_annotations=asks_for(of_job) if of_job else None)

    async with env.beating(lost_timeout=5.0):
        await env.connected()
        await lose(env)
        await advance(600)

        assert (env.nominated() == ["gpu-c2"]) is goes_on
