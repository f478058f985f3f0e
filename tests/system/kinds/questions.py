"""What is asked of every kind, and where the answer is another one than for most."""

from tests import job_kinds as kinds
from tests.job_kinds import JobKind

PLACEMENT, NOMINATION, COPY, STATUS = "placement", "nomination", "copy", "status back"
ENDING, FAILURE, STOP, SUSPENSION = "ending", "failure", "stop", "suspension"
PRIORITY, DRAIN, DELETION = "priority change", "drain", "deletion"
QUESTIONS = {
    PLACEMENT: "our check is Ready, and the job is on a cluster that the Placement chose",
    NOMINATION: "only chosen clusters were nominated",
    COPY: "one worker has a copy of it and its pods, no other has, and none of its pods runs on the hub",
    STATUS: "the hub says of the job what the worker does",
    ENDING: "it ends by itself: its Workload has Succeeded, and no worker has anything of it",
    FAILURE: "its pods fail: its Workload has Failed, and no worker has anything of it",
    STOP: "its user sets `active: false`: it goes from its worker, and runs again when that is `true`",
    SUSPENSION: "its user sets its own `suspend: true`: Kueue takes that back, and its pods run on",
    PRIORITY: "another priority class on the hub is that of the Workload on the worker, too",
    DRAIN: "when the Placement drops its cluster, it runs on there and the cluster stays listed",
    DELETION: "deleted on the hub, it goes from its worker",
}
KINDS = (
    *kinds.SHIPPED,
    *kinds.KUBEFLOW,
    kinds.JAX_JOB,
    kinds.PIPELINE,
    kinds.DEPLOYMENT,
    kinds.SPARK_APPLICATION,
)
SERVING = (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET, kinds.RAY_CLUSTER, kinds.RAY_SERVICE, kinds.DEPLOYMENT)
"""They run until somebody deletes them."""
NO_STATUS = (kinds.STATEFUL_SET, kinds.LEADER_WORKER_SET)
"""The hub's own controllers count the hub's pods."""
KEEPS_PRIORITY = (kinds.STATEFUL_SET,)
"""Its pods, whose labels count, keep the class with which they were made."""
COUNTS_ENDS = (kinds.POD_GROUP,)
"""When no pod is left to run, its Workload has Succeeded, and says how many pods have."""
REFUSED = (kinds.JAX_JOB,)
"""Kueue on the worker refuses the copy."""
STAYS = (kinds.SPARK_APPLICATION,)
"""MultiKueue has no adapter for it: it runs on the hub, or nowhere."""
RUN_AGAIN = (kinds.JOB, kinds.ELASTIC_JOB, kinds.POD, kinds.STATEFUL_SET, kinds.PIPELINE)
"""Those that can be stopped on the real Kueue: it sees them stopped when their copies have gone, or their own
controller says so."""
STAY_STOPPED = tuple(kind for kind in KINDS if kind.running and kind not in (*REFUSED, *RUN_AGAIN))
"""Of these it goes on waiting until they are deleted, which an Event says."""
MAKE_PODS = (kinds.JOB, kinds.ELASTIC_JOB, kinds.POD, kinds.POD_GROUP, kinds.STATEFUL_SET, kinds.PIPELINE)
"""Those that have pods on real clusters: Kubernetes' own kinds, and the one whose own controller the test runs."""
NAMES = {kinds.ELASTIC_JOB: "Job, elastic", kinds.POD_GROUP: "Pods of a group", kinds.PIPELINE: "Pipeline, external"}
"""Of those that are not the only ones of their resource."""


def row_name(kind: JobKind) -> str:
    return NAMES.get(kind, kind.resource.kind)


def expected(kind: JobKind) -> set[str]:
    """Return the questions that a kind answers as most do."""
    asked = set(QUESTIONS)
    if kind in SERVING:
        asked -= {ENDING, FAILURE}
    if kind in NO_STATUS:
        asked -= {STATUS}
    if not kind.suspend:
        asked -= {SUSPENSION}
    if kind in KEEPS_PRIORITY:
        asked -= {PRIORITY}
    if kind in COUNTS_ENDS:
        asked -= {FAILURE}
    if kind in REFUSED:
        asked = {PLACEMENT, NOMINATION, DELETION}
    if kind in STAYS:
        asked = {ENDING, FAILURE}
    return asked


def on_real_kueue(kind: JobKind) -> set[str]:
    """Return the questions that `tests/real/product/test_job_kinds.py` asks of a kind; no operator runs there."""
    if kind is kinds.DEPLOYMENT:
        return {COPY, STATUS, DELETION}
    if kind in (*REFUSED, *STAYS):
        return set()
    stop = set() if kind in RUN_AGAIN else {STOP}
    deletion = {DELETION} if kind is kinds.POD_GROUP else set()
    return expected(kind) - stop - deletion


def asked_on_real_kueue(question: str) -> list[JobKind]:
    return [kind for kind in KINDS if question in on_real_kueue(kind)]


def asked(question: str) -> list[JobKind]:
    return [kind for kind in KINDS if question in expected(kind)]
