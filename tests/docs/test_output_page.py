"""The fields of reference/output.md are those that commands print."""

import asyncio
import re
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fleetqueue.admin.cluster_draining import DrainState
from fleetqueue.admin.cluster_sets import change_of_set
from fleetqueue.admin.explanations import of_placement
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.inventory import cluster_row, job_row, placement_row, score_row, set_row, verdict_row
from fleetqueue.admin.job_phases import JobPhase
from fleetqueue.admin.placement_verdicts import ClusterVerdict, FleetObjects
from fleetqueue.admin.submitting import Submission
from fleetqueue.admin.uninstalling import Remains
from fleetqueue.admin.unqueued_jobs import unqueued_row
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.cli.fleet_list import looked_at
from fleetqueue.cli.install import InstallState
from fleetqueue.lab.processes import ProcessStatus

JOB = Job.manifest("train", "team-a", labels={kueue.QUEUE_LABEL: "queue"})


def row_of_a_fleet() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fleet.json").write_text("{}")
        return asyncio.run(looked_at(Path(folder)))


CLUSTER = cluster.ManagedCluster.view(cluster.ManagedCluster.manifest("c1"))
PLACEMENT = cluster.Placement.view(cluster.Placement.manifest("gpu", "kueue-system"))
EXPLAINED = of_placement(PLACEMENT, HubState(fleet=FleetObjects(clusters=[CLUSTER])))
OF_EXPLAINED_CLUSTERS = EXPLAINED.clusters[0].keys() - verdict_row(ClusterVerdict("c1", "Chosen", "")) - {"placement"}
"""The fields of a cluster's row that those of `get placements --why` do not have."""
FIRST_CELL = re.compile(r"^\| (`[^|]+) \|", re.MULTILINE)
FIELD = re.compile(r"`([\w.\[\]]+)`")
ROWS = {
    "Jobs": job_row(kueue.Workload.view(kueue.Workload.manifest("w", "team-a")), HubState()),
    "Submissions": {**Submission(Job.resource, JOB).row, "dry_run": False},
    "Phases": JobPhase("team-a", "Job/train", "queued", "", datetime(2026, 1, 1, tzinfo=UTC), 0).row,
    "Drains": DrainState("c1", draining=True, changed=True).row,
    "Changes of cluster sets": change_of_set("s", changed=True),
    "Clusters that left": {"cluster": "c1", "forced": False, "said": []},
    "Installing": asdict(InstallState("", None, "", [])),
    "Uninstalling": {**asdict(Remains()), "removed": False, "change": ""},
    "Clusters": {**cluster_row(CLUSTER, None, ()), "left_out": [], "unread": {}},
    "Cluster sets": set_row(cluster.ManagedClusterSet.view(cluster.ManagedClusterSet.manifest("s")), (), ()),
    "Placements": placement_row(PLACEMENT, ()),
    "Rules that dropped clusters": {"namespace": "", "name": "", **verdict_row(ClusterVerdict("c1", "Chosen", ""))},
    "Scores": score_row(cluster.AddOnPlacementScore.view(cluster.AddOnPlacementScore.manifest("s", "c1"))),
    "Explanations": {**EXPLAINED.row(), **{f"clusters[].{name}": None for name in OF_EXPLAINED_CLUSTERS}},
    "Fleets on this machine": row_of_a_fleet(),
    "Processes": asdict(ProcessStatus("hub/kueue", 1, "up", 1)),
}


def documented(text: str) -> list[set[str]]:
    """Return the fields of each section, in order."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return [{name for cell in FIRST_CELL.findall(section) for name in FIELD.findall(cell)} for section in sections]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_field_is_documented_and_no_other(pages, language):
    assert documented(pages[f"docs/{language}/reference/output.md"]) == [set(row) for row in ROWS.values()]


def test_a_job_without_a_workload_has_the_same_fields():
    assert set(unqueued_row(Job.resource, [JOB], None)) == set(ROWS["Jobs"])
