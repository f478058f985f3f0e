"""Rules of what MultiKueue sends: Jobs, elastic jobs, which grow where they run, and JobSets."""

from datetime import datetime

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.job_kinds import JobKind
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.job_set import JobSetIntegration
from fleetqueue.embedded.kueue.jobs.template_jobs import TemplateJobs
from fleetqueue.embedded.kueue.scheduling import admission_status
from fleetqueue.embedded.kueue.scheduling.flavor_assigner import BEST, FlavorAssigner
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobDefaults
from fleetqueue.embedded.multikueue import decisions, elastic_copies
from fleetqueue.embedded.multikueue.adapters import BatchJobAdapter, JobAdapter
from fleetqueue.embedded.multikueue.copies import CopyController
from fleetqueue.embedded.multikueue.decisions import GroupStep, Wanted
from fleetqueue.embedded.multikueue.remote import RemoteClient
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy, WorkloadGroup

from .mutation import Mutation, always, first, nothing, unchanged

nominated = decisions._nominated
batch_job_status = BatchJobAdapter.status


def status_without_indexes(self: BatchJobAdapter, job: Manifest, copy: Manifest, now: datetime) -> Manifest:
    status = batch_job_status(self, job, copy, now)
    return {name: value for name, value in status.items() if name not in ("completedIndexes", "failedIndexes")}


MUTATIONS = (
    Mutation(
        "a job says what its copy says",
        BatchJobAdapter,
        "status",
        lambda self, job, copy, now: job.get("status") or {},
        ("an elastic job runs on a worker", "a Job where JobSets are served too", "an indexed job runs"),
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
            "two jobs for one place",
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
            "a job is deleted while it *",
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
        ("a worker evicts a JobSet and another takes it", "a worker evicts a job and another takes it"),
    ),
    Mutation(
        "a job whose copy is gone is sent anew",
        decisions,
        "_placed",
        always(GroupStep()),
        ("the copy of a JobSet is deleted on its worker", "a copy is deleted on its worker"),
    ),
    Mutation(
        "who has admitted a job gets it",
        decisions,
        "_can_win",
        lambda copy: copy.is_connected,
        ("the worker with quota wins", "nobody has quota", "a worker gets quota later", "a worker without the queue"),
    ),
    Mutation(
        "nobody is offered what has no quota on the hub",
        WorkloadGroup,
        "needs_nothing",
        property(lambda self: not self.local.is_live),
        ("the hub has no quota", "a waiting job is deactivated"),
    ),
    Mutation(
        "how a job ended comes back before its copy goes",
        decisions,
        "_finish",
        lambda group, copy: decisions._end(copy, copy.condition(kueue.FINISHED)),
        ("a job ends", "a job fails"),
    ),
    Mutation(
        "which indexes of a job have ended comes back",
        BatchJobAdapter,
        "status",
        status_without_indexes,
        ("an indexed job ends", "an indexed job fails"),
    ),
    Mutation(
        "a copy is evicted before it goes",
        decisions,
        "_wanted_while_leaving",
        always(Wanted.NOTHING),
        ("a running job is deactivated", "the hub's queue is drained"),
    ),
    Mutation(
        "nobody is offered what waits for another check",
        WorkloadGroup,
        "others_are_ready",
        property(always(True)),
        ("another check is waited for",),
    ),
    Mutation(
        "what waited for another check is offered when that is ready",
        WorkloadGroup,
        "others_are_ready",
        property(always(False)),
        ("another check becomes ready",),
    ),
    Mutation(
        "a job of somebody else's is not sent",
        JobAdapter,
        "why_not_managed",
        always(""),
        ("a job of somebody else",),
    ),
    Mutation(
        "somebody else's job on a worker is not taken for a copy",
        CopyController,
        "_look_at_namesake",
        nothing,
        ("a job of the same name is already on the worker",),
    ),
    Mutation(
        "who is listed no more is nominated no more",
        decisions,
        "_nominated",
        lambda group: None if group.local.status.nominated_cluster_names else nominated(group),
        ("a cluster is unlisted while a job waits there",),
    ),
    Mutation(
        "who is listed no more loses its job",
        WorkloadGroup,
        "lists",
        always(True),
        ("a cluster is unlisted while a job runs there",),
    ),
    Mutation(
        "who cannot be reached keeps its job for a while",
        RemoteClient,
        "lost_for",
        property(always(86400.0)),
        ("a profile that is deleted while a job runs",),
    ),
)
