"""Rules of MultiKueue, each made wrong in one way, and the scenarios of kinds that must then end otherwise."""

from fleetqueue.api.job_kinds import JobKind
from fleetqueue.embedded.kueue.jobs.life import JobLife
from fleetqueue.embedded.kueue.pods import group_workloads
from fleetqueue.embedded.kueue.webhooks import job_rules, serving_rules
from fleetqueue.embedded.multikueue.adapters import JobAdapter, RayJobAdapter
from fleetqueue.embedded.multikueue.bound_copies import bound_copy
from fleetqueue.embedded.multikueue.copies import CopyController
from fleetqueue.embedded.multikueue.external_frameworks import ExternalAdapter
from fleetqueue.embedded.multikueue.pod_adapters import PodAdapter
from fleetqueue.embedded.multikueue.serving_adapters import StatefulSetAdapter
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy
from fleetqueue.embedded.multikueue.workloads import MultiKueueWorkloadController
from fleetqueue.rules import workload_slices

from .job_kinds import KUBEFLOW, each
from .mutation import Mutation, always, nothing

OPERATED = (
    *(kind for kind in KUBEFLOW if kind != "JAXJob"),
    "RayCluster",
    "RayJob",
    "RayService",
    "TrainJob",
    "AppWrapper",
)
"""Those that operators run on workers."""
WITH_PRIORITY = ("PyTorchJob", "MPIJob", *OPERATED[5:], "Pod", "group of pods", "LeaderWorkerSet")
"""Those that can get another priority on their worker; the pods of a StatefulSet keep theirs."""
ENDING = tuple(kind for kind in OPERATED if kind not in ("RayCluster", "RayService"))

MUTATIONS = (
    Mutation(
        "a copy is for its own operator",
        JobKind,
        "without_manager",
        lambda self, job: job,
        each("a KIND goes to the worker with quota", *OPERATED),
    ),
    Mutation(
        "the status of a copy comes back",
        JobAdapter,
        "status",
        lambda self, job, copy, now: job.get("status") or {},
        (
            *each("a KIND runs on its worker", *OPERATED),
            *each("a KIND ends", *ENDING),
            *each("a KIND fails", *ENDING),
        ),
    ),
    Mutation(
        "a job of its own operator is given to MultiKueue",
        JobKind,
        "is_for_own_controller",
        lambda self, job: self.manager_of(job) == "",
        ("a * that names its own operator",),
    ),
    Mutation(
        "every worker is offered the Workload",
        CopyController,
        "_offer",
        nothing,
        ("nobody has quota for a *",),
    ),
    Mutation(
        "what a worker evicts is tried anew",
        RemoteCopy,
        "is_evicted",
        property(always(False)),
        ("a worker evicts a * and another takes it",),
    ),
    Mutation(
        "what has gone from its worker is tried anew",
        MultiKueueWorkloadController,
        "_retry",
        nothing,
        each("the copy of a KIND is deleted on its worker", *OPERATED, "Pod", "StatefulSet"),
    ),
    Mutation(
        "what is over on the hub goes from its worker",
        CopyController,
        "_remove",
        nothing,
        ("a * is deleted while it runs", "an elastic * is deleted while it runs", "a * ends", "a * fails"),
    ),
    Mutation(
        "a copy gets the priority of the hub's Workload",
        CopyController,
        "_bring_spec",
        nothing,
        each("a KIND gets another priority class while it runs", *WITH_PRIORITY),
    ),
    Mutation(
        "what is deactivated on the hub stops",
        JobLife,
        "_give_way",
        nothing,
        ("a * is deactivated",),
    ),
    Mutation(
        "what its user suspends on the hub is started again",
        JobLife,
        "_start",
        nothing,
        ("a * is suspended by its user",),
    ),
    Mutation(
        "some is left of the status of a RayJob that is sent anew",
        RayJobAdapter,
        "status",
        JobAdapter.status,
        ("a worker evicts a RayJob and another takes it", "the copy of a RayJob is deleted on its worker"),
    ),
    Mutation(
        "an elastic job has slices of a Workload",
        workload_slices,
        "is_elastic",
        always(False),
        each("an elastic KIND runs on its worker", "RayCluster", "RayJob", "RayService"),
    ),
    Mutation(
        "no worker takes a copy of a JAXJob",
        job_rules,
        "prebuilt_faults",
        always([]),
        ("a JAXJob goes to the worker with quota",),
    ),
    Mutation(
        "the status of a pod's copy comes back",
        PodAdapter,
        "status",
        lambda self, job, copy, now: job.get("status") or {},
        (
            "a Pod goes to the worker with quota",
            "a Pod ends",
            "a Pod fails",
            "a group of pods goes to the worker with quota",
            "a group of pods ends",
            "a group of pods fails",
            "a pod of a group is deleted on *",
        ),
    ),
    Mutation(
        "a group of pods is admitted when it is whole",
        group_workloads,
        "is_complete",
        always(True),
        ("a group of pods that lacks one",),
    ),
    Mutation(
        "the copy of a set says whose it is",
        StatefulSetAdapter,
        "copy",
        lambda self, job, workload, origin: bound_copy(self.kind, job, workload, origin),
        (
            "a StatefulSet goes to the worker with quota",
            "a StatefulSet gets another priority class while it runs",
            "a StatefulSet that makes its pods one by one",
            "a LeaderWorkerSet goes to the worker with quota",
        ),
    ),
    Mutation(
        "a StatefulSet keeps its size while it runs",
        serving_rules,
        "_scale_faults",
        always([]),
        ("a StatefulSet grows while it runs", "a StatefulSet shrinks while it runs"),
    ),
    Mutation(
        "a copy of somebody else's kind is not managed by MultiKueue",
        ExternalAdapter,
        "copy",
        lambda self, job, workload, origin: bound_copy(self.kind, job, workload, origin),
        ("a kind of somebody else goes to the worker with quota",),
    ),
    Mutation(
        "a kind of somebody else says itself who manages it",
        JobAdapter,
        "why_not_managed",
        always(""),
        ("a kind of somebody else that MultiKueue does not manage",),
    ),
    Mutation(
        "the status of a copy of somebody else's kind comes back",
        ExternalAdapter,
        "status",
        lambda self, job, copy, now: job.get("status") or {},
        ("a kind of somebody else runs on its worker", "a kind of somebody else ends"),
    ),
    Mutation(
        "a copy that has gone and whose Workload has not is sent anew",
        CopyController,
        "_send",
        nothing,
        each("the copy of a KIND is deleted on its worker", "kind of somebody else", "LeaderWorkerSet"),
    ),
)
