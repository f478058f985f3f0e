"""Rules of TrainJobs."""

from fleetqueue.api.job_kinds import TrainingRuntime
from fleetqueue.embedded.kueue.jobs import train_job
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.train_job import TrainJobIntegration
from fleetqueue.embedded.kueue.webhooks import job_rules
from fleetqueue.rules import runtime_patches, train_jobs

from .mutation import Mutation, always, kept_job

MUTATIONS = (
    Mutation(
        "a TrainJob without a queue is prepared, too",
        TrainJobIntegration,
        "completed",
        lambda self, job: job,
        ("train job: without a queue it is left alone",),
    ),
    Mutation(
        "a flavor gives its labels to a TrainJob",
        train_job,
        "_given",
        lambda info: {"name": info.name},
        ("train job: it runs with what its flavor gives, in a patch",),
    ),
    Mutation(
        "what was given to a TrainJob is taken away when it stops",
        TrainJobIntegration,
        "restored",
        lambda self, job, infos: job,
        ("train job: a deactivated one is as before",),
    ),
    Mutation(
        "pods of a TrainJob are counted",
        TrainJobIntegration,
        "is_active",
        always(False),
        ("train job: a deactivated one waits until its pods are gone",),
    ),
    Mutation(
        "a TrainJob says how it ended",
        TrainJobIntegration,
        "ending",
        always(None),
        (
            "train job: it is complete",
            "train job: it fails",
        ),
    ),
    Mutation(
        "pods of a TrainJob that succeeded do not come again",
        TrainJobIntegration,
        "reclaimable",
        always([]),
        ("train job: what succeeded is free",),
    ),
    Mutation(
        "a TrainJob says when its pods are ready",
        TrainJobIntegration,
        "pods_ready",
        always(False),
        ("train job: its pods are ready",),
    ),
    Mutation(
        "a TrainJob has as many pods as its runtime has nodes",
        train_jobs,
        "_pods",
        always(1),
        ("train job: it runs with what its flavor gives, in a patch",),
    ),
    Mutation(
        "what a TrainJob says itself counts before its runtime",
        train_jobs,
        "_container",
        lambda job, policy, part, ancestor, container: container,
        (
            "train job: it says itself how many nodes it has, and what each asks for",
            "train job: its runtime prepares data before",
        ),
    ),
    Mutation(
        "a TrainJob says of which kind its runtime is",
        train_jobs,
        "runtime_kind",
        always(TrainingRuntime),
        (
            "train job: its runtime is the cluster's",
            "train job: its runtime is of a kind that nobody knows",
        ),
    ),
    Mutation(
        "patches of a runtime count",
        runtime_patches,
        "patched",
        lambda part, patches: part,
        ("train job: somebody else patches its runtime, too",),
    ),
    Mutation(
        "a TrainJob needs its runtime",
        job_rules,
        "missing_faults",
        always([]),
        ("train job: its runtime is not there",),
    ),
    Mutation(
        "a TrainJob that is not admitted does not run",
        JobWrites,
        "stop",
        kept_job,
        ("train job: one that somebody starts is stopped",),
    ),
)
