"""Rules of LeaderWorkerSets."""

from fleetqueue.embedded.kueue.pods import leader_worker_set_rules
from fleetqueue.embedded.kueue.pods.leader_worker_sets import LeaderWorkerSetReconciler
from fleetqueue.embedded.kueue.webhooks import serving_rules

from .mutation import Mutation, always, first, nothing

workload_changes = leader_worker_set_rules.workload_changes


MUTATIONS = (
    Mutation(
        "leaders are a pod set of their own",
        leader_worker_set_rules,
        "has_leaders",
        always(False),
        ("leader worker set: leaders and workers are two pod sets",),
    ),
    Mutation(
        "a group asks for all of its pods",
        leader_worker_set_rules,
        "size",
        always(1),
        ("leader worker set: each group has a Workload",),
    ),
    Mutation(
        "groups beyond those asked for have Workloads while others are rolled out",
        leader_worker_set_rules,
        "_groups",
        lambda s: int(s["spec"].get("replicas", 1)),
        ("leader worker set: more groups than asked for while another template is rolled out",),
    ),
    Mutation(
        "what LeaderWorkerSet writes into templates is not asked for",
        leader_worker_set_rules,
        "_kept",
        dict,
        ("leader worker set: what is different in each group is not asked for",),
    ),
    Mutation(
        "leaders and workers have other roles",
        leader_worker_set_rules,
        "_role",
        always("main"),
        ("leader worker set: the pods of a group run together",),
    ),
    Mutation(
        "each Workload says for which group it is",
        leader_worker_set_rules,
        "component",
        always({}),
        ("leader worker set: it grows",),
    ),
    Mutation(
        "Workloads of groups that are gone go",
        leader_worker_set_rules,
        "workload_changes",
        lambda made, there: workload_changes(made, there)._replace(delete=[]),
        (
            "leader worker set: it shrinks, and its last group goes",
            "leader worker set: scaled to zero it has no Workload",
        ),
    ),
    Mutation(
        "each group has a Workload",
        leader_worker_set_rules,
        "workload_changes",
        lambda made, there: workload_changes(made, there)._replace(create=[]),
        ("leader worker set: it grows",),
    ),
    Mutation(
        "Workloads follow their LeaderWorkerSet",
        LeaderWorkerSetReconciler,
        "_follow",
        nothing,
        (
            "leader worker set: one that waits goes to another queue",
            "leader worker set: it gets another priority",
        ),
    ),
    Mutation(
        "a LeaderWorkerSet may have many groups",
        serving_rules,
        "MOST_REPLICAS",
        1,
        ("leader worker set: each group has a Workload",),
    ),
    Mutation(
        "pods of a LeaderWorkerSet are groups",
        leader_worker_set_rules,
        "marked",
        first,
        (
            "leader worker set: pods without leaders of their own run",
            "leader worker set: a leader runs before its workers come",
        ),
    ),
    Mutation(
        "there may be a million groups",
        serving_rules,
        "MOST_REPLICAS",
        999_999,
        ("leader worker set: sizes that cannot be",),
    ),
)
