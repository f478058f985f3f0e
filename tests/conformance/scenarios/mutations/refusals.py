"""Rules of what is refused."""

from fleetqueue.embedded.kueue.webhooks import job_rules, queue_rules, workload_rules

from .mutation import Mutation, always

MUTATIONS = (
    Mutation("a time is a number", job_rules, "_of_longest_time", always([]), ("times that are no times",)),
    Mutation(
        "the least parallelism is less than the parallelism",
        job_rules,
        "_of_least",
        always([]),
        ("a least parallelism that cannot be",),
    ),
    Mutation("a queue has a name", job_rules, "queue_name_faults", always([]), ("a queue that has no name",)),
    Mutation(
        "a Job that runs keeps what it was admitted by",
        job_rules,
        "change_faults",
        always([]),
        ("a running job keeps its queue its class and its time",),
    ),
    Mutation(
        "a class is not taken away",
        job_rules,
        "class_change_faults",
        always([]),
        ("a class is not taken away",),
    ),
    Mutation(
        "a Job that can shrink keeps its size while it runs",
        job_rules,
        "_size_change_faults",
        always([]),
        ("a job that can shrink keeps its size while it runs",),
    ),
    Mutation(
        "not every ClusterQueue can be",
        queue_rules,
        "cluster_queue_faults",
        always([]),
        ("ClusterQueues that cannot be",),
    ),
    Mutation(
        "not every ResourceFlavor can be",
        queue_rules,
        "flavor_faults",
        always([]),
        ("ResourceFlavors that cannot be",),
    ),
    Mutation("not every Workload can be", workload_rules, "workload_faults", always([]), ("Workloads that cannot be",)),
    Mutation(
        "not every change of a Workload can be",
        workload_rules,
        "_change_faults",
        always(()),
        ("a Workload says only what it can",),
    ),
)
