"""Story 3: scores move the choice, and jobs that run stay where they are."""

from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.demo import jobs
from fleetqueue.demo.environment_story import gpu_scores
from fleetqueue.demo.story2 import PLACEMENT, decided, draining, listed, members, serving
from fleetqueue.demo.story_run import StoryRun

IDS: Final = ("S3-2", "S3-3", "S3-4", "S3-5", "S3-6")
LABELLED: Final = ("cluster2", "cluster3")


async def tell(run: StoryRun, first: Job) -> None:
    """Tell the story; `first` is the job of story 2, which still runs."""
    run.printer.title("Story 3: free GPUs drive the choice")
    run.printer.say("As an admin, I want new jobs on the cluster with most free GPUs, and running ones left alone.")
    busy = jobs.admitted_on(run, first)
    free = next(name for name in LABELLED if name != busy)
    await scores_tell(run, busy)
    await choice_moves(run, busy, free)
    second = await new_job(run, free)
    await first_job_ends(run, first, busy)
    await choice_follows(run, busy, free)
    await second_job_ends(run, second, free)


async def scores_tell(run: StoryRun, busy: str) -> None:
    wanted = {"cluster1": -100, "cluster2": -70, "cluster3": -70, busy: -80}
    await run.expect("S3-2", lambda: gpu_scores(run) == wanted, why_not=lambda: str(gpu_scores(run)))
    await run.do(
        "kubectl get addonplacementscores -A --context kind-hub"
        """ -o jsonpath='{range .items[*]}{.metadata.namespace} {.status.scores[5]}{"\\n"}{end}'"""
    )


async def choice_moves(run: StoryRun, busy: str, free: str) -> None:
    """Ask for the one best cluster: the one with the job is dropped, but not before it is empty."""
    before = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    await run.do("kubectl apply -f placement-demo2-2.yaml --context kind-hub")
    await run.expect(
        "S3-3",
        lambda: decided(run) == [free] and serving(run) == members(free) and draining(run) == members(busy),
        why_not=lambda: state(run),
    )
    now = run.hub.get(kueue.MultiKueueConfig, PLACEMENT)
    is_same = before is not None and now is not None and now.uid == before.uid
    run.judge("S3-3", is_same, "another uid", part="the config is the same object as before")
    await run.tell_why(PLACEMENT, reason="DrainStarted")
    await run.do(f"kubectl get multikueueconfig {PLACEMENT} -o yaml --context kind-hub")
    run.printer.say(f"{busy} is still listed, since a job of ours runs there, but it takes no new one.")


async def new_job(run: StoryRun, free: str) -> Job:
    job = await run.create_job("job-demo2.yaml")
    await run.expect("S3-4", lambda: jobs.admitted_on(run, job) == free, why_not=lambda: jobs.where(run, job))
    await jobs.show_workloads(run, *LABELLED)
    await run.tell_why(jobs.workload_name(run, job), reason="Nominated")
    return job


async def first_job_ends(run: StoryRun, first: Job, busy: str) -> None:
    """See that the old job runs on, let it end, and see that the hub knows."""
    there = [w.key for w in run.worker(busy).list(kueue.QueuedWorkload)]
    workload = jobs.workload_of(run, first)
    undisturbed = workload is not None and there == [workload.key] and jobs.admitted_on(run, first) == busy
    run.judge(
        "S3-5",
        undisturbed,
        f"on {busy}: {there}; {jobs.where(run, first)}",
        part="the dropped cluster still holds the first job, admitted, and nothing else",
    )
    run.printer.say(f"The job on {busy} runs on. We do not wait ten minutes: its pod is told that it is done.")
    await jobs.end(run, first, busy)
    await run.expect(
        "S3-5",
        lambda: jobs.is_complete(run, first),
        part="it ran to its end, the hub knows, and nothing of it is left there",
        why_not=lambda: jobs.where(run, first),
    )


async def choice_follows(run: StoryRun, busy: str, free: str) -> None:
    """Now the other one is busier."""
    wanted = {"cluster1": -100, busy: -70, free: -80}
    await run.expect(
        "S3-6",
        lambda: gpu_scores(run) == wanted and decided(run) == [busy] and serving(run) == members(busy),
        part="the other cluster has more free GPUs now; the decision and the config follow",
        why_not=lambda: state(run),
    )
    await run.do("fleetqueue get scores")
    await run.do("fleetqueue get placements")
    await run.tell_why(PLACEMENT, reason="SelectionChanged")


async def second_job_ends(run: StoryRun, second: Job, free: str) -> None:
    """With both free again, the first name wins, and the config lists exactly that."""
    await jobs.end(run, second, free)
    await run.expect(
        "S3-6",
        lambda: jobs.is_complete(run, second) and decided(run) == ["cluster2"] and is_exactly(run, "cluster2"),
        part="with all GPUs free again the first name wins, and the config lists exactly that one",
        why_not=lambda: state(run),
    )
    await run.tell_why(PLACEMENT, reason="DrainEnded")
    await run.do("kubectl get jobs --context kind-hub")


def is_exactly(run: StoryRun, name: str) -> bool:
    """Tell whether the config lists one cluster, which is not draining."""
    return listed(run) == serving(run) == members(name)


def state(run: StoryRun) -> str:
    selected = f"decided {decided(run)}, serving {serving(run)}, draining {draining(run)}"
    return f"scores {gpu_scores(run)}, {selected}"
