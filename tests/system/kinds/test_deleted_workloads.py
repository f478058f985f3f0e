"""What becomes of sent jobs whose Workloads are deleted: as on real clusters, they go from their worker.

Sets are sent again, and so are Jobs, since fleetqueue gives them their last status, and jobs whose own controller makes
them another Workload. Pods are deleted with their
Workload. Of all others the hub still says that they run, as their last copies did, and Kueue waits for them to stop:
docs/en/reference/job-kinds.md says what to do.
"""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.virtual_time import advance
from tests.job_kinds import DEPLOYMENT, ELASTIC_JOB, JOB, LEADER_WORKER_SET, PIPELINE, POD, POD_GROUP, STATEFUL_SET

from .arranging import LONG
from .questions import KINDS, REFUSED, STATUS, STAYS, asked, row_name
from .worlds import told

pytestmark = pytest.mark.timeout(600)
SENT_AGAIN = (JOB, ELASTIC_JOB, STATEFUL_SET, LEADER_WORKER_SET, PIPELINE)
PODS = (POD, POD_GROUP)
SENT = [kind for kind in KINDS if kind not in (*REFUSED, *STAYS, DEPLOYMENT)]
RUNS, DELETED, WAITS = "it runs again", "it is deleted", "Kueue waits for it to stop"


def test_a_job_whose_workload_is_deleted_goes_from_its_worker():
    found = {}

    async def story(trial):
        await trial.begin()
        for kind in SENT:
            await trial.submit(kind, kind.manifests(LONG))
        for kind in SENT:
            await trial.has_one_copy(kind)
        for kind in set(SENT).intersection(asked(STATUS)):
            await trial.status_is_back(kind)

        for raw in (await trial.hub.list(kueue.Workload.resource, LONG)).items:
            await trial.hub.delete(kueue.Workload.resource, raw["metadata"]["name"], LONG)
        await advance(60)

        for kind in SENT:
            found[row_name(kind)] = await outcome(trial, kind)

    told(story, workers=1)

    expected = {kind: RUNS if kind in SENT_AGAIN else DELETED if kind in PODS else WAITS for kind in SENT}
    assert found == {row_name(kind): what for kind, what in expected.items()}


async def outcome(trial, kind):
    if await trial.place(kind, LONG):
        return RUNS
    is_gone = await trial.is_gone(kind, LONG)
    if not is_gone:
        return "something is left on the worker"
    return WAITS if await trial.objects(trial.hub, kind, LONG) else DELETED
