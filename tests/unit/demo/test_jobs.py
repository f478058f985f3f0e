"""Where a job is: the questions that the stories ask."""

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.demo import jobs
from fleetqueue.testing.virtual_time import settle

from .conftest import ArrangedStory, job, workload

NAME = "job-demo2-jobx-12345"


async def arranged(story: ArrangedStory, copies: dict[str, tuple[str, ...]], *true: str, complete: bool = False) -> Job:
    """Put a job on the hub and copies of its Workload on workers."""
    story.hub.add(job(complete=complete))
    story.hub.add(workload(NAME, owner=story.hub.get(Job, "demo2-jobx", "default"), true=true))
    for worker, conditions in copies.items():
        story.apis[worker].add(workload(NAME, true=conditions))
    await settle()
    found = story.run.hub.get(Job, "demo2-jobx", "default")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("copies", "hub", "worker"),
    [
        pytest.param({}, (), "", id="nowhere yet"),
        pytest.param({"cluster2": (), "cluster3": ()}, (), "", id="offered to two"),
        pytest.param(
            {"cluster2": ("Admitted",), "cluster3": ()}, ("Admitted",), "", id="the other copy is still there"
        ),
        pytest.param({"cluster2": ("Admitted",)}, (), "", id="the hub does not know yet"),
        pytest.param({"cluster2": ()}, ("Admitted",), "", id="the worker has not admitted it"),
        pytest.param({"cluster2": ("Admitted",)}, ("Admitted",), "cluster2", id="on one worker alone"),
    ],
)
async def test_admitted_on(story, copies, hub, worker):
    found = await arranged(story, copies, *hub)

    assert jobs.admitted_on(story.run, found) == worker


@pytest.mark.parametrize(
    ("copies", "hub", "complete", "is_complete"),
    [
        pytest.param({}, ("Finished",), True, True, id="ended, and nothing is left"),
        pytest.param({}, (), True, False, id="its Workload is not finished"),
        pytest.param({}, ("Finished",), False, False, id="the hub's job is not complete"),
        pytest.param({"cluster2": ("Finished",)}, ("Finished",), True, False, id="a copy is left"),
    ],
)
async def test_is_complete(story, copies, hub, complete, is_complete):
    found = await arranged(story, copies, *hub, complete=complete)

    assert jobs.is_complete(story.run, found) is is_complete


async def test_a_copied_job_that_is_left_is_noticed(story):
    story.apis["cluster3"].add(job(suspend=False))

    found = await arranged(story, {}, "Finished", complete=True)

    assert not jobs.is_complete(story.run, found)


async def test_where_tells_what_holds_it_up(story):
    found = await arranged(story, {"cluster2": ()})
    said = {"message": "waiting: no cluster", "lastTransitionTime": "2025-12-31T23:00:00Z"}
    checks = [{"name": "placement-demo2", "state": "Pending", **said}]
    story.hub.change(type(jobs.workload_of(story.run, found)), NAME, "default", status={"admissionChecks": checks})
    await settle()

    told = jobs.where(story.run, found)

    assert "copies on ['cluster2']" in told
    assert "placement-demo2 Pending waiting: no cluster" in told
