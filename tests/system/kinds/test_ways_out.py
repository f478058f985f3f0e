"""What docs/en/reference/job-kinds.md tells users to do with jobs that were sent, and what else comes of changes."""

from dataclasses import replace

import pytest

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import advance
from tests.job_kinds import JOB, POD_GROUP, STATEFUL_SET

from .arranging import LONG
from .worlds import told

pytestmark = pytest.mark.timeout(600)
A_MINUTE = 60
WIDE_JOB = replace(JOB, spec={**JOB.spec, "parallelism": 2, "completions": 4})


async def run(trial, kind):
    await trial.begin()
    await trial.submit(kind, kind.manifests(LONG))
    await trial.has_one_copy(kind)


async def change(trial, kind, spec, **more):
    await trial.hub.merge(kind.resource, kind.name, LONG, {"spec": spec}, **more)
    await advance(A_MINUTE)


async def scale(trial, replicas):
    await change(trial, STATEFUL_SET, {"replicas": replicas}, subresource="scale")


async def delete_workload(trial, kind):
    for workload in await trial.workloads(kind, LONG):
        await trial.hub.delete(kueue.Workload.resource, workload.name, LONG)
    await advance(A_MINUTE)


async def pods_there(trial, kind):
    """Return the pods on the worker by name, and whether they run."""
    found = await trial.pods(trial.workers[trial.where[kind]], kind, LONG)
    return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in found}


async def copies_there(trial, kind):
    found = await trial.objects(trial.workers[trial.where[kind]], kind, LONG)
    return {raw["metadata"]["uid"] for raw in found}


def running(*names):
    return dict.fromkeys(names, "Running")


def test_a_set_has_another_number_when_it_is_scaled_to_none_and_up_without_its_workload():
    async def story(trial):
        await run(trial, STATEFUL_SET)
        with pytest.raises(errors.Forbidden, match="replicas"):
            await change(trial, STATEFUL_SET, {"replicas": 3})
        await scale(trial, 3)
        past_the_webhook = await pods_there(trial, STATEFUL_SET)

        await scale(trial, 0)
        at_none = [await trial.is_gone(STATEFUL_SET, LONG), await trial.pods(trial.hub, STATEFUL_SET, LONG)]
        await delete_workload(trial, STATEFUL_SET)
        await scale(trial, 3)
        await trial.has_one_copy(STATEFUL_SET)

        assert past_the_webhook == running("statefulset-0", "statefulset-1")
        assert at_none == [True, []]
        assert await pods_there(trial, STATEFUL_SET) == running("statefulset-0", "statefulset-1", "statefulset-2")

    told(story, workers=1)


def test_a_set_with_another_number_whose_workload_stays_runs_nowhere():
    async def story(trial):
        await run(trial, STATEFUL_SET)

        await scale(trial, 0)
        await scale(trial, 3)

        (workload,) = await trial.workloads(STATEFUL_SET, LONG)
        ends = [one.reason for one in workload.status.conditions if one.type == kueue.FINISHED]
        assert ends == ["OutOfSync"]
        assert await trial.is_gone(STATEFUL_SET, LONG)
        assert not await trial.place(STATEFUL_SET, LONG)

    told(story, workers=1)


def test_a_job_whose_parallelism_is_changed_while_the_hub_counts_its_pods_goes_on_with_its_former_one():
    async def story(trial):
        await run(trial, WIDE_JOB)
        await trial.status_is_back(WIDE_JOB)
        before = await copies_there(trial, WIDE_JOB)

        await change(trial, WIDE_JOB, {"parallelism": 3})

        assert await copies_there(trial, WIDE_JOB) == before
        assert len(await pods_there(trial, WIDE_JOB)) == 2

    told(story, workers=1)


def test_a_job_whose_parallelism_is_changed_before_the_hub_counts_its_pods_is_sent_anew_with_the_new_one():
    async def story(trial):
        await run(trial, WIDE_JOB)
        before = await copies_there(trial, WIDE_JOB)

        await change(trial, WIDE_JOB, {"parallelism": 3})

        assert not before & await copies_there(trial, WIDE_JOB)
        assert await trial.place(WIDE_JOB, LONG) == trial.where[WIDE_JOB]
        assert len(await pods_there(trial, WIDE_JOB)) == 3

    told(story, workers=1)


def test_pods_of_a_group_that_are_deleted_on_the_hub_run_on_until_their_workload_is_deleted():
    async def story(trial):
        await run(trial, POD_GROUP)
        before = await pods_there(trial, POD_GROUP)

        for name in POD_GROUP.names:
            await trial.hub.delete(POD_GROUP.resource, name, LONG)
        await advance(A_MINUTE)
        after_deletion = await pods_there(trial, POD_GROUP)
        here = [raw["metadata"]["name"] for raw in await trial.objects(trial.hub, POD_GROUP, LONG)]
        await delete_workload(trial, POD_GROUP)

        assert after_deletion == before == running(*POD_GROUP.names)
        assert sorted(here) == sorted(POD_GROUP.names)
        assert await trial.is_gone(POD_GROUP, LONG)
        assert await trial.objects(trial.hub, POD_GROUP, LONG) == []

    told(story, workers=1)
