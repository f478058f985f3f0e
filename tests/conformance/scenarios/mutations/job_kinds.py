"""Rules that jobs of all kinds go by, and what each kind says of itself."""

from fleetqueue.embedded.kueue.jobs import kubeflow, ray, template_jobs
from fleetqueue.embedded.kueue.jobs.controller import JobReconciler
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.kubeflow import KubeflowIntegration
from fleetqueue.embedded.kueue.jobs.ray import RayClusterIntegration, RayJobIntegration, RayServiceIntegration
from fleetqueue.embedded.kueue.jobs.suspendable_jobs import SuspendableJobs
from fleetqueue.embedded.kueue.jobs.workload_following import WorkloadFollowing
from fleetqueue.embedded.kueue.jobs.workload_writes import WorkloadWrites
from fleetqueue.embedded.kueue.webhooks import hooks, job_rules
from fleetqueue.rules import ray_pods

from .mutation import Mutation, always, kept_workload, nothing, unchanged

KUBEFLOW = ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")


def each(pattern: str, *kinds: str) -> tuple[str, ...]:
    return tuple(pattern.replace("KIND", kind) for kind in kinds)


ENDS = ("a KIND succeeds", "a KIND fails")
READY = "the pods of a KIND are ready"
HELD = "a deactivated KIND keeps its quota while its pods run"

MUTATIONS = (
    Mutation(
        "what a flavor says is added to the pods of a job that starts",
        template_jobs,
        "merged",
        lambda template, info: template,
        ("a * runs with the labels of its flavor",),
    ),
    Mutation(
        "what was added is taken away when a job stops",
        template_jobs,
        "restored",
        lambda template, info: template,
        ("a deactivated * stops and is as before",),
    ),
    Mutation(
        "a job waits from the beginning",
        SuspendableJobs,
        "suspended",
        unchanged,
        (
            "a * that does not fit waits",
            "a * that somebody starts is stopped",
            "a RayJob for a cluster that is there",
        ),
    ),
    Mutation(
        "a job without a queue is none of Kueue's",
        JobReconciler,
        "_is_managed",
        always(True),
        ("a * without a queue is left alone",),
    ),
    Mutation(
        "pods of Kubeflow are ready when the job runs",
        KubeflowIntegration,
        "pods_ready",
        always(False),
        each(READY, *KUBEFLOW),
    ),
    Mutation(
        "pods of a JobSet are not ready before all are counted",
        JobSetIntegration,
        "pods_ready",
        always(True),
        each(READY, "JobSet"),
    ),
    Mutation(
        "pods of a RayCluster are ready, and there, when it says so",
        RayClusterIntegration,
        "pods_ready",
        always(False),
        (*each(READY, "RayCluster"), *each(HELD, "RayCluster")),
    ),
    Mutation(
        "pods of a RayJob are ready when its cluster is",
        RayJobIntegration,
        "pods_ready",
        always(False),
        each(READY, "RayJob"),
    ),
    Mutation(
        "pods of a RayService are ready, and there, when it says so",
        RayServiceIntegration,
        "pods_ready",
        always(False),
        (*each(READY, "RayService"), *each(HELD, "RayService")),
    ),
    Mutation(
        "a job of Kubeflow says how it ended",
        kubeflow,
        "kubeflow_ending",
        always(None),
        tuple(name for pattern in ENDS for name in each(pattern, *KUBEFLOW)),
    ),
    Mutation(
        "a JobSet says how it ended",
        JobSetIntegration,
        "ending",
        always(None),
        tuple(name for pattern in ENDS for name in each(pattern, "JobSet")),
    ),
    Mutation(
        "a RayJob says how it ended",
        ray,
        "ray_job_ending",
        always(None),
        tuple(name for pattern in ENDS for name in each(pattern, "RayJob")),
    ),
    Mutation(
        "replicas of Kubeflow are counted",
        KubeflowIntegration,
        "is_active",
        always(False),
        each(HELD, *KUBEFLOW),
    ),
    Mutation(
        "the jobs of a JobSet are counted",
        JobSetIntegration,
        "is_active",
        always(False),
        each(HELD, "JobSet"),
    ),
    Mutation(
        "a RayJob has pods until its deployment is suspended",
        RayJobIntegration,
        "is_active",
        always(False),
        each(HELD, "RayJob"),
    ),
    Mutation(
        "a Workload follows the priority of its job",
        WorkloadFollowing,
        "follow_priority",
        kept_workload,
        ("a * has a priority, and gets another",),
    ),
    Mutation(
        "a Workload follows the queue of its job",
        WorkloadFollowing,
        "follow_queue",
        nothing,
        ("a * that waits goes to another queue",),
    ),
    Mutation(
        "a job that runs keeps its queue",
        job_rules,
        "change_faults",
        always([]),
        ("a * that runs cannot change its queue",),
    ),
    Mutation(
        "the Workload of a job that is gone is let go",
        WorkloadWrites,
        "orphan",
        nothing,
        ("a * is deleted",),
    ),
    Mutation(
        "what Kueue does not take of Ray",
        hooks,
        "_OF_MANAGED",
        {},
        (
            "a RayCluster that scales itself",
            "a RayCluster with a group called head",
            "a RayJob that leaves its cluster",
            "a RayJob with a cluster and for another one",
            "a RayJob without a cluster",
            "a RayService that scales itself",
        ),
    ),
    Mutation(
        "who submits a RayJob is a pod, too",
        ray_pods,
        "SUBMITTER_RESOURCES",
        {"requests": {"cpu": "1"}},
        ("a RayJob that a Job submits", "a RayJob that its head submits"),
    ),
    Mutation(
        "the head of a RayCluster asks for what cleans up after it",
        ray_pods,
        "_is_fault_tolerant",
        always(False),
        ("a RayCluster that survives its head",),
    ),
    Mutation(
        "a RayJob that is not valid keeps no quota",
        RayJobIntegration,
        "is_on_hold",
        always(False),
        ("a RayJob that cannot be is on hold",),
    ),
    Mutation(
        "pods of a JobSet that have succeeded do not come again",
        JobSetIntegration,
        "reclaimable",
        always([]),
        ("pods of a JobSet that will not come again",),
    ),
)
