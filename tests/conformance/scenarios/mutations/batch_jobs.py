"""Rules of Jobs: how their Workloads follow them, how they start, stop and end."""

from fleetqueue.embedded.kueue.jobs import batch_job, job_fields, job_workloads, pod_set_info
from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.job_writes import JobWrites
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.scheduling import cycle

from .mutation import Mutation, always, kept_job, kept_workload, nothing, unchanged, without_step

MUTATIONS = (
    Mutation("a Job says how it ended", batch_job, "job_ending", always(None), ("a job succeeds", "a job fails")),
    without_step("what is activated again is queued again", "_requeued", ("an activated job runs again",)),
    Mutation(
        "a Workload that waits is what its Job is",
        WorkloadMatching,
        "_brought_up_to_date",
        kept_workload,
        ("a waiting job that changes changes its Workload",),
    ),
    Mutation(
        "a Workload that waits is where its Job is queued",
        WorkloadFollowing,
        "follow_queue",
        nothing,
        ("a waiting job goes to another queue",),
    ),
    Mutation(
        "a Job that runs as no Workload says is stopped",
        job_workloads,
        "is_equivalent",
        always(True),
        ("a running job that changes its size starts anew",),
    ),
    Mutation(
        "a Workload that is deleted is let go",
        WorkloadWrites,
        "let_go",
        nothing,
        ("a deleted Workload is made anew",),
    ),
    Mutation(
        "the Workload of a Job that is gone is let go",
        WorkloadWrites,
        "orphan",
        nothing,
        ("a deleted job takes its Workload along",),
    ),
    Mutation(
        "fewer pods are enough where the Job says so",
        cycle,
        "can_shrink",
        always(False),
        ("fewer pods run where that is enough", "fewer pods with as many completions"),
    ),
    Mutation(
        "a Job of fewer pods may have fewer completions",
        batch_job,
        "has_equal_completions",
        always(False),
        ("fewer pods with as many completions",),
    ),
    Mutation(
        "a Job that stops has its size again",
        BatchJobIntegration,
        "restored",
        unchanged,
        ("a job that ran with fewer pods is as before when it stops",),
    ),
    Mutation("a Job has a priority", job_fields, "priority_class", always(""), ("a job with a priority",)),
    Mutation(
        "a Workload that waits has the priority of its Job",
        WorkloadFollowing,
        "follow_priority",
        kept_workload,
        ("a waiting job gets another priority",),
    ),
    Mutation(
        "an evicted Job is stopped",
        JobWrites,
        "stop",
        kept_job,
        ("a higher priority preempts and its victim stops",),
    ),
    without_step("a Job runs only so long", "deadlines", ("a job may run only so long",)),
    Mutation("the pods of an indexed Job are numbered", batch_job, "INDEX_LABEL", "no-such", ("an indexed job",)),
    Mutation(
        "what a Job says of its pods stays beside what they are given",
        pod_set_info,
        "_together",
        lambda own, given: given,
        ("a job with twin variables and its own selector",),
    ),
    Mutation(
        "an admitted Job is started",
        JobWrites,
        "start",
        nothing,
        ("a job that was suspended by its owner stays queued",),
    ),
    without_step("a gate keeps a Job waiting", "_gate", ("a gated job waits",)),
    Mutation(
        "a Workload is gated as long as its Job",
        WorkloadFollowing,
        "follow_gate",
        kept_workload,
        ("a gate that is taken away lets the job run",),
    ),
)
