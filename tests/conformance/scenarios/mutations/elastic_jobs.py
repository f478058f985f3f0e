"""Rules of the life of elastic jobs: how they stop and end, what their slices follow, and what is refused."""

from fleetqueue.embedded.kueue.jobs import batch_job, workload_writes
from fleetqueue.embedded.kueue.jobs.batch_job import BatchJobIntegration
from fleetqueue.embedded.kueue.jobs.ray import RayClusterIntegration
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.webhooks import job_rules, job_topology_rules
from fleetqueue.rules import ray_pods

from .mutation import Mutation, always, kept_workload, nothing, unchanged, without_step

MUTATIONS = (
    without_step(
        "a drained ClusterQueue stops what runs",
        "_cluster_queue_state",
        ("a drained ClusterQueue stops an elastic job",),
    ),
    without_step(
        "a ClusterQueue that is started again takes back what it stopped",
        "_cluster_queue_restarted",
        ("an elastic job that has grown is drained, and runs again",),
    ),
    without_step(
        "a slice that is deactivated is evicted",
        "_deactivated",
        (
            "a deactivated elastic job stops and is as before",
            "an elastic job whose new slice is deactivated stops",
            "an elastic job whose waiting slice is deactivated",
            "an elastic job whose running slice is deactivated while it would grow",
        ),
    ),
    without_step(
        "a slice that is activated again is queued again",
        "_requeued",
        ("an elastic job that is activated again runs",),
    ),
    without_step(
        "a slice waits for the checks of its queue",
        "_checks",
        ("an elastic job waits for a check, and grows after another",),
    ),
    Mutation(
        "an evicted slice gives its quota back",
        workload_writes,
        "released",
        lambda workload, evicted, now: workload["status"],
        ("an elastic job that has grown is preempted", "a drained ClusterQueue stops an elastic job"),
    ),
    Mutation(
        "a job that stops is as before",
        BatchJobIntegration,
        "restored",
        unchanged,
        ("a deactivated elastic job stops and is as before",),
    ),
    Mutation(
        "a slice that is deleted is let go",
        WorkloadWrites,
        "let_go",
        nothing,
        (
            "an elastic job whose slice is deleted gets another",
            "an elastic job whose waiting slice is deleted gets another",
        ),
    ),
    Mutation(
        "the slices of a job that is gone are let go",
        WorkloadWrites,
        "orphan",
        nothing,
        (
            "an elastic job is deleted",
            "an elastic job that has grown is deleted",
            "an elastic job that would grow is deleted",
        ),
    ),
    Mutation(
        "all slices of a job end with it",
        batch_job,
        "job_ending",
        always(None),
        (
            "an elastic job succeeds",
            "an elastic job that has grown succeeds",
            "an elastic job succeeds while what it grows by waits",
            "an elastic job fails",
        ),
    ),
    Mutation(
        "slices follow the priority of their job",
        WorkloadFollowing,
        "follow_priority",
        kept_workload,
        ("an elastic job gets another priority while it would grow",),
    ),
    Mutation(
        "a slice that waits follows the queue of its job",
        WorkloadFollowing,
        "follow_queue",
        nothing,
        ("an elastic job that waits goes to another queue",),
    ),
    Mutation(
        "an elastic job does not say that fewer pods are enough",
        job_rules,
        "batch_job_faults",
        always([]),
        ("an elastic job that can do with fewer pods is refused",),
    ),
    Mutation(
        "an elastic job asks for no topology",
        job_topology_rules,
        "topology_faults",
        always([]),
        ("an elastic job that wants a topology is refused",),
    ),
    Mutation(
        "a job is elastic for ever or never",
        job_rules,
        "change_faults",
        always([]),
        ("a job cannot become elastic, nor cease to be",),
    ),
    Mutation(
        "only few kinds of jobs are elastic",
        job_rules,
        "elastic_faults",
        always([]),
        ("jobs of other kinds are not elastic",),
    ),
    Mutation(
        "pods of an elastic RayCluster wait at a gate",
        RayClusterIntegration,
        "completed",
        unchanged,
        ("an elastic RayCluster grows", "an elastic RayCluster shrinks"),
    ),
    Mutation(
        "who scales a RayCluster runs beside its head",
        ray_pods,
        "AUTOSCALER_RESOURCES",
        {},
        ("an elastic RayCluster that scales itself is taken",),
    ),
)
