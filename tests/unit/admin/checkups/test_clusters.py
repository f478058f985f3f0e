"""Clocks that differ, as far as the Date of an answer tells, and what OCM's agents say of theirs."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.checkups import clusters
from fleetqueue.admin.checkups.listings import ahead
from fleetqueue.admin.checkups.placements import PLACEMENT_REFERENCE
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects, WorkerSurvey
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.testing.builders import condition

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NOON = "Fri, 01 May 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("date", "sent", "answered", "seconds"),
    [
        pytest.param(NOON, 0.0, 0.2, 0.0, id="the same"),
        pytest.param(NOON, 0.9, 1.0, 0.0, id="within its second"),
        pytest.param(NOON, -4.0, 6.0, 0.0, id="a slow answer explains it"),
        pytest.param(NOON, -30.0, -29.0, 29.0, id="ahead"),
        pytest.param(NOON, 30.0, 31.0, -29.0, id="behind"),
        pytest.param("", 0.0, 0.1, None, id="no header"),
        pytest.param("yesterday", 0.0, 0.1, None, id="no time"),
    ],
)
def test_a_clock_is_read_from_an_answer(date, sent, answered, seconds):
    found = ahead(date, NOW + timedelta(seconds=sent), NOW + timedelta(seconds=answered))

    assert found == (pytest.approx(seconds) if seconds is not None else None)


@pytest.mark.parametrize(
    ("hub", "worker", "told"),
    [
        pytest.param(0.0, 0.0, [], id="all the same"),
        pytest.param(4.9, 4.9, [], id="as far as it may"),
        pytest.param(60.0, 60.0, ["hub"], id="only this machine differs"),
        pytest.param(0.0, -60.0, ["w1"], id="the worker differs"),
        pytest.param(60.0, 0.0, ["hub", "w1"], id="the hub differs"),
        pytest.param(None, 60.0, [], id="the hub's is not known"),
        pytest.param(60.0, None, ["hub"], id="the worker's is not known"),
    ],
)
def test_clocks_that_differ_are_told(hub, worker, told):
    fleet = FleetSurvey(NOW, ahead=hub, workers=[WorkerSurvey("w1", ahead=worker)])

    findings = list(clusters.clocks(fleet))

    assert [finding.cluster for finding in findings] == told
    assert {finding.code for finding in findings} <= {"ClockSkew"}


def test_what_an_agent_says_of_its_clock_is_told():
    said = {"type": cluster.CLOCK_SYNCED, "status": "False", "reason": "ClockOutOfSync", "message": "m"}
    managed = cluster.ManagedCluster.view(cluster.ManagedCluster.manifest("w1", status={"conditions": [said]}))

    (finding,) = clusters.clocks(FleetSurvey(NOW, SeenObjects({cluster.ManagedCluster: [managed]})))

    assert (finding.code, finding.cluster) == ("ClockSkew", "w1")


def managed(name, *, accepted=True, available="", deleting=False):
    conditions = [{"type": cluster.AVAILABLE, "status": available, "reason": "r", "message": "m"}] if available else []
    manifest = cluster.ManagedCluster.manifest(
        name, spec={"hubAcceptsClient": accepted}, status={"conditions": conditions}
    )
    if deleting:
        manifest["metadata"]["deletionTimestamp"] = "2026-05-01T11:00:00Z"
    return cluster.ManagedCluster.view(manifest)


@pytest.mark.parametrize(
    ("one", "code"),
    [
        pytest.param(managed("a"), None, id="no agent keeps its conditions"),
        pytest.param(managed("a", available="True"), None, id="available"),
        pytest.param(managed("a", available="False"), "ClusterUnavailable", id="its API does not answer"),
        pytest.param(managed("a", available="Unknown"), "ClusterUnavailable", id="its agent is silent"),
        pytest.param(managed("a", accepted=False, available="Unknown"), "ClusterNotAccepted", id="not accepted"),
        pytest.param(managed("a", accepted=False, deleting=True), None, id="it leaves"),
    ],
)
def test_registrations_are_judged(one, code):
    findings = list(clusters.registrations(FleetSurvey(NOW, SeenObjects({cluster.ManagedCluster: [one]}))))

    assert [finding.code for finding in findings] == ([code] if code else [])


@pytest.mark.parametrize(
    ("name", "created", "is_told"),
    [
        pytest.param("c1", NOW - timedelta(hours=1), True, id="left out"),
        pytest.param("c1", NOW - timedelta(seconds=5), False, id="new, and not looked at to the end"),
        pytest.param("c2", NOW - timedelta(hours=1), False, id="another"),
    ],
)
def test_a_cluster_that_is_selected_and_left_out_is_told(name, created, is_told):
    manifest = cluster.ManagedCluster.manifest(name)
    manifest["metadata"]["creationTimestamp"] = timestamp(created)
    check = kueue.AdmissionCheck.manifest(
        "ac",
        spec={"controllerName": CHECK_CONTROLLER, "parameters": {**PLACEMENT_REFERENCE, "name": "gpu"}},
        status={"conditions": [condition("Active", message=messages.generated({"gpu-c1": "it is old (really)"})[1])]},
    )
    objects = {
        cluster.ManagedCluster: [cluster.ManagedCluster.view(manifest)],
        kueue.AdmissionCheck: [kueue.AdmissionCheck.view(check)],
    }

    found = list(clusters.left_out(FleetSurvey(NOW, SeenObjects(objects))))

    assert [(one.code, one.cluster, one.wrong) for one in found] == (
        [("ClusterLeftOut", "c1", "AdmissionCheck ac leaves it out: it is old (really)")] if is_told else []
    )
