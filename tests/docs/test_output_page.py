"""The fields of reference/output.md are those that commands print."""

import re
from datetime import UTC, datetime

import pytest

from fleetqueue.admin.cluster_draining import DrainState
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.inventory import job_row
from fleetqueue.admin.job_phases import JobPhase
from fleetqueue.admin.submitting import Submission
from fleetqueue.admin.unqueued_jobs import unqueued_row
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job

JOB = Job.manifest("train", "team-a", labels={kueue.QUEUE_LABEL: "queue"})
ROWS = {
    "Jobs": job_row(kueue.Workload.view(kueue.Workload.manifest("w", "team-a")), HubState()),
    "Submissions": {**Submission(Job.resource, JOB).row, "dry_run": False},
    "Phases": JobPhase("team-a", "Job/train", "queued", "", datetime(2026, 1, 1, tzinfo=UTC), 0).row,
    "Drains": DrainState("c1", draining=True, changed=True).row,
}


def documented(text: str) -> list[set[str]]:
    """Return the fields of each section, in order."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return [set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) for section in sections]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_field_is_documented_and_no_other(pages, language):
    assert documented(pages[f"docs/{language}/reference/output.md"]) == [set(row) for row in ROWS.values()]


def test_a_job_without_a_workload_has_the_same_fields():
    assert set(unqueued_row(Job.resource, [JOB], None)) == set(ROWS["Jobs"])
