"""Rules of pods, sets and further kinds, each made wrong in one way, and the scenarios that must notice it."""

from typing import Any

from fleetqueue.api.fields import without_field
from fleetqueue.api.job_kinds import TrainingRuntime
from fleetqueue.embedded.kueue import workload_state
from fleetqueue.embedded.kueue.jobs import app_wrapper, spark_application, train_job
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.jobs.app_wrapper import AppWrapperIntegration
from fleetqueue.embedded.kueue.jobs.spark_application import SparkApplicationIntegration
from fleetqueue.embedded.kueue.jobs.train_job import TrainJobIntegration
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.pods import (
    group_workloads,
    groups,
    leader_worker_set_rules,
    parent_pods,
    roles,
    single_pods,
    stateful_set_rules,
)
from fleetqueue.embedded.kueue.pods.group_controller import PodGroupWriter
from fleetqueue.embedded.kueue.pods.group_matching import GroupMatching
from fleetqueue.embedded.kueue.pods.groups import PodGroup, PodGroups
from fleetqueue.embedded.kueue.pods.leader_worker_sets import LeaderWorkerSetReconciler
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites
from fleetqueue.embedded.kueue.pods.single_pods import SinglePods
from fleetqueue.embedded.kueue.webhooks import job_rules, parent_rules, pod_rules, serving_rules
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext
from fleetqueue.rules import app_wrappers, runtime_patches, spark_pods, train_jobs

from .mutations import Mutation, always, kept_workload, nothing

started, shape = single_pods.started, roles.shape
pod_sets, workload_changes = stateful_set_rules.pod_sets, leader_worker_set_rules.workload_changes


def first(*args: Any) -> Any:
    """Return what a function is given first."""
    return args[0]


INTEGRATION_MUTATIONS = (
    Mutation(
        "pod_rules._held adds no finalizer",
        pod_rules,
        "_held",
        first,
        ("pod: one that does not fit waits at the gate",),
    ),
    Mutation(
        "pod_rules._gated adds no gate and no role",
        pod_rules,
        "_gated",
        first,
        ("pod: one that does not fit waits at the gate",),
    ),
    Mutation(
        "JobContext.has_managed_ancestor is always false",
        JobContext,
        "has_managed_ancestor",
        always(False),
        ("external: a pod below an object with a queue is left alone",),
    ),
    Mutation(
        "JobContext.has_default_queue is always false",
        JobContext,
        "has_default_queue",
        always(False),
        (
            "pod: it gets the default queue of its namespace",
            "stateful set: it gets the default queue of its namespace",
        ),
    ),
    Mutation(
        "single_pods.started lets every gate go",
        single_pods,
        "started",
        lambda pod, info: without_field(started(pod, info), ("spec", "schedulingGates")),
        ("pod: a gate of somebody else stays",),
    ),
    Mutation(
        "SinglePods.ending is always None",
        SinglePods,
        "ending",
        always(None),
        (
            "pod: it succeeds",
            "pod: it fails",
        ),
    ),
    Mutation(
        "SinglePods.pods_ready is always false",
        SinglePods,
        "pods_ready",
        always(False),
        ("pod: it runs with the labels of its flavor",),
    ),
    Mutation(
        "PodWrites.let_go does nothing",
        PodWrites,
        "let_go",
        nothing,
        (
            "pod: one that waits and is deleted takes its Workload along",
            "pod: it succeeds",
        ),
    ),
    Mutation(
        "PodWrites.end only deletes, and says nothing",
        PodWrites,
        "end",
        (lambda self, pod, cause: self.delete(pod)),
        ("pod: a deactivated one is deleted",),
    ),
    Mutation(
        "pod_rules._common_faults finds nothing", pod_rules, "_common_faults", always(()), ("pod: what is refused",)
    ),
    Mutation("pod_rules.not_a_count finds nothing", pod_rules, "not_a_count", always(""), ("pod: what is refused",)),
    Mutation(
        "pod_rules.is_unretriable is always false",
        pod_rules,
        "is_unretriable",
        always(False),
        ("pod group: neither its name nor that it is not retried can change",),
    ),
    Mutation(
        "job_rules.change_faults finds nothing",
        job_rules,
        "change_faults",
        always([]),
        ("pod: one that runs keeps its queue and its time",),
    ),
    Mutation(
        "roles.shape is the requests only",
        roles,
        "shape",
        lambda spec: {"containers": shape(spec)["containers"]},
        ("pod group: what makes a role",),
    ),
    Mutation(
        "group_workloads.is_complete is always true",
        group_workloads,
        "is_complete",
        always(True),
        ("pod group: it waits for its last pod",),
    ),
    Mutation(
        "PodGroup.is_fast is always false",
        PodGroup,
        "is_fast",
        property(always(False)),
        ("pod group: a fast one counts the pods that did not come yet",),
    ),
    Mutation(
        "group_workloads.check finds nothing",
        group_workloads,
        "check",
        always(None),
        (
            "pod group: its pods name two queues",
            "pod group: its pods say two counts",
        ),
    ),
    Mutation(
        "groups.sorted_able does not sort",
        groups,
        "sorted_able",
        lambda pods: list(pods)[::-1],
        ("pod group: one pod too many from the beginning is deleted",),
    ),
    Mutation(
        "groups._last_active is always now",
        groups,
        "_last_active",
        lambda pod, now: now,
        ("pod group: of two failed pods the one that failed first is replaced",),
    ),
    Mutation(
        "groups.can_run is true of failed pods",
        groups,
        "can_run",
        lambda pod: not ("deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName")),
        (
            "pod group: a failed pod waits for its replacement",
            "pod group: a failed pod is replaced",
        ),
    ),
    Mutation(
        "PodGroup.is_unretriable is always false",
        PodGroup,
        "is_unretriable",
        property(always(False)),
        ("pod group: one that is not retried ends with its last pod",),
    ),
    Mutation(
        "PodGroup.is_unretriable is always true",
        PodGroup,
        "is_unretriable",
        property(always(True)),
        ("pod group: a deactivated one is deleted",),
    ),
    Mutation(
        "PodGroups.reclaimable is always nothing",
        PodGroups,
        "reclaimable",
        always([]),
        ("pod group: what a pod of it used is free when it succeeds",),
    ),
    Mutation("PodGroups.ending is always None", PodGroups, "ending", always(None), ("pod group: it succeeds",)),
    Mutation(
        "PodGroups.is_suspended is always false",
        PodGroups,
        "is_suspended",
        lambda self, job: all(not [g for g in [1]] for _ in job.pods),
        ("pod group: its last pod comes",),
    ),
    Mutation(
        "groups.replacement_condition is always None",
        groups,
        "replacement_condition",
        always(None),
        ("pod group: a failed pod waits for its replacement",),
    ),
    Mutation(
        "groups.stands_for is always true",
        groups,
        "stands_for",
        always(True),
        ("pod group: the Workload made beforehand is too small",),
    ),
    Mutation(
        "GroupMatching._remove does nothing",
        GroupMatching,
        "_remove",
        nothing,
        ("pod group: one pod too many from the beginning is deleted",),
    ),
    Mutation(
        "GroupMatching._refuse does nothing",
        GroupMatching,
        "_refuse",
        nothing,
        ("pod group: a Workload of somebody else has its name",),
    ),
    Mutation(
        "GroupMatching._owned_by_all leaves the owners",
        GroupMatching,
        "_owned_by_all",
        kept_workload,
        (
            "pod group: a failed pod is replaced",
            "pod group: its Workload was made beforehand",
        ),
    ),
    Mutation(
        "GroupMatching._let_go does nothing",
        GroupMatching,
        "_let_go",
        nothing,
        ("pod group: a failed pod is replaced",),
    ),
    Mutation(
        "PodGroupWriter.finalize does nothing",
        PodGroupWriter,
        "finalize",
        nothing,
        ("pod group: it succeeds",),
    ),
    Mutation(
        "parent_rules.completed_deployment leaves the template",
        parent_rules,
        "completed_deployment",
        lambda context, d: d,
        ("deployment: each pod has its own Workload",),
    ),
    Mutation(
        "parent_rules.queue_labels is nothing",
        parent_rules,
        "queue_labels",
        always({}),
        (
            "deployment: its pods have its priority",
            "leader worker set: the pods of a group run together",
        ),
    ),
    Mutation(
        "parent_rules.parent_faults finds nothing",
        parent_rules,
        "parent_faults",
        always([]),
        (
            "deployment: one that runs keeps its queue",
            "leader worker set: one that runs keeps its queue",
        ),
    ),
    Mutation(
        "parent_rules.ready_replicas is always 1",
        parent_rules,
        "ready_replicas",
        always(1),
        (
            "deployment: one that waits goes to another queue",
            "stateful set: one that waits goes to another queue",
        ),
    ),
    Mutation(
        "stateful_set_rules.pod_sets asks for one pod",
        stateful_set_rules,
        "pod_sets",
        lambda stateful_set: [{**one, "count": 1} for one in pod_sets(stateful_set)],
        ("stateful set: its pods run, by one Workload",),
    ),
    Mutation(
        "stateful_set_rules.is_of_another is always false",
        stateful_set_rules,
        "is_of_another",
        always(False),
        ("stateful set: one whose pods wait for somebody else is not admitted",),
    ),
    Mutation(
        "serving_rules._scale_faults finds nothing",
        serving_rules,
        "_scale_faults",
        always([]),
        ("stateful set: its size does not change",),
    ),
    Mutation(
        "serving_rules.shape_faults finds nothing",
        serving_rules,
        "shape_faults",
        always([]),
        (
            "stateful set: its pods ask for the same always",
            "leader worker set: what cannot change",
        ),
    ),
    Mutation(
        "workload_state.is_on_hold is always false",
        workload_state,
        "is_on_hold",
        always(False),
        ("stateful set: from zero it is admitted again",),
    ),
    Mutation(
        "WorkloadWrites.put_on_hold does nothing",
        WorkloadWrites,
        "put_on_hold",
        nothing,
        ("stateful set: scaled to zero it is on hold",),
    ),
    Mutation(
        "parent_pods.is_outdated is always false",
        parent_pods,
        "is_outdated",
        always(False),
        ("stateful set: another image is rolled out to pods that wait",),
    ),
    Mutation(
        "PodGroup.is_serving is always false",
        PodGroup,
        "is_serving",
        property(always(False)),
        ("pod group: one that serves does not end with its pods",),
    ),
    Mutation(
        "leader_worker_set_rules.has_leaders is always false",
        leader_worker_set_rules,
        "has_leaders",
        always(False),
        ("leader worker set: leaders and workers are two pod sets",),
    ),
    Mutation(
        "leader_worker_set_rules.size is always 1",
        leader_worker_set_rules,
        "size",
        always(1),
        ("leader worker set: each group has a Workload",),
    ),
    Mutation(
        "leader_worker_set_rules._groups looks not at surges",
        leader_worker_set_rules,
        "_groups",
        lambda s: int(s["spec"].get("replicas", 1)),
        ("leader worker set: more groups than asked for while another template is rolled out",),
    ),
    Mutation(
        "leader_worker_set_rules._kept keeps all",
        leader_worker_set_rules,
        "_kept",
        dict,
        ("leader worker set: what is different in each group is not asked for",),
    ),
    Mutation(
        "leader_worker_set_rules._role is always main",
        leader_worker_set_rules,
        "_role",
        always("main"),
        ("leader worker set: the pods of a group run together",),
    ),
    Mutation(
        "leader_worker_set_rules.component is nothing",
        leader_worker_set_rules,
        "component",
        always({}),
        ("leader worker set: it grows",),
    ),
    Mutation(
        "leader_worker_set_rules.workload_changes deletes none",
        leader_worker_set_rules,
        "workload_changes",
        lambda made, there: workload_changes(made, there)._replace(delete=[]),
        (
            "leader worker set: it shrinks, and its last group goes",
            "leader worker set: scaled to zero it has no Workload",
        ),
    ),
    Mutation(
        "leader_worker_set_rules.workload_changes creates none",
        leader_worker_set_rules,
        "workload_changes",
        lambda made, there: workload_changes(made, there)._replace(create=[]),
        ("leader worker set: it grows",),
    ),
    Mutation(
        "LeaderWorkerSetReconciler._follow does nothing",
        LeaderWorkerSetReconciler,
        "_follow",
        nothing,
        (
            "leader worker set: one that waits goes to another queue",
            "leader worker set: it gets another priority",
        ),
    ),
    Mutation(
        "serving_rules.MOST_REPLICAS is one",
        serving_rules,
        "MOST_REPLICAS",
        1,
        ("leader worker set: each group has a Workload",),
    ),
    Mutation(
        "Ancestors.is_below_managed is always false",
        Ancestors,
        "is_below_managed",
        always(False),
        ("external: a stateful set below an object with a queue is left alone",),
    ),
    Mutation(
        "Ancestors.is_external is always false",
        Ancestors,
        "is_external",
        always(False),
        ("external: a job below an object with a queue is not admitted itself",),
    ),
    Mutation(
        "WorkloadFollowing.follow_gate does nothing",
        WorkloadFollowing,
        "follow_gate",
        kept_workload,
        (
            "stateful set: it is gated by somebody else, and then not",
            "pod: it is gated by somebody else, and then not",
        ),
    ),
    Mutation(
        "TrainJobIntegration.completed adds no patch",
        TrainJobIntegration,
        "completed",
        lambda self, job: job,
        ("train job: without a queue it is left alone",),
    ),
    Mutation(
        "train_job._given gives only names",
        train_job,
        "_given",
        lambda info: {"name": info.name},
        ("train job: it runs with what its flavor gives, in a patch",),
    ),
    Mutation(
        "TrainJobIntegration.restored leaves the patch",
        TrainJobIntegration,
        "restored",
        lambda self, job, infos: job,
        ("train job: a deactivated one is as before",),
    ),
    Mutation(
        "TrainJobIntegration.is_active is always false",
        TrainJobIntegration,
        "is_active",
        always(False),
        ("train job: a deactivated one waits until its pods are gone",),
    ),
    Mutation(
        "TrainJobIntegration.ending is always None",
        TrainJobIntegration,
        "ending",
        always(None),
        (
            "train job: it is complete",
            "train job: it fails",
        ),
    ),
    Mutation(
        "TrainJobIntegration.reclaimable is always nothing",
        TrainJobIntegration,
        "reclaimable",
        always([]),
        ("train job: what succeeded is free",),
    ),
    Mutation(
        "TrainJobIntegration.pods_ready is always false",
        TrainJobIntegration,
        "pods_ready",
        always(False),
        ("train job: its pods are ready",),
    ),
    Mutation(
        "train_jobs._pods is always 1",
        train_jobs,
        "_pods",
        always(1),
        ("train job: it runs with what its flavor gives, in a patch",),
    ),
    Mutation(
        "train_jobs._container is the runtime's",
        train_jobs,
        "_container",
        lambda job, policy, part, ancestor, container: container,
        (
            "train job: it says itself how many nodes it has, and what each asks for",
            "train job: its runtime prepares data before",
        ),
    ),
    Mutation(
        "train_jobs.runtime_kind is always the namespace's",
        train_jobs,
        "runtime_kind",
        always(TrainingRuntime),
        (
            "train job: its runtime is the cluster's",
            "train job: its runtime is of a kind that nobody knows",
        ),
    ),
    Mutation(
        "runtime_patches.patched looks at no patch",
        runtime_patches,
        "patched",
        lambda part, patches: part,
        ("train job: somebody else patches its runtime, too",),
    ),
    Mutation(
        "job_rules.missing_faults finds nothing",
        job_rules,
        "missing_faults",
        always([]),
        ("train job: its runtime is not there",),
    ),
    Mutation(
        "AppWrapperIntegration.started gives nothing",
        AppWrapperIntegration,
        "started",
        lambda self, job, infos: self.job_kind.with_suspension(job, suspend=False),
        ("app wrapper: it runs with what its flavor gives",),
    ),
    Mutation(
        "AppWrapperIntegration.restored leaves what was given",
        AppWrapperIntegration,
        "restored",
        lambda self, job, infos: job,
        ("app wrapper: a deactivated one is as before",),
    ),
    Mutation(
        "AppWrapperIntegration.is_active is always false",
        AppWrapperIntegration,
        "is_active",
        always(False),
        ("app wrapper: a deactivated one keeps its quota while its operator does",),
    ),
    Mutation(
        "AppWrapperIntegration.ending is always None",
        AppWrapperIntegration,
        "ending",
        always(None),
        (
            "app wrapper: it succeeds",
            "app wrapper: it fails",
        ),
    ),
    Mutation(
        "AppWrapperIntegration.pods_ready is always false",
        AppWrapperIntegration,
        "pods_ready",
        always(False),
        ("app wrapper: its pods are ready",),
    ),
    Mutation(
        "app_wrapper._pull_policy is always Always",
        app_wrapper,
        "_pull_policy",
        always("Always"),
        ("app wrapper: pod sets of known kinds need not be said",),
    ),
    Mutation(
        "app_wrappers.inferred knows no kind",
        app_wrappers,
        "inferred",
        always([]),
        ("app wrapper: pod sets of known kinds need not be said",),
    ),
    Mutation(
        "app_wrappers.field_of is always None",
        app_wrappers,
        "field_of",
        always(None),
        ("app wrapper: it runs with what its flavor gives",),
    ),
    Mutation(
        "spark_application._changed changes nothing",
        spark_application,
        "_changed",
        lambda job, infos, change: job,
        (
            "spark application: it runs with what its flavor gives",
            "spark application: a selector for all becomes each one's",
        ),
    ),
    Mutation(
        "SparkApplicationIntegration.restored leaves what was given",
        SparkApplicationIntegration,
        "restored",
        lambda self, job, infos: job,
        ("spark application: a deactivated one is as before",),
    ),
    Mutation(
        "SparkApplicationIntegration.is_active is always false",
        SparkApplicationIntegration,
        "is_active",
        always(False),
        ("spark application: a deactivated one keeps its quota while it runs",),
    ),
    Mutation(
        "SparkApplicationIntegration.ending is always None",
        SparkApplicationIntegration,
        "ending",
        always(None),
        (
            "spark application: it is completed",
            "spark application: it fails",
        ),
    ),
    Mutation(
        "SparkApplicationIntegration.pods_ready looks only at the driver",
        SparkApplicationIntegration,
        "pods_ready",
        lambda self, job: self.is_active(job),
        ("spark application: an executor is missing",),
    ),
    Mutation(
        "job_rules.spark_application_faults finds nothing",
        job_rules,
        "spark_application_faults",
        always([]),
        ("spark application: what is refused",),
    ),
    Mutation(
        "spark_pods._memory leaves Java's words",
        spark_pods,
        "_memory",
        first,
        ("spark application: what its pods are made of",),
    ),
    Mutation(
        "spark_pods.pods_of is always 1",
        spark_pods,
        "pods_of",
        always(1),
        ("spark application: it runs with what its flavor gives",),
    ),
    Mutation(
        "spark_pods.LOCAL_DIR is no name of a volume",
        spark_pods,
        "LOCAL_DIR",
        "no-such-",
        ("spark application: what its pods are made of",),
    ),
)
