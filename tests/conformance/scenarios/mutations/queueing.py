"""Rules of queueing that all kinds share."""

from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import BEST, FlavorAssigner
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext

from .mutation import Mutation, always, kept_workload, nothing

queue_name = job_fields.queue_name


MUTATIONS = (
    Mutation(
        "a namespace may have a queue for all who name none",
        JobContext,
        "has_default_queue",
        always(False),
        (
            "pod: it gets the default queue of its namespace",
            "stateful set: it gets the default queue of its namespace",
            "deployment: it gets the default queue of its namespace",
            "leader worker set: its StatefulSets are not queued themselves",
        ),
    ),
    Mutation(
        "a Workload follows what gates its job",
        WorkloadFollowing,
        "follow_gate",
        kept_workload,
        (
            "stateful set: it is gated by somebody else, and then not",
            "pod: it is gated by somebody else, and then not",
        ),
    ),
    Mutation(
        "what names no queue is left alone",
        job_fields,
        "queue_name",
        lambda job: queue_name(job) or "q",
        (
            "app wrapper: without a queue it is left alone",
            "pod: without a queue it is left alone",
            "deployment: without a queue it is left alone",
            "stateful set: without a queue it is left alone",
            "leader worker set: without a queue it is left alone",
        ),
    ),
    Mutation(
        "what does not fit waits",
        FlavorAssigner,
        "_fits",
        always((BEST, "")),
        (
            "app wrapper: one that does not fit waits",
            "pod group: one that does not fit waits whole",
            "deployment: pods beyond the quota wait",
            "stateful set: one that does not fit waits whole",
            "stateful set: one that waits and is scaled to zero",
            "leader worker set: groups beyond the quota wait",
            "leader worker set: pods of a group that does not fit wait",
            "spark application: one that does not fit waits",
            "train job: one that does not fit waits",
        ),
    ),
    Mutation(
        "what waits follows its queue",
        WorkloadFollowing,
        "follow_queue",
        nothing,
        ("pod: one that waits goes to another queue", "pod group: one that waits goes to another queue"),
    ),
    Mutation(
        "the Workload of what is gone is let go",
        WorkloadWrites,
        "orphan",
        nothing,
        (
            "deployment: it grows and shrinks",
            "stateful set: it is deleted",
            "stateful set: one that waits is deleted",
            "leader worker set: it is deleted",
        ),
    ),
    Mutation(
        "what has a priority class has its priority",
        job_fields,
        "priority_class",
        always(""),
        ("stateful set: it has a priority", "deployment: its pods have its priority"),
    ),
)
