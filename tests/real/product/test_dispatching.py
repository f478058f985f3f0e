"""Nominations on real Kueue: before and after the winner is recorded, beside hand-written configs, and in the best
order."""

import asyncio
from collections import Counter

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import AddOnPlacementScore, Placement
from fleetqueue.api.events_v1 import Event
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.controllers.placement_admission.nomination_apply import nomination
from tests.real.engine_versions import has_kueue


async def set_score(stage, name, value):
    manifest = AddOnPlacementScore.manifest(f"{stage.name}-score", name)
    await stage.world.ensure(stage.hub, manifest, AddOnPlacementScore)
    status = {"status": {"scores": [{"name": "gpuClusterAvailable", "value": value}]}}
    await stage.hub.merge(AddOnPlacementScore.resource, f"{stage.name}-score", name, status, subresource="status")


async def prefer_scores(stage):
    add_on = {"resourceName": f"{stage.name}-score", "scoreName": "gpuClusterAvailable"}
    policy = {
        "mode": "Exact",
        "configurations": [{"scoreCoordinate": {"type": "AddOn", "addOn": add_on}, "weight": 1}],
    }
    patch = {"spec": {"prioritizerPolicy": policy}}
    await stage.hub.merge(Placement.resource, stage.name, "kueue-system", patch)


async def managers(stage, job):
    workload = await stage.workload(job)
    raw = await stage.hub.get(kueue.Workload.resource, workload.name, stage.name)
    return {
        entry["manager"]: entry["fieldsV1"].get("f:status", {})
        for entry in raw["metadata"]["managedFields"]
        if entry.get("subresource") == "status" and entry["operation"] == "Apply"
    }


async def test_kueue_records_the_winner_and_drops_the_nomination(stage):
    async with stage.heart():
        await stage.submit("job")
        name = await stage.running_on("job")

    workload = await stage.workload("job")
    states = {state.name: state for state in workload.status.admission_checks}
    assert workload.status.cluster_name == f"{stage.name}-{name}"
    assert workload.status.nominated_cluster_names == ()
    how = "was admitted" if has_kueue("0.19") else "got reservation"
    assert states[f"{stage.name}-mk"].message == f'The workload {how} on "{stage.name}-{name}"'
    assert states[stage.name].message == f"placement {stage.name} selects 3 clusters"
    assert "f:nominatedClusterNames" not in (await managers(stage, "job"))[kueue.ADMISSION_MANAGER]


async def test_a_nomination_that_comes_after_the_winner_changes_nothing(stage):
    async with stage.heart() as heart:
        await stage.submit("job")
        await stage.running_on("job")
        stale = await stage.workload("job")
        before = stale.metadata.resource_version

        with pytest.raises(errors.Conflict):
            await heart.room.dispatcher._nominate(stale, [f"{stage.name}-cluster3"], "")

        assert (await stage.workload("job")).status.nominated_cluster_names == ()
        assert (await stage.workload("job")).metadata.resource_version == before or stage.witness.doubles == []


async def test_a_nomination_from_a_stale_view_is_refused(stage):
    async with stage.heart() as heart:
        await stage.submit("job")
        await stage.running_on("job")
        live = await stage.workload("job")
        raw = await stage.hub.get(kueue.Workload.resource, live.name, stage.name)
        raw["metadata"]["resourceVersion"] = "1"

        with pytest.raises(errors.Conflict):
            await heart.hub.client.apply(
                kueue.Workload.resource,
                nomination(raw, [f"{stage.name}-cluster3"]),
                subresource="status",
                manager=kueue.ADMISSION_MANAGER,
            )


async def test_the_best_score_is_nominated_first_and_a_job_may_narrow_the_choice(stage):
    await prefer_scores(stage)
    for name, value in (("cluster1", -100), ("cluster2", -70), ("cluster3", -80)):
        await set_score(stage, name, value)
    async with stage.heart():
        await stage.connected("cluster1", "cluster2", "cluster3")

        await stage.submit("best")
        await stage.submit("narrow", annotations={ALLOWED_CLUSTERS: "cluster1"})

        assert await stage.running_on("best") == "cluster2"
        assert await stage.running_on("narrow") == "cluster1"


async def test_twenty_jobs_do_not_chase_one_free_gpu(stage):
    await prefer_scores(stage)
    for name, value in (("cluster1", -90), ("cluster2", 50), ("cluster3", -100)):
        await set_score(stage, name, value)
    for raw in (await stage.workers["cluster2"].list(kueue.ClusterQueue.resource)).items:
        if raw["metadata"]["name"] == stage.name:
            groups = raw["spec"]["resourceGroups"]
            groups[0]["flavors"][0]["resources"][1]["nominalQuota"] = 1
            await stage.workers["cluster2"].merge(
                kueue.ClusterQueue.resource, stage.name, "", {"spec": {"resourceGroups": groups}}
            )
    async with stage.heart():
        await stage.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(stage.submit(f"job{n}") for n in range(20)))
        where = await asyncio.gather(*(stage.running_on(f"job{n}") for n in range(20)))

    assert where.count("cluster2") == 1
    assert where.count("cluster1") + where.count("cluster3") == 19


async def test_a_burst_is_divided_equally_among_equal_workers(stage):
    async with stage.heart():
        await stage.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(stage.submit(f"job{n}") for n in range(9)))
        where = await asyncio.gather(*(stage.running_on(f"job{n}") for n in range(9)))

    assert Counter(where) == {"cluster1": 3, "cluster2": 3, "cluster3": 3}


async def test_a_worker_whose_queue_is_stopped_gets_no_job(stage):
    for name in ("cluster1", "cluster2"):
        stopped = {"spec": {"stopPolicy": "Hold"}}
        await stage.workers[name].merge(kueue.ClusterQueue.resource, stage.name, "", stopped)
    async with stage.heart():
        await stage.connected("cluster1", "cluster2", "cluster3")
        await asyncio.gather(*(stage.submit(f"job{n}") for n in range(3)))
        where = await asyncio.gather(*(stage.running_on(f"job{n}") for n in range(3)))

    assert set(where) == {"cluster3"}


async def test_a_further_cluster_is_nominated_after_the_deadline(stage):
    await stage.admit_nothing("cluster1")
    async with stage.heart(nomination_timeout=2.0):
        await stage.connected("cluster1", "cluster2", "cluster3")
        await stage.submit("job", annotations={ALLOWED_CLUSTERS: "cluster1,cluster2"})

        assert await stage.running_on("job") == "cluster2"


async def test_a_job_that_no_quota_holds_is_told_so(stage):
    async with stage.heart():
        await stage.connected("cluster1", "cluster2", "cluster3")
        await stage.submit("job", gpus=64)

        async def told():
            workload = await stage.workload("job")
            page = await stage.hub.list(Event.resource, stage.name, fields="reason=NoClusterToNominate")
            notes = [event["note"] for event in page.items]
            state = workload.check(stage.name) if workload else None
            return notes[0] if notes and state and state.message == f"waiting: {notes[0]}" else ""

        note = await stage.eventually(told, "an Event and the check say why")

    assert (await stage.workload("job")).clusters == ()
    each = [f"{stage.name}-cluster{n}: has 20 nvidia.com/gpu, and the job needs 64" for n in (1, 2, 3)]
    assert note == "; ".join(["no selected cluster's quota holds this job", *each])


async def test_a_hand_written_config_beside_ours_is_served_all_at_once(stage):
    members = []
    for name in ("cluster1", "cluster2"):
        source = {"kubeConfig": {"locationType": "Secret", "location": f"kueue-admin-{name}-kubeconfig"}}
        members.append(f"{stage.name}-own-{name}")
        manifest = kueue.MultiKueueCluster.manifest(members[-1], spec={"clusterSource": source})
        await stage.hub.create(kueue.MultiKueueCluster.resource, manifest)
    own = kueue.MultiKueueConfig.manifest(f"{stage.name}-own", spec={"clusters": members})
    written = await stage.hub.create(kueue.MultiKueueConfig.resource, own)
    parameters = {"parameters": {"name": f"{stage.name}-own"}}
    await stage.hub.merge(kueue.AdmissionCheck.resource, f"{stage.name}-mk", "", {"spec": parameters})
    async with stage.heart():
        await stage.submit("job")
        workload = await running(stage, "job")

    assert workload.status.cluster_name in members
    after = await stage.hub.get(kueue.MultiKueueConfig.resource, f"{stage.name}-own")
    assert after["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]
    await stage.hub.delete(kueue.MultiKueueConfig.resource, f"{stage.name}-own")


async def running(stage, job):
    async def admitted():
        workload = await stage.workload(job)
        return workload if workload and workload.is_true(kueue.ADMITTED) else None

    return await stage.eventually(admitted, f"{job} is admitted")


async def test_an_evicted_workload_gets_ready_again(stage):
    async with stage.heart():
        await stage.submit("job")
        await stage.counts_its_pod("job")
        await stage.set_active("job", False)
        await stage.eventually(lambda: has_left(stage, "job"), "the job is evicted, and its copy is gone")
        await stage.set_active("job", True)

        assert await stage.running_on("job")


async def test_a_job_whose_eviction_got_stuck_without_us_is_freed_when_we_come(stage):
    """Kueue removes the copy before the hub has seen the job stop, and then waits for that for ever."""
    async with stage.heart():
        await stage.submit("job")
        await stage.counts_its_pod("job")
    await stage.set_active("job", False)
    await stage.eventually(lambda: has_no_copy(stage, "job"), "Kueue has removed the copy")
    await asyncio.sleep(10)  # the absence of an event has no event to wait for
    assert (await stage.workload("job")).is_leaving

    async with stage.heart():
        await stage.eventually(lambda: has_left(stage, "job"), "the quota is free")
        await stage.set_active("job", True)

        assert await stage.running_on("job")


async def has_no_copy(stage, job):
    return not any([await stage.workload(job, client) for client in stage.workers.values()])


async def has_left(stage, job):
    return not (await stage.workload(job)).is_true(kueue.QUOTA_RESERVED) and await has_no_copy(stage, job)


async def test_a_missing_other_check_keeps_it_waiting(stage):
    other = kueue.AdmissionCheck.manifest(f"{stage.name}-other", spec={"controllerName": "example.com/other"})
    await stage.hub.create(kueue.AdmissionCheck.resource, other)
    active = {
        "type": "Active",
        "status": "True",
        "reason": "Active",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    await stage.hub.merge(
        kueue.AdmissionCheck.resource,
        f"{stage.name}-other",
        "",
        {"status": {"conditions": [active]}},
        subresource="status",
    )
    names = [f"{stage.name}-mk", stage.name, f"{stage.name}-other"]
    strategy = {"admissionChecksStrategy": {"admissionChecks": [{"name": name} for name in names]}}
    await stage.hub.merge(kueue.ClusterQueue.resource, stage.name, "", {"spec": strategy})
    async with stage.heart():
        await stage.submit("job")

        async def answered():
            workload = await stage.workload("job")
            ours = workload.check(stage.name) if workload else None
            return ours is not None and ours.state == kueue.READY

        await stage.eventually(answered, "our check is Ready")
        await asyncio.sleep(2)

        assert (await stage.workload("job")).status.nominated_cluster_names == ()
