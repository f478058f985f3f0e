"""What the stories ask about a job: where it is, whether it ended, and how to end it without waiting."""

from typing import Final

import orjson

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.demo.story_run import StoryRun

JOB_LABEL: Final = "batch.kubernetes.io/job-name"


def workload_of(run: StoryRun, job: Job) -> kueue.Workload | None:
    """Return the hub's Workload of a job."""
    workloads = run.hub.list(kueue.QueuedWorkload, job.namespace)
    owned = (w for w in workloads if any(owner.uid == job.uid for owner in w.metadata.owner_references))
    return next(owned, None)


def workload_name(run: StoryRun, job: Job) -> str:
    """Return the name of that; nothing where there is none yet."""
    workload = workload_of(run, job)
    return workload.name if workload else ""


def holders(run: StoryRun, job: Job) -> list[str]:
    """Name the workers that hold a copy of a job's Workload."""
    workload = workload_of(run, job)
    if workload is None:
        return []
    return [
        name for name in run.fleet.workers if run.worker(name).get(kueue.QueuedWorkload, workload.name, job.namespace)
    ]


def admitted_on(run: StoryRun, job: Job) -> str:
    """Name the one worker that has admitted a job and alone holds it; nothing while that is not so."""
    workload, there = workload_of(run, job), holders(run, job)
    if workload is None or len(there) != 1 or not workload.is_true(kueue.ADMITTED):
        return ""
    copy = run.worker(there[0]).get(kueue.QueuedWorkload, workload.name, job.namespace)
    return there[0] if copy is not None and copy.is_true(kueue.ADMITTED) else ""


def is_complete(run: StoryRun, job: Job) -> bool:
    """Tell whether the hub knows that a job has ended well, and nothing of it is left on a worker."""
    live, workload = run.hub.get(Job, job.name, job.namespace), workload_of(run, job)
    if live is None or workload is None or not workload.is_finished or holders(run, job):
        return False
    left = any(run.worker(name).get(Job, job.name, job.namespace) for name in run.fleet.workers)
    return not left and any(c.type == "Complete" and c.is_true for c in live.status.conditions)


def where(run: StoryRun, job: Job) -> str:
    """Say where a job is, for when it is not where it should be."""
    workload = workload_of(run, job)
    if workload is None:
        return f"job {job.name} has no Workload"
    checks = ", ".join(f"{check.name} {check.state} {check.message}" for check in workload.status.admission_checks)
    return f"copies on {holders(run, job)}, nominated {workload.status.nominated_cluster_names}, checks: {checks}"


async def end(run: StoryRun, job: Job, worker: str) -> None:
    """Let a job end now: its pod is told that it is done, instead of waiting ten minutes for it."""
    page = await run.clients[worker].list(Pod.resource, job.namespace, labels=f"{JOB_LABEL}={job.name}")
    pods = [raw["metadata"]["name"] for raw in page.items]
    patch = orjson.dumps({"status": {"phase": "Succeeded"}}).decode()
    for pod in pods:
        await run.do(f"kubectl patch pod {pod} --subresource=status --type=merge -p '{patch}' --context kind-{worker}")


async def show_workloads(run: StoryRun, *workers: str) -> None:
    """Show the Workloads of workers, as the walkthroughs do."""
    for worker in workers:
        await run.do(f"kubectl get workloads --context kind-{worker}")
