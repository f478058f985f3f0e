"""Rules of Deployments, and of all that is admitted by its pods."""

from fleetqueue.embedded.kueue.webhooks import parent_rules

from .mutation import Mutation, always, without_step

MUTATIONS = (
    Mutation(
        "pods of a Deployment wait for it",
        parent_rules,
        "completed_deployment",
        lambda context, d: d,
        ("deployment: each pod has its own Workload",),
    ),
    Mutation(
        "pods have the queue and the priority of what is above them",
        parent_rules,
        "queue_labels",
        always({}),
        (
            "deployment: its pods have its priority",
            "leader worker set: the pods of a group run together",
        ),
    ),
    Mutation(
        "what runs keeps its queue",
        parent_rules,
        "parent_faults",
        always([]),
        (
            "deployment: one that runs keeps its queue",
            "deployment: a queue that is named later is for new pods",
            "leader worker set: one that runs keeps its queue",
            "stateful set: one that runs keeps its queue",
        ),
    ),
    Mutation(
        "what does not run yet may change its queue",
        parent_rules,
        "ready_replicas",
        always(1),
        (
            "deployment: one that waits goes to another queue",
            "stateful set: one that waits goes to another queue",
        ),
    ),
    without_step(
        "a drained ClusterQueue stops pods",
        "_cluster_queue_state",
        ("deployment: a deactivated pod is made anew, and waits",),
    ),
)
