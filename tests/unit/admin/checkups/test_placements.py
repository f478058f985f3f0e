"""Clusters that taints keep away from every Placement with a check, and what takes those taints off."""

from datetime import UTC, datetime

import pytest

from fleetqueue.admin.checkups import placements
from fleetqueue.admin.checkups.placements import PLACEMENT_REFERENCE
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DRAIN_TAINT, KUEUE_NAMESPACE

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DRAINED = {"key": DRAIN_TAINT, "effect": "NoSelect"}
TAINTED = {"key": "maintenance", "value": "now", "effect": "NoSelect"}
LOST = {"key": cluster.UNREACHABLE_TAINT, "effect": "NoSelect"}
NOBODY_TOLERATES = "no Placement with a check tolerates its taint"


def examined(taints, tolerations):
    reference = {**PLACEMENT_REFERENCE, "name": "gpu"}
    check = {"controllerName": CHECK_CONTROLLER, "parameters": reference}
    objects = {
        kueue.AdmissionCheck: kueue.AdmissionCheck.manifest("gpu", spec=check),
        cluster.Placement: cluster.Placement.manifest("gpu", KUEUE_NAMESPACE, spec={"tolerations": tolerations}),
        cluster.ManagedCluster: cluster.ManagedCluster.manifest("c1", spec={"taints": taints}),
    }
    return FleetSurvey(NOW, SeenObjects({kind: [kind.view(manifest)] for kind, manifest in objects.items()}))


@pytest.mark.parametrize(
    ("taints", "tolerations", "wrong", "command"),
    [
        pytest.param([], [], "", "", id="none"),
        pytest.param([TAINTED], [{"operator": "Exists"}], "", "", id="tolerated"),
        pytest.param([LOST], [], "", "", id="one of OCM's own, which says that it is lost"),
        pytest.param(
            [TAINTED],
            [],
            f"{NOBODY_TOLERATES} maintenance=now:NoSelect",
            """kubectl patch managedclusters.cluster.open-cluster-management.io c1 --type=merge"""
            """ -p '{"spec":{"taints":null}}'""",
            id="of somebody else",
        ),
        pytest.param(
            [DRAINED],
            [],
            f"it was drained on purpose, as by `fleetqueue drain c1`: {NOBODY_TOLERATES} {DRAIN_TAINT}:NoSelect",
            "fleetqueue undrain c1",
            id="drained",
        ),
        pytest.param(
            [DRAINED, TAINTED],
            [{"key": "maintenance", "operator": "Exists"}],
            f"it was drained on purpose, as by `fleetqueue drain c1`: {NOBODY_TOLERATES} {DRAIN_TAINT}:NoSelect",
            "fleetqueue undrain c1",
            id="drained, with a taint that is tolerated",
        ),
    ],
)
def test_a_taint_that_keeps_a_cluster_away_is_told_with_what_takes_it_off(taints, tolerations, wrong, command):
    findings = [(one.code, one.wrong, one.steps) for one in placements.taints(examined(taints, tolerations))]

    told = [(code, text, [step.line({}) for step in steps]) for code, text, steps in findings]
    assert told == ([("ClusterTainted", wrong, [command])] if wrong else [])
