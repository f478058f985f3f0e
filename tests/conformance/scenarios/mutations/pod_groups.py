"""Rules of pods that belong together."""

from fleetqueue.api import kueue_pods
from fleetqueue.embedded.kueue.jobs import job_fields, workload_writes
from fleetqueue.embedded.kueue.pods import group_workloads, groups, roles
from fleetqueue.embedded.kueue.pods.group_controller import PodGroupWriter
from fleetqueue.embedded.kueue.pods.group_matching import GroupMatching
from fleetqueue.embedded.kueue.pods.groups import PodGroup, PodGroups
from fleetqueue.embedded.kueue.webhooks import pod_rules
from fleetqueue.rules.job_endings import Ending

from .mutation import Mutation, always, kept_job, kept_workload, nothing

shape = roles.shape


def ended_by_one(self: PodGroups, job: PodGroup) -> Ending | None:
    """Let a group end with the first of its pods."""
    return Ending("Succeeded", "") if any(map(kueue_pods.has_ended, job.pods)) else None


MUTATIONS = (
    Mutation(
        "a group that is not retried stays so",
        pod_rules,
        "is_unretriable",
        always(False),
        ("pod group: neither its name nor that it is not retried can change",),
    ),
    Mutation(
        "a role is more than what a pod requests",
        roles,
        "shape",
        lambda spec: {"containers": shape(spec)["containers"]},
        ("pod group: what makes a role",),
    ),
    Mutation(
        "a group is admitted when all of its pods are there",
        group_workloads,
        "is_complete",
        always(True),
        ("pod group: it waits for its last pod",),
    ),
    Mutation(
        "a fast group is admitted with its first pod",
        PodGroup,
        "is_fast",
        property(always(False)),
        (
            "pod group: a fast one counts the pods that did not come yet",
            "pod group: a fast one runs with its first pod",
        ),
    ),
    Mutation(
        "pods of a group say the same",
        group_workloads,
        "check",
        always(None),
        (
            "pod group: its pods name two queues",
            "pod group: its pods say two counts",
        ),
    ),
    Mutation(
        "the oldest pods of a group stay",
        groups,
        "sorted_able",
        lambda pods: list(pods)[::-1],
        ("pod group: one pod too many from the beginning is deleted",),
    ),
    Mutation(
        "who failed first is replaced first",
        groups,
        "_last_active",
        lambda pod, now: now,
        ("pod group: of two failed pods the one that failed first is replaced",),
    ),
    Mutation(
        "a failed pod does not count",
        groups,
        "can_run",
        lambda pod: not ("deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName")),
        (
            "pod group: a failed pod waits for its replacement",
            "pod group: a failed pod is replaced",
        ),
    ),
    Mutation(
        "a group that is not retried ends with its pods",
        PodGroup,
        "is_unretriable",
        property(always(False)),
        ("pod group: one that is not retried ends with its last pod",),
    ),
    Mutation(
        "a group is retried unless it says otherwise",
        PodGroup,
        "is_unretriable",
        property(always(True)),
        ("pod group: a deactivated one is deleted",),
    ),
    Mutation(
        "pods that succeeded do not come again",
        PodGroups,
        "reclaimable",
        always([]),
        ("pod group: what a pod of it used is free when it succeeds",),
    ),
    Mutation("a group says how it ended", PodGroups, "ending", always(None), ("pod group: it succeeds",)),
    Mutation(
        "a group waits until all of its pods may run",
        PodGroups,
        "is_suspended",
        always(False),
        ("pod group: its last pod comes",),
    ),
    Mutation(
        "a group tells of pods that are to be replaced",
        groups,
        "replacement_condition",
        always(None),
        (
            "pod group: a failed pod waits for its replacement",
            "pod group: pods that wait are deleted",
            "pod group: a pod that waits is deleted, and another takes its place",
        ),
    ),
    Mutation(
        "a Workload for fewer pods does not stand for a group",
        groups,
        "stands_for",
        always(True),
        ("pod group: the Workload made beforehand is too small",),
    ),
    Mutation(
        "a pod that is too many is deleted",
        GroupMatching,
        "_remove",
        nothing,
        ("pod group: one pod too many from the beginning is deleted",),
    ),
    Mutation(
        "a Workload of somebody else is not taken",
        GroupMatching,
        "_refuse",
        nothing,
        ("pod group: a Workload of somebody else has its name",),
    ),
    Mutation(
        "a Workload is owned by all pods of its group",
        GroupMatching,
        "_owned_by_all",
        kept_workload,
        (
            "pod group: a failed pod is replaced",
            "pod group: its Workload was made beforehand",
        ),
    ),
    Mutation(
        "a pod that was replaced is let go",
        GroupMatching,
        "_let_go",
        nothing,
        (
            "pod group: a failed pod is replaced",
            "pod group: a pod whose Workload was made beforehand is deleted while it waits",
        ),
    ),
    Mutation(
        "pods of a group that is over are let go", PodGroupWriter, "finalize", nothing, ("pod group: it succeeds",)
    ),
    Mutation(
        "a group that serves does not end",
        PodGroup,
        "is_serving",
        property(always(False)),
        ("pod group: one that serves does not end with its pods",),
    ),
    Mutation(
        "pods that ask for different things have different roles",
        roles,
        "role_of",
        always("main"),
        (
            "pod group: two roles are two pod sets",
            "pod group: a pod of another role is no part of what was admitted",
            "pod group: more roles than there can be pod sets",
        ),
    ),
    Mutation(
        "an annotation may name the group of a pod",
        kueue_pods,
        "group_name",
        lambda metadata: (metadata.get("labels") or {}).get(kueue_pods.GROUP_NAME, ""),
        ("pod group: its name is an annotation",),
    ),
    Mutation(
        "a group has succeeded when all of its pods have",
        PodGroups,
        "ending",
        ended_by_one,
        (
            "pod group: a failed pod is replaced, and all succeed",
            "pod group: one that is not retried still waits for those that run",
        ),
    ),
    Mutation(
        "a preempted group comes back",
        workload_writes,
        "COMES_BACK",
        (),
        ("pod group: a preempted one runs again with its replacements",),
    ),
    Mutation(
        "the pods of a group end with its Workload",
        PodGroupWriter,
        "stop",
        kept_job,
        (
            "pod group: its Workload takes it along",
            "stateful set: a deactivated one loses its pods, and new ones wait",
            "leader worker set: a deactivated group loses its pods",
        ),
    ),
    Mutation(
        "a group waits for the Workload that it names",
        job_fields,
        "prebuilt_workload",
        always(""),
        ("pod group: the Workload that it names is not there",),
    ),
)
