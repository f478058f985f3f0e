"""Story 3: scores move the choice, and jobs that run stay where they are."""

from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.demo import jobs
from fleetqueue.demo.environment import gpu_scores
from fleetqueue.demo.stage import Stage
from fleetqueue.demo.story2 import PLACEMENT, decided, draining, listed, members, serving

IDS: Final = ("S3-2", "S3-3", "S3-4", "S3-5", "S3-6")
LABELLED: Final = ("cluster2", "cluster3")


async def tell(stage: Stage, first: Job) -> None:
    """Tell the story; `first` is the job of story 2, which still runs."""
    stage.narrator.title("Story 3: free GPUs drive the choice")
    stage.narrator.say("As an admin, I want new jobs on the cluster with most free GPUs, and running ones left alone.")
    busy = jobs.admitted_on(stage, first)
    free = next(name for name in LABELLED if name != busy)
    await scores_tell(stage, busy)
    await choice_moves(stage, busy, free)
    second = await new_job(stage, free)
    await first_job_ends(stage, first, busy)
    await choice_follows(stage, busy, free)
    await second_job_ends(stage, second, free)


async def scores_tell(stage: Stage, busy: str) -> None:
    wanted = {"cluster1": -100, "cluster2": -70, "cluster3": -70, busy: -80}
    await stage.expect("S3-2", lambda: gpu_scores(stage) == wanted, why_not=lambda: str(gpu_scores(stage)))
    await stage.do(
        "kubectl get addonplacementscores -A --context kind-hub"
        """ -o jsonpath='{range .items[*]}{.metadata.namespace} {.status.scores[5]}{"\\n"}{end}'"""
    )


async def choice_moves(stage: Stage, busy: str, free: str) -> None:
    """Ask for the one best cluster: the one with the job is dropped, but not before it is empty."""
    before = stage.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    await stage.do("kubectl apply -f placement-demo2-2.yaml --context kind-hub")
    await stage.expect(
        "S3-3",
        lambda: decided(stage) == [free] and serving(stage) == members(free) and draining(stage) == members(busy),
        why_not=lambda: state(stage),
    )
    now = stage.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    is_same = before is not None and now is not None and now.uid == before.uid
    stage.judge("S3-3", is_same, "another uid", part="the config is the same object as before")
    await stage.tell_why(PLACEMENT, reason="DrainStarted")
    await stage.do(f"kubectl get multikueueconfig {PLACEMENT} -o yaml --context kind-hub")
    stage.narrator.say(f"{busy} is still listed, since a job of ours runs there, but it takes no new one.")


async def new_job(stage: Stage, free: str) -> Job:
    job = await stage.create_job("job-demo2.yaml")
    await stage.expect("S3-4", lambda: jobs.admitted_on(stage, job) == free, why_not=lambda: jobs.where(stage, job))
    await jobs.show_workloads(stage, *LABELLED)
    await stage.tell_why(jobs.workload_name(stage, job), reason="Nominated")
    return job


async def first_job_ends(stage: Stage, first: Job, busy: str) -> None:
    """See that the old job runs on, let it end, and see that the hub knows."""
    there = [w.key for w in stage.worker(busy).list(kueue.QueuedWorkload)]
    workload = jobs.workload_of(stage, first)
    undisturbed = workload is not None and there == [workload.key] and jobs.admitted_on(stage, first) == busy
    stage.judge(
        "S3-5",
        undisturbed,
        f"on {busy}: {there}; {jobs.where(stage, first)}",
        part="the dropped cluster still holds the first job, admitted, and nothing else",
    )
    stage.narrator.say(f"The job on {busy} runs on. We do not wait ten minutes: its pod is told that it is done.")
    await jobs.end(stage, first, busy)
    await stage.expect(
        "S3-5",
        lambda: jobs.is_complete(stage, first),
        part="it ran to its end, the hub knows, and nothing of it is left there",
        why_not=lambda: jobs.where(stage, first),
    )


async def choice_follows(stage: Stage, busy: str, free: str) -> None:
    """Now the other one is busier."""
    wanted = {"cluster1": -100, busy: -70, free: -80}
    await stage.expect(
        "S3-6",
        lambda: gpu_scores(stage) == wanted and decided(stage) == [busy] and serving(stage) == members(busy),
        part="the other cluster has more free GPUs now; the decision and the config follow",
        why_not=lambda: state(stage),
    )
    await stage.do("fleetqueue get scores")
    await stage.do("fleetqueue get placements")
    await stage.tell_why(PLACEMENT, reason="SelectionChanged")


async def second_job_ends(stage: Stage, second: Job, free: str) -> None:
    """With both free again, the first name wins, and the config lists exactly that."""
    await jobs.end(stage, second, free)
    await stage.expect(
        "S3-6",
        lambda: jobs.is_complete(stage, second) and decided(stage) == ["cluster2"] and is_exactly(stage, "cluster2"),
        part="with all GPUs free again the first name wins, and the config lists exactly that one",
        why_not=lambda: state(stage),
    )
    await stage.tell_why(PLACEMENT, reason="DrainEnded")
    await stage.do("kubectl get jobs --context kind-hub")


def is_exactly(stage: Stage, name: str) -> bool:
    """Tell whether the config lists one cluster, which is not draining."""
    return listed(stage) == serving(stage) == members(name)


def state(stage: Stage) -> str:
    return f"scores {gpu_scores(stage)}, decided {decided(stage)}, serving {serving(stage)}, draining {draining(stage)}"
