"""Rules of StatefulSets."""

from fleetqueue.embedded.kueue import workload_state
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.pods import parent_pods, stateful_set_rules
from fleetqueue.embedded.kueue.pods.stateful_sets import StatefulSetReconciler
from fleetqueue.embedded.kueue.webhooks import serving_rules
from fleetqueue.embedded.kueue.webhooks.field_errors import unchanged as same

from .mutation import Mutation, always, nothing

pod_sets, replicas = stateful_set_rules.pod_sets, stateful_set_rules.replicas


MUTATIONS = (
    Mutation(
        "a StatefulSet asks for all of its pods",
        stateful_set_rules,
        "pod_sets",
        lambda stateful_set: [{**one, "count": 1} for one in pod_sets(stateful_set)],
        (
            "stateful set: its pods run, by one Workload",
            "stateful set: its pods run at once, by one Workload",
        ),
    ),
    Mutation(
        "pods that wait for somebody else are not admitted",
        stateful_set_rules,
        "is_of_another",
        always(False),
        ("stateful set: one whose pods wait for somebody else is not admitted",),
    ),
    Mutation(
        "a StatefulSet that runs keeps its size",
        serving_rules,
        "_scale_faults",
        always([]),
        ("stateful set: its size does not change",),
    ),
    Mutation(
        "what is asked for stays the same",
        serving_rules,
        "shape_faults",
        always([]),
        (
            "stateful set: its pods ask for the same always",
            "leader worker set: what cannot change",
        ),
    ),
    Mutation(
        "a Workload on hold is tried again",
        workload_state,
        "is_on_hold",
        always(False),
        ("stateful set: from zero it is admitted again",),
    ),
    Mutation(
        "a StatefulSet of no pods gives its quota back",
        WorkloadWrites,
        "put_on_hold",
        nothing,
        ("stateful set: scaled to zero it is on hold",),
    ),
    Mutation(
        "pods that wait make place for another revision",
        parent_pods,
        "is_outdated",
        always(False),
        ("stateful set: another image is rolled out to pods that wait",),
    ),
    Mutation(
        "a StatefulSet that has pods again is queued again",
        WorkloadWrites,
        "end_hold",
        nothing,
        ("stateful set: from zero it grows to another size",),
    ),
    Mutation(
        "a StatefulSet of no pods needs no Workload",
        stateful_set_rules,
        "replicas",
        lambda stateful_set: max(replicas(stateful_set), 1),
        ("stateful set: one of no pods has no Workload",),
    ),
    Mutation(
        "a StatefulSet gets a Workload with its first pods",
        StatefulSetReconciler,
        "_create",
        nothing,
        ("stateful set: it begins with no pods and grows",),
    ),
    Mutation(
        "an image may change",
        serving_rules,
        "shape_faults",
        lambda old, new, path: same(path, new, old),
        ("stateful set: another image is rolled out",),
    ),
    Mutation(
        "pods of a StatefulSet are a group",
        stateful_set_rules,
        "marked",
        lambda pod, stateful_set, without_queue: pod,
        ("stateful set: a pod of it fails, and is made anew",),
    ),
)
