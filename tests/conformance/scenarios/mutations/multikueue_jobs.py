"""Rules of what MultiKueue sends: elastic jobs, which grow where they run, and JobSets."""

from fleetqueue.api.job_kinds import JobKind
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import BEST, FlavorAssigner
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobDefaults
from fleetqueue.embedded.multikueue import decisions, elastic_copies
from fleetqueue.embedded.multikueue.adapters import BatchJobAdapter
from fleetqueue.embedded.multikueue.copies import CopyController
from fleetqueue.embedded.multikueue.decisions import GroupStep
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy

from .mutation import Mutation, always, first, nothing, unchanged

MUTATIONS = (
    Mutation(
        "a job says what its copy says",
        BatchJobAdapter,
        "status",
        lambda self, job, copy, now: job.get("status") or {},
        ("an elastic job runs on a worker", "a Job where JobSets are served too"),
    ),
    Mutation(
        "each cluster has its own quota, and no more",
        FlavorAssigner,
        "_fits",
        always((BEST, "")),
        (
            "an elastic job cannot grow on the hub",
            "an elastic job cannot grow where it runs",
            "nobody has quota for a JobSet",
        ),
    ),
    Mutation(
        "a slice goes where the one before it is",
        admission_status,
        "on_cluster_of",
        first,
        ("an elastic job does not grow elsewhere",),
    ),
    Mutation(
        "a copy has the size of the slice that is admitted where it runs",
        elastic_copies,
        "resized_job",
        lambda kind, job, copy, workload: copy,
        (
            "an elastic job grows when there is room where it runs",
            "an elastic job that has grown on a worker ends",
        ),
    ),
    Mutation(
        "a copy goes with its job",
        CopyController,
        "_remove",
        nothing,
        (
            "an elastic job that has grown on a worker is deleted",
            "an elastic job that would grow on a worker is deleted",
            "a JobSet is deleted while it runs",
        ),
    ),
    Mutation(
        "a job of a queue with a MultiKueue check is MultiKueue's",
        JobDefaults,
        "_with_manager",
        unchanged,
        ("a JobSet goes to the worker with quota",),
    ),
    Mutation(
        "a job that names its kind's own controller is MultiKueue's, too",
        JobKind,
        "is_for_own_controller",
        always(False),
        ("a JobSet that names JobSet's own controller",),
    ),
    Mutation(
        "a JobSet asks for the pods of all its Jobs",
        JobSetIntegration,
        "pod_sets",
        lambda self, job: [{**each, "count": 1} for each in TemplateJobs.pod_sets(self, job)],
        ("a JobSet whose two Jobs have quota for one",),
    ),
    Mutation(
        "a JobSet says how it ended",
        JobSetIntegration,
        "ending",
        always(None),
        ("a JobSet ends", "a JobSet fails"),
    ),
    Mutation(
        "what a worker evicts is sent anew",
        RemoteCopy,
        "is_evicted",
        property(always(False)),
        ("a worker evicts a JobSet and another takes it",),
    ),
    Mutation(
        "a job whose copy is gone is sent anew",
        decisions,
        "_placed",
        always(GroupStep()),
        ("the copy of a JobSet is deleted on its worker",),
    ),
)
