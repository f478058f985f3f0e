"""Nominations on real Kueue: before and after the winner is recorded, beside hand-written configs, and in the best
order."""

import asyncio
from collections import Counter

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.controllers.placement_admission.nomination_apply import nomination
from tests.real.engine_versions import has_kueue

from .own_scores import prefer_scores, set_score


async def managers(env, job):
    workload = await env.workload(job)
    raw = await env.hub.get(kueue.Workload.resource, workload.name, env.name)
    return {
        entry["manager"]: entry["fieldsV1"].get("f:status", {})
        for entry in raw["metadata"]["managedFields"]
        if entry.get("subresource") == "status" and entry["operation"] == "Apply"
    }


async def test_kueue_records_the_winner_and_drops_the_nomination(env):
    async with env.heart():
        await env.submit("job")
        name = await env.running_on("job")

    workload = await env.workload("job")
    states = {state.name: state for state in workload.status.admission_checks}
    assert workload.status.cluster_name == f"{env.name}-{name}"
    assert workload.status.nominated_cluster_names == ()
    how = "was admitted" if has_kueue("0.19") else "got reservation"
    assert states[f"{env.name}-mk"].message == f'The workload {how} on "{env.name}-{name}"'
    assert states[env.name].message == f"placement {env.name} selects 3 clusters"
    assert "f:nominatedClusterNames" not in (await managers(env, "job"))[kueue.ADMISSION_MANAGER]


async def test_a_nomination_that_comes_after_the_winner_changes_nothing(env):
    async with env.heart() as heart:
        await env.submit("job")
        await env.running_on("job")
        stale = await env.workload("job")
        before = stale.metadata.resource_version

        with pytest.raises(errors.Conflict):
            await heart.room.dispatcher._nominate(stale, await env.config(), [f"{env.name}-cluster3"], "")

        assert (await env.workload("job")).status.nominated_cluster_names == ()
        assert (await env.workload("job")).metadata.resource_version == before or env.witness.doubles == []


async def test_a_nomination_from_a_stale_view_is_refused(env):
    async with env.heart() as heart:
        await env.submit("job")
        await env.running_on("job")
        live = await env.workload("job")
        raw = await env.hub.get(kueue.Workload.resource, live.name, env.name)
        raw["metadata"]["resourceVersion"] = "1"

        with pytest.raises(errors.Conflict):
            await heart.hub.client.apply(
                kueue.Workload.resource,
                nomination(raw, [f"{env.name}-cluster3"]),
                subresource="status",
                manager=kueue.ADMISSION_MANAGER,
            )


async def test_the_best_score_is_nominated_first_and_a_job_may_narrow_the_choice(env):
    await prefer_scores(env)
    for name, value in (("cluster1", -100), ("cluster2", -70), ("cluster3", -80)):
        await set_score(env, name, value)
    async with env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")

        await env.submit("best")
        await env.submit("narrow", annotations={ALLOWED_CLUSTERS: "cluster1"})

        assert await env.running_on("best") == "cluster2"
        assert await env.running_on("narrow") == "cluster1"


async def test_twenty_jobs_do_not_chase_one_free_gpu(env):
    await prefer_scores(env)
    for name, value in (("cluster1", -90), ("cluster2", 50), ("cluster3", -100)):
        await set_score(env, name, value)
    for raw in (await env.workers["cluster2"].list(kueue.ClusterQueue.resource)).items:
        if raw["metadata"]["name"] == env.name:
            groups = raw["spec"]["resourceGroups"]
            groups[0]["flavors"][0]["resources"][1]["nominalQuota"] = 1
            await env.workers["cluster2"].merge(
                kueue.ClusterQueue.resource, env.name, "", {"spec": {"resourceGroups": groups}}
            )
    async with env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(env.submit(f"job{n}") for n in range(20)))
        where = await asyncio.gather(*(env.running_on(f"job{n}") for n in range(20)))

    assert where.count("cluster2") == 1
    assert where.count("cluster1") + where.count("cluster3") == 19


async def test_a_burst_is_divided_equally_among_equal_workers(env):
    async with env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(env.submit(f"job{n}") for n in range(9)))
        where = await asyncio.gather(*(env.running_on(f"job{n}") for n in range(9)))

    assert Counter(where) == {"cluster1": 3, "cluster2": 3, "cluster3": 3}


async def test_a_worker_whose_queue_is_stopped_gets_no_job(env):
    for name in ("cluster1", "cluster2"):
        stopped = {"spec": {"stopPolicy": "Hold"}}
        await env.workers[name].merge(kueue.ClusterQueue.resource, env.name, "", stopped)
    async with env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(env.submit(f"job{n}") for n in range(3)))
        where = await asyncio.gather(*(env.running_on(f"job{n}") for n in range(3)))

    assert set(where) == {"cluster3"}


async def test_a_further_cluster_is_nominated_after_the_deadline(env):
    await env.admit_nothing("cluster1")
    async with env.heart(nomination_timeout=2.0):
        await env.connected("cluster1", "cluster2", "cluster3")
        await env.submit("job", annotations={ALLOWED_CLUSTERS: "cluster1,cluster2"})

        assert await env.running_on("job") == "cluster2"


async def test_a_job_that_no_quota_holds_is_told_so(env):
    async with env.heart():
        await env.connected("cluster1", "cluster2", "cluster3")
        await env.submit("job", gpus=64)

        async def told():
            workload = await env.workload("job")
            page = await env.hub.list(Event.resource, env.name, fields="reason=NoClusterToNominate")
            notes = [event["note"] for event in page.items]
            state = workload.check(env.name) if workload else None
            return notes[0] if notes and state and state.message == f"waiting: {notes[0]}" else ""

        note = await env.eventually(told, "an Event and the check say why")

    assert (await env.workload("job")).clusters == ()
    each = [f"{env.name}-cluster{n}: has 20 nvidia.com/gpu, and the job needs 64" for n in (1, 2, 3)]
    assert note == "; ".join(["no selected cluster's quota holds this job", *each])


async def test_a_hand_written_config_beside_ours_is_served_all_at_once(env):
    members = []
    for name in ("cluster1", "cluster2"):
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        members.append(f"{env.name}-own-{name}")
        manifest = kueue.MultiKueueCluster.manifest(members[-1], spec={"clusterSource": source})
        await env.hub.create(kueue.MultiKueueCluster.resource, manifest)
    own = kueue.MultiKueueConfig.manifest(f"{env.name}-own", spec={"clusters": members})
    written = await env.hub.create(kueue.MultiKueueConfig.resource, own)
    parameters = {"parameters": {"name": f"{env.name}-own"}}
    await env.hub.merge(kueue.AdmissionCheck.resource, f"{env.name}-mk", "", {"spec": parameters})
    async with env.heart():
        await env.submit("job")
        workload = await running(env, "job")

    assert workload.status.cluster_name in members
    after = await env.hub.get(kueue.MultiKueueConfig.resource, f"{env.name}-own")
    assert after["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    await env.hub.delete(kueue.MultiKueueConfig.resource, f"{env.name}-own")


async def running(env, job):
    async def admitted():
        workload = await env.workload(job)
        return workload if workload and workload.is_true(kueue.ADMITTED) else None

    return await env.eventually(admitted, f"{job} is admitted")


async def test_an_evicted_workload_gets_ready_again(env):
    async with env.heart():
        await env.submit("job")
        await env.counts_its_pod("job")
        await env.set_active("job", False)
        await env.eventually(lambda: has_left(env, "job"), "the job is evicted, and its copy is gone")
        await env.set_active("job", True)

        assert await env.running_on("job")


async def test_a_job_whose_eviction_got_stuck_without_us_is_freed_when_we_come(env):
    """Kueue removes the copy before the hub has seen the job stop, and then waits for that for ever."""
    async with env.heart():
        await env.submit("job")
        await env.counts_its_pod("job")
    await env.set_active("job", False)
    await env.eventually(lambda: has_no_copy(env, "job"), "Kueue has removed the copy")
    await asyncio.sleep(10)  # the absence of an event has no event to wait for
    assert (await env.workload("job")).is_leaving

    async with env.heart():
        await env.eventually(lambda: has_left(env, "job"), "the quota is free")
        await env.set_active("job", True)

        assert await env.running_on("job")


async def has_no_copy(env, job):
    return not any([await env.workload(job, client) for client in env.workers.values()])


async def has_left(env, job):
    return not (await env.workload(job)).is_true(kueue.QUOTA_RESERVED) and await has_no_copy(env, job)


async def test_a_missing_other_check_keeps_it_waiting(env):
    other = kueue.AdmissionCheck.manifest(f"{env.name}-other", spec={"controllerName": "example.com/other"})
    await env.hub.create(kueue.AdmissionCheck.resource, other)
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await env.hub.merge(
        kueue.AdmissionCheck.resource,
        f"{env.name}-other",
        "",
        {"status": {"conditions": [active]}},
        subresource="status",
    )
    names = [f"{env.name}-mk", env.name, f"{env.name}-other"]
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"spec": strategy})
    async with env.heart():
        await env.submit("job")

        async def answered():
            workload = await env.workload("job")
            ours = workload.check(env.name) if workload else None
            return ours is not None and ours.state == kueue.READY

        await env.eventually(answered, "our check is Ready")
        await asyncio.sleep(2)

        assert (await env.workload("job")).status.nominated_cluster_names == ()
