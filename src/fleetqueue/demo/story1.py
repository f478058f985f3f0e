"""Story 1: MultiKueue is set up by hand, with credentials that keep themselves."""

from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.meta import Object
from fleetqueue.client.client import FIELD_MANAGER
from fleetqueue.demo import jobs
from fleetqueue.demo.story_run import StoryRun
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.runtime.cluster import MANAGED_BY

IDS: Final = ("S1-1", "S1-2", "S1-3", "S1-4", "S1-5", "S1-6")
SETUP: Final = "multikueue-setup-demo1.yaml"
MEMBERS: Final = ("multikueue-demo1-cluster1", "multikueue-demo1-cluster2")
WORKERS: Final = ("cluster1", "cluster2")
BY_HAND: Final[tuple[tuple[type[Object], str], ...]] = (
    (kueue.MultiKueueConfig, "multikueue-config-demo1"),
    *((kueue.MultiKueueCluster, member) for member in MEMBERS),
)


async def tell(run: StoryRun) -> None:
    run.printer.title("Story 1: set up MultiKueue across clusters, with the credentials in place")
    run.printer.say("As an admin, I write a MultiKueueConfig by hand; the kubeconfig secrets are there and renewed.")
    await set_up(run)
    job = await run.create_job("job-demo1.yaml", seconds=3)
    worker = await run.expect(
        "S1-4",
        lambda: copied_to_both(run, job) and jobs.admitted_on(run, job),
        why_not=lambda: jobs.where(run, job),
    )
    await run.tell_why(jobs.workload_name(run, job), reason="Nominated")
    await jobs.show_workloads(run, *WORKERS)
    run.printer.say(f"{worker} has admitted the job; the copy on the other worker was removed.")
    await run.expect("S1-5", lambda: jobs.is_complete(run, job), why_not=lambda: jobs.where(run, job), limit=120)
    await run.do(f"kubectl get job {job.name} --context kind-hub")
    await nothing_was_touched(run)
    await clean_up(run, job)


async def set_up(run: StoryRun) -> None:
    await run.do(f"kubectl apply -f {SETUP} --context kind-hub")
    await run.expect("S1-1", lambda: all(is_connected(run, member) for member in MEMBERS))
    await run.do("kubectl get multikueueclusters --context kind-hub")
    await run.expect(
        "S1-2",
        lambda: run.says(kueue.AdmissionCheck, "multikueue-demo1", "True", "Active", "The admission check is active"),
    )
    await run.expect(
        "S1-3",
        lambda: run.says(kueue.ClusterQueue, "cluster-queue-demo1", "True", "Ready", "Can admit new workloads"),
    )


def is_connected(run: StoryRun, member: str) -> bool:
    """Tell whether a MultiKueueCluster says so about its present form."""
    condition, live = run.condition(kueue.MultiKueueCluster, member), run.hub.get(kueue.MultiKueueCluster, member)
    current = condition is not None and live is not None and condition.observed_generation == live.metadata.generation
    return current and run.says(kueue.MultiKueueCluster, member, "True", "Active", "Connected")


def copied_to_both(run: StoryRun, job: Job) -> bool:
    """Tell whether both workers have, or had, a copy."""
    return run.monitor.copies.get(f"{job.namespace}/{jobs.workload_name(run, job)}", set()) >= set(WORKERS)


async def nothing_was_touched(run: StoryRun) -> None:
    """Look at the hand-written objects themselves: still as they were written, and by nobody of ours."""
    touched = []
    for kind, name in BY_HAND:
        raw = await run.clients[HUB].get(kind.resource, name)
        metadata = raw["metadata"]
        managers = {entry.get("manager") for entry in metadata.get("managedFields") or ()}
        if metadata["generation"] != 1 or FIELD_MANAGER in managers or MANAGED_BY in (metadata.get("labels") or {}):
            touched.append(name)
    run.judge("S1-6", not touched, f"changed: {', '.join(touched)}")


async def clean_up(run: StoryRun, job: Job) -> None:
    await run.do(f"kubectl delete job {job.name} --context kind-hub")
    await run.do(f"kubectl delete -f {SETUP} --timeout=60s --context kind-hub")
