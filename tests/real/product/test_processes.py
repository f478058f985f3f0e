"""Controller processes with the shipped roles: two replicas, a killed leader, an upgrade, and the way out."""

from fleetqueue.api import kueue_v1beta2 as kueue

ALL = {"cluster1", "cluster2", "cluster3"}
FAST = {
    "placement_admission.drain_poll": 0.5,
    "placement_admission.linger": 0.5,
}


async def test_a_killed_leader_is_replaced_by_the_other_replica_in_the_middle_of_a_drain(env):
    first, second = await env.replica("a", **FAST), await env.replica("b", **FAST)
    try:
        await env.lists(*ALL)
        leader = first if "manager: working" in first.log.read_text() else second
        await env.submit("job", run_for="20s")
        place = await env.running_on("job")
        await env.select(*(ALL - {place}))
        await env.says("Draining", "True")

        await leader.stop(kill=True)
        await (second if leader is first else first).works()
        await env.submit("new", run_for="1s")
        await env.finished("new")
        await env.finished("job")
        await env.lists(*(ALL - {place}))

        assert env.witness.doubles == []
    finally:
        await first.stop()
        await second.stop()


async def test_an_upgrade_hands_over_at_once_and_running_jobs_do_not_notice(env):
    old = await env.replica("old", **FAST)
    await old.works()
    await env.submit("job", run_for="10s")
    place = await env.running_on("job")
    workload = await env.workload("job")

    new = await env.replica("new", **FAST)
    try:
        assert await old.stop() == 0
        await new.works()
        await env.submit("next", run_for="1s")
        await env.finished("next")
        await env.finished("job")

        after = await env.workload("job")
        assert after.uid == workload.uid
        assert after.status.cluster_name == f"{env.name}-{place}"
        assert [c.type for c in after.status.conditions if c.type == kueue.EVICTED] == []
    finally:
        await new.stop()
