"""Jobs run: their pods are made, counted and let go, and the Job says when it is over."""

import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.jobs import JobController
from fleetqueue.embedded.kubernetes.pods import MOST_WAITING
from fleetqueue.testing.virtual_time import advance, running, settle
from fleetqueue.testing.waking import woken

pytestmark = pytest.mark.virtual_time

TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}
STATUS = "PATCH /apis/batch/v1/namespaces/default/jobs/job/status"


@pytest.fixture
def submit(env):
    async def submit(name="job", **spec):
        await env.add(Job, name, spec={"template": TEMPLATE, **spec})
        await settle()

    return submit


@pytest.fixture
def status(env):
    async def status(name="job"):
        return (await env.get(Job, name))["status"]

    return status


@dataclass
class Peak:
    bytes: int = 0


@contextmanager
def peak_memory():
    """Tell how much more memory Python had at once than at the beginning."""
    peak = Peak()
    tracemalloc.start()
    try:
        yield peak
        peak.bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def said(status):
    return [(c["type"], c["status"], c["reason"]) for c in status.get("conditions", ())]


async def names(env):
    return [pod["metadata"]["name"] for pod in await env.pods()]


async def test_a_job_runs_one_pod_and_is_complete_when_it_succeeds(env, submit, status):
    async with env.running(JobController):
        await submit()
        (name,) = await names(env)
        await env.run_pod(name)
        await settle()
        assert await status() == {
            "active": 1,
            "ready": 1,
            "terminating": 0,
            "startTime": "2026-01-01T00:00:00Z",
            "uncountedTerminatedPods": {},
        }

        await advance(5)
        await env.end_pod(name)
        await settle()

        after = await status()
        assert after["succeeded"] == 1
        assert "active" not in after
        assert after["uncountedTerminatedPods"] == {}
        assert after["completionTime"] == "2026-01-01T00:00:05Z"
        assert said(after) == [
            ("SuccessCriteriaMet", "True", "CompletionsReached"),
            ("Complete", "True", "CompletionsReached"),
        ]
        assert after["conditions"][1]["message"] == "Reached expected number of succeeded pods"
        assert await env.events("Completed") == ["Job completed"]
        assert await env.events("SuccessfulCreate") == [f"Created pod: {name}"]
        assert "finalizers" not in (await env.pods())[0]["metadata"]


async def test_a_pod_carries_who_made_it(env, submit):
    async with env.running(JobController):
        await submit()

    (pod,) = await env.pods()
    metadata, job = pod["metadata"], await env.get(Job, "job")
    assert metadata["generateName"] == "job-"
    assert metadata["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    assert metadata["labels"]["batch.kubernetes.io/job-name"] == "job"
    assert metadata["labels"]["batch.kubernetes.io/controller-uid"] == job["metadata"]["uid"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "job",
            "uid": job["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


async def test_never_more_pods_run_than_completions_are_left(env, submit, status):
    async with env.running(JobController):
        await submit(completions=3, parallelism=2)
        first, second = await names(env)
        await env.end_pod(first)
        await settle()
        third = (set(await names(env)) - {first, second}).pop()
        await env.end_pod(second)
        await settle()
        assert (await status())["active"] == 1
        await env.end_pod(third)
        await settle()

        assert (await status())["succeeded"] == 3
        assert len(await names(env)) == 3


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"parallelism": 1_000_000}, id="a work queue"),
        pytest.param({"parallelism": 1_000_000, "completions": 1_000_000}, id="as many completions"),
        pytest.param({"parallelism": 100_000, "completions": 100_000, "completionMode": "Indexed"}, id="indexed"),
    ],
)
async def test_a_huge_job_takes_no_more_memory_than_the_pods_that_may_wait(env, submit, spec):
    async with env.running(JobController):
        with peak_memory() as peak:
            await submit(**spec)
            await advance(600)

    assert len(await names(env)) == MOST_WAITING
    assert peak.bytes < MOST_WAITING * 64 * 1024


async def test_without_completions_the_first_success_decides_and_the_rest_may_end(env, submit, status):
    async with env.running(JobController):
        await submit(parallelism=2)
        first, second = await names(env)
        await env.end_pod(first)
        await settle()
        assert (await status())["active"] == 1
        await env.end_pod(second)
        await settle()

        assert said(await status())[-1][0] == "Complete"
        assert len(await names(env)) == 2


async def test_an_indexed_job_gives_each_pod_its_index(env, submit, status):
    async with env.running(JobController):
        await submit(completions=3, parallelism=3, completionMode="Indexed")
        pods = {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: pod for pod in await env.pods()
        }
        assert sorted(pods) == ["0", "1", "2"]
        assert pods["1"]["spec"]["hostname"] == "job-1"
        assert pods["1"]["metadata"]["name"].startswith("job-1-")
        assert pods["1"]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"

        for index in ("0", "2"):
            await env.end_pod(pods[index]["metadata"]["name"])
        await settle()
        assert (await status())["completedIndexes"] == "0,2"
        await env.end_pod(pods["1"]["metadata"]["name"])
        await settle()

        assert (await status())["completedIndexes"] == "0-2"
        assert said(await status())[-1][0] == "Complete"


async def test_a_failed_pod_is_replaced_after_a_pause_that_doubles(env, submit, status):
    async with env.running(JobController):
        await submit()
        (newest,) = await names(env)
        for pause in (10, 20, 40):
            before = set(await names(env))
            await env.end_pod(newest, "Failed")
            await advance(pause - 1)
            assert set(await names(env)) == before
            await advance(2)
            newest = (set(await names(env)) - before).pop()

        assert (await status())["failed"] == 3


async def test_too_many_failures_end_the_job(env, submit, status):
    async with env.running(JobController):
        await submit(backoffLimit=0)
        await env.end_pod((await names(env))[0], "Failed")
        await settle()

        after = await status()
        assert said(after) == [
            ("FailureTarget", "True", "BackoffLimitExceeded"),
            ("Failed", "True", "BackoffLimitExceeded"),
        ]
        assert after["failed"] == 1
        assert "completionTime" not in after
        assert await env.events("BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]


async def test_a_job_that_fails_takes_its_running_pods_along(env, submit, status):
    async with env.running(JobController):
        await submit(parallelism=2, completions=2, backoffLimit=0)
        first, second = await names(env)
        await env.run_pod(second)
        await settle()
        await env.end_pod(first, "Failed")
        await settle()

        assert await names(env) == [first]  # a pod on no node goes at once
        assert (await status())["failed"] == 2
        assert said(await status())[-1][:2] == ("Failed", "True")


async def test_it_is_failed_only_when_its_last_pod_has_ended(env, submit, status):
    async with env.running(JobController):
        await submit(parallelism=2, completions=2, backoffLimit=0)
        first, second = await names(env)
        await env.place_pod(second, "node")
        await env.end_pod(first, "Failed")
        await settle()
        assert said(await status()) == [("FailureTarget", "True", "BackoffLimitExceeded")]
        assert (await status())["terminating"] == 1

        await env.end_pod(second, "Failed")
        await settle()

        assert said(await status())[-1] == ("Failed", "True", "BackoffLimitExceeded")
        assert (await status())["failed"] == 2


async def test_a_suspended_job_has_no_pods_until_it_is_resumed(env, submit, status):
    async with env.running(JobController):
        await submit(suspend=True)
        assert await names(env) == []
        assert said(await status()) == [("Suspended", "True", "JobSuspended")]
        assert "startTime" not in await status()
        assert await env.events("Suspended") == ["Job suspended"]

        await advance(7)
        await env.change(Job, "job", spec={"suspend": False})
        await settle()
        assert len(await names(env)) == 1
        assert said(await status()) == [("Suspended", "False", "JobResumed")]
        assert (await status())["startTime"] == "2026-01-01T00:00:07Z"
        assert await env.events("Resumed") == ["Job resumed"]

        await env.change(Job, "job", spec={"suspend": True})
        await settle()

        assert await names(env) == []
        assert "failed" not in await status()
        assert "startTime" not in await status()


async def test_a_job_of_another_manager_is_left_alone(env, submit):
    async with env.running(JobController):
        await submit(managedBy="kueue.x-k8s.io/multikueue")

        assert env.writes == []


async def test_a_job_past_its_deadline_fails(env, submit, status):
    async with env.running(JobController):
        await submit(activeDeadlineSeconds=30)
        await advance(29)
        assert said(await status()) == []
        await advance(2)

        assert said(await status())[-1] == ("Failed", "True", "DeadlineExceeded")
        assert await names(env) == []


async def test_a_smaller_job_removes_what_is_cheapest(env, submit, status):
    async with env.running(JobController):
        await submit(parallelism=3, completions=3)
        kept = (await names(env))[1]
        await env.run_pod(kept)
        await settle()
        await env.change(Job, "job", spec={"parallelism": 1})
        await settle()

        assert await names(env) == [kept]
        assert "failed" not in await status()


async def test_a_deleted_pod_counts_as_failed_and_is_replaced(env, submit, status):
    async with env.running(JobController):
        await submit()
        (name,) = await names(env)
        await env.delete(Pod, name)
        await advance(11)

        assert (await status())["failed"] == 1
        assert len(await names(env)) == 1
        assert name not in await names(env)


async def test_a_rule_can_ignore_a_failure(env, submit, status):
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [42]}}
    async with env.running(JobController):
        await submit(backoffLimit=0, podFailurePolicy={"rules": [rule]})
        await env.end_pod((await names(env))[0], "Failed", 42)
        await advance(11)

        assert "failed" not in await status()
        assert len(await names(env)) == 2


async def test_a_rule_can_fail_the_job(env, submit, status):
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    async with env.running(JobController):
        await submit(podFailurePolicy={"rules": [rule]})
        (name,) = await names(env)
        await env.end_pod(name, "Failed", 42)
        await settle()

        last = (await status())["conditions"][-1]
        assert (last["type"], last["reason"]) == ("Failed", "PodFailurePolicy")
        assert last["message"] == (
            f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
        )


async def test_the_pods_of_a_job_that_is_gone_are_let_go(env, submit):
    async with env.running(JobController):
        await submit()
        await env.delete(Job, "job")
        await settle()

        (pod,) = await env.pods()
        assert "finalizers" not in pod["metadata"]


async def test_a_second_look_writes_nothing(env, submit):
    async with env.running(JobController) as (controller,):
        await submit(completions=2, parallelism=2)
        await env.end_pod((await names(env))[0])
        await settle()
        env.writes.clear()
        controller.wake("default/job")
        await settle()

        assert env.writes == []


async def test_a_crash_after_the_note_neither_loses_nor_repeats_a_pod(env, submit, status):
    async with env.running(JobController):
        await submit()
        (name,) = await names(env)
        env.writes.clear()
        env.fail_once(f"PATCH /api/v1/namespaces/default/pods/{name}")
        await env.end_pod(name)
        await advance(1)

        assert env.writes == [STATUS, f"PATCH /api/v1/namespaces/default/pods/{name}", STATUS]
        assert (await status())["succeeded"] == 1
        assert said(await status())[-1][0] == "Complete"


async def test_a_crash_before_the_count_does_not_repeat_a_pod(env, submit, status):
    async with env.running(JobController):
        await submit(completions=2, parallelism=2)
        name = (await names(env))[0]
        await settle()
        await env.end_pod(name)
        env.fail_once(STATUS)
        await advance(1)

        assert (await status())["succeeded"] == 1
        assert (await status())["active"] == 1


async def test_whether_a_pod_was_made_that_nobody_answered_for_is_waited_for(env, submit):
    async with env.running(JobController):
        env.fail_once("POST /api/v1/namespaces/default/pods")
        await submit(parallelism=2, completions=2)
        await advance(20)
        assert await names(env) == []
        await advance(20)

        assert len(await names(env)) == 2


async def test_a_pod_that_is_refused_is_an_event_and_tried_again(env, submit):
    async with env.running(JobController):
        env.refuse("POST /api/v1/namespaces/default/pods")
        await submit()
        assert await names(env) == []
        assert await env.events("FailedCreate") == ["Error creating: exceeded quota"]
        env.refuse("")
        await advance(1)

        assert len(await names(env)) == 1


async def test_who_is_woken(env, submit):
    controller = JobController(env.cluster, env.metrics)
    controller.subscribe()
    async with running(env.cluster.run()):
        await env.cluster.synced()
        await submit()
        assert await woken(controller) == {"default/job"}
        await controller.reconcile("default/job")
        assert await woken(controller) == {"default/job"}
        await env.run_pod((await names(env))[0])

        assert await woken(controller) == {"default/job"}


async def test_a_change_of_a_job_of_another_manager_wakes_nobody(env, submit):
    controller = JobController(env.cluster, env.metrics)
    controller.subscribe()
    async with running(env.cluster.run()):
        await env.cluster.synced()
        await submit(managedBy="kueue.x-k8s.io/multikueue")
        await woken(controller)
        patch = {"metadata": {"labels": {"a": "b"}}}
        await env.cluster.client.merge(Job.resource, "job", "default", patch)

        assert await woken(controller) == set()
