"""Rules of slices: an elastic job has one for each size, and as many pods of it may run as were admitted."""

from collections.abc import Sequence
from dataclasses import replace

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import batch_job, integration, pod_set_info
from fleetqueue.embedded.kueue.jobs import slice_plan as slice_plans
from fleetqueue.embedded.kueue.jobs.slice_plan import SlicePlan
from fleetqueue.embedded.kueue.scheduling.cycle import Cycle
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import FlavorAssigner
from fleetqueue.embedded.kueue.scheduling.workload_info import PodSetResources
from fleetqueue.rules import workload_slices

from .mutation import Mutation, always, first

planned = slice_plans.slice_plan


def not_resized(pod_sets: Sequence[Manifest], workloads: Sequence[Manifest]) -> SlicePlan | None:
    plan = planned(pod_sets, workloads)
    return plan and replace(plan, resized=None)


def none_over(pod_sets: Sequence[Manifest], workloads: Sequence[Manifest]) -> SlicePlan | None:
    plan = planned(pod_sets, workloads)
    return plan and replace(plan, over=())


def anew_for_other_nodes(pod_sets: Sequence[Manifest], workloads: Sequence[Manifest]) -> SlicePlan | None:
    plan = planned(pod_sets, workloads)
    if plan is None or plan.current is None or _nodes(pod_sets) == _nodes(plan.current["spec"]["podSets"]):
        return plan
    return replace(plan, current=None)


def _nodes(pod_sets: Sequence[Manifest]) -> list[Manifest | None]:
    return [each["template"]["spec"].get("nodeSelector") for each in pod_sets]


MUTATIONS = (
    Mutation(
        "pods of an elastic job wait at a gate",
        integration,
        "gated",
        first,
        ("an elastic job that does not fit waits", "somebody starts an elastic job that waits"),
    ),
    Mutation(
        "pods of an admitted slice may run",
        workload_slices,
        "pods_to_release",
        always([]),
        ("an elastic job runs, and its pods may",),
    ),
    Mutation(
        "no more pods may run than the admitted slice asks for",
        workload_slices,
        "pods_to_release",
        lambda granted, gated, released: [name for names in gated.values() for name in names],
        (
            "an elastic job runs on while what it grows by does not fit",
            "an elastic job grows only in the flavor that it has",
        ),
    ),
    Mutation(
        "no pod may run for a slice that still waits for a check",
        workload_slices,
        "admitted_slice",
        workload_slices.latest_active,
        ("an elastic job that has quota to grow waits for a check", "a check refuses what an elastic job grows by"),
    ),
    Mutation(
        "a job that grows gets another slice",
        workload_slices,
        "is_scaled_down",
        always(True),
        (
            "an elastic job that grows gets a second slice",
            "an elastic indexed job grows with its completions",
            "an elastic job grows in its second flavor",
            "an elastic RayCluster grows",
            "an elastic job runs on while what it grows by does not fit",
        ),
    ),
    Mutation(
        "a job that shrinks keeps its slice",
        workload_slices,
        "is_scaled_down",
        always(False),
        (
            "an elastic job that shrinks keeps its slice",
            "an elastic job shrinks to nothing, and comes back",
            "an elastic RayCluster shrinks",
        ),
    ),
    Mutation(
        "a slice that shrinks gives quota back",
        PodSetResources,
        "scaled",
        first,
        ("what an elastic job gives back is given to another",),
    ),
    Mutation(
        "a slice that waits follows the size of its job",
        slice_plans,
        "slice_plan",
        not_resized,
        (
            "a slice that waits is made smaller",
            "a slice that waits is made larger",
            "an elastic job that would grow stays as it was after all",
            "an elastic job that would grow shrinks",
            "an elastic job that waits is made smaller, and runs",
            "pods of an elastic job count",
        ),
    ),
    Mutation(
        "a slice stands for its job as long as that has its size",
        slice_plans,
        "slice_plan",
        anew_for_other_nodes,
        ("an elastic job that waits asks for other pods",),
    ),
    Mutation(
        "a slice that lost its place is over",
        slice_plans,
        "slice_plan",
        none_over,
        (
            "an elastic job whose waiting slice is deactivated",
            "an elastic job whose running slice is deactivated while it would grow",
            "an elastic job that would grow is preempted",
            "an elastic job that grows preempts another",
        ),
    ),
    Mutation(
        "a job has no more pods at once than completions are left to reach",
        batch_job,
        "pods_at_once",
        lambda job: job["spec"].get("parallelism", 1),
        ("an elastic job of one completion does not grow",),
    ),
    Mutation(
        "a slice needs quota only for what it is larger",
        FlavorAssigner,
        "_held",
        always(0),
        ("an elastic job grows when another has gone", "pods of an elastic job count"),
    ),
    Mutation(
        "a slice takes the place of the one before it",
        Cycle,
        "_replaced",
        always(None),
        (
            "an elastic job that has grown is preempted",
            "an elastic job grows in its second flavor",
            "an elastic job grows twice",
            "an elastic job grows, shrinks and grows",
        ),
    ),
    Mutation(
        "all slices have the name of the first",
        workload_slices,
        "slice_name",
        lambda workload: workload["metadata"]["name"],
        ("an elastic job that grows gets a second slice", "an elastic job that has grown succeeds"),
    ),
    Mutation(
        "what an earlier slice left in a pod template is taken away",
        pod_set_info,
        "_without_stale",
        first,
        ("an elastic job that has grown is drained, and runs again",),
    ),
)
