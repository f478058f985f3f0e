"""Controller processes with the shipped roles: two replicas, a killed leader, an upgrade, and the way out."""

from fleetqueue.api import kueue_v1beta2 as kueue

ALL = {"cluster1", "cluster2", "cluster3"}
FAST = {
    "placement_admission.drain_poll": 0.5,
    "placement_admission.linger": 0.5,
}


async def test_a_killed_leader_is_replaced_by_the_other_replica_in_the_middle_of_a_drain(stage):
    first, second = await stage.replica("a", **FAST), await stage.replica("b", **FAST)
    try:
        await stage.lists(*ALL)
        leader = first if "manager: working" in first.log.read_text() else second
        await stage.submit("job", run_for="20s")
        place = await stage.running_on("job")
        await stage.select(*(ALL - {place}))
        await stage.says("Draining", "True")

        await leader.stop(kill=True)
        await (second if leader is first else first).works()
        await stage.submit("new", run_for="1s")
        await stage.finished("new")
        await stage.finished("job")
        await stage.lists(*(ALL - {place}))

        assert stage.witness.doubles == []
    finally:
        await first.stop()
        await second.stop()


async def test_an_upgrade_hands_over_at_once_and_running_jobs_do_not_notice(stage):
    old = await stage.replica("old", **FAST)
    await old.works()
    await stage.submit("job", run_for="10s")
    place = await stage.running_on("job")
    workload = await stage.workload("job")

    new = await stage.replica("new", **FAST)
    try:
        assert await old.stop() == 0
        await new.works()
        await stage.submit("next", run_for="1s")
        await stage.finished("next")
        await stage.finished("job")

        after = await stage.workload("job")
        assert after.uid == workload.uid
        assert after.status.cluster_name == f"{stage.name}-{place}"
        assert [c.type for c in after.status.conditions if c.type == kueue.EVICTED] == []
    finally:
        await new.stop()
