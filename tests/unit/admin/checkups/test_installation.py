"""What is installed, which versions were tested, who keeps the Lease, and what Kueue runs with."""

from datetime import UTC, datetime, timedelta

import pytest

from fleetqueue.admin.checkups import installation
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects, WorkerSurvey
from fleetqueue.admin.checkups.system_parts import ControllerLease, KueuePart, OcmPart
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import Placement
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import Configuration
from fleetqueue.api.running_kueue import RunningKueue
from fleetqueue.fleets.product_processes import CONTROLLER
from fleetqueue.lab.cluster_names import HUB

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
OURS, OTHERS = Configuration(dispatcher_name=DISPATCHER_NAME), Configuration()
CHECK = kueue.AdmissionCheck.view(
    kueue.AdmissionCheck.manifest("gpu", spec={"controllerName": CHECK_CONTROLLER}, status={})
)


def codes(findings):
    return [finding.code for finding in findings]


def test_a_hub_without_kinds_says_what_to_install():
    objects = SeenObjects(unserved=frozenset({kueue.MultiKueueConfig, Placement}))

    findings = list(installation.missing_kinds(FleetSurvey(NOW, objects)))

    assert codes(findings) == ["KindMissing", "KindMissing"]
    assert "multikueueconfigs.kueue.x-k8s.io" in findings[0].wrong
    assert "Open Cluster Management" in findings[1].steps[0].sentence


def test_a_worker_without_kueue_is_named():
    worker = WorkerSurvey("w1", objects=SeenObjects(unserved=frozenset({kueue.LocalQueue})))

    (finding,) = installation.missing_kinds(FleetSurvey(NOW, workers=[worker]))

    assert (finding.code, finding.cluster) == ("KindMissing", "w1")


@pytest.mark.parametrize(
    ("what", "version", "is_tested"),
    [
        ("Kubernetes", "v1.36.3+k3s1", True),
        ("Kubernetes", "v1.34.0", True),
        ("Kubernetes", "v1.33.9", False),
        ("Kubernetes", "v1.37.0", False),
        ("Kueue", "v0.16.6", True),
        ("Kueue", "0.15.2", False),
        ("Kueue", "v0.20.0", False),
        ("Kueue", "v0.9.1", False),
        ("Open Cluster Management", "v1.2.1", True),
        ("Open Cluster Management", "v1.1.0", False),
        ("Open Cluster Management", "v0.16.0", False),
        ("Kueue", "latest", True),
        ("Kueue", "", True),
    ],
)
def test_versions_are_told_from_those_that_were_tested(what, version, is_tested):
    assert installation.is_tested(what, version) is is_tested


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.k8s.io/kueue/kueue:v0.19.2", "v0.19.2"),
        ("registry:5000/kueue/kueue:v0.19.2", "v0.19.2"),
        ("registry:5000/kueue/kueue", ""),
        ("kueue:v0.19.2@sha256:aa", "v0.19.2"),
        ("kueue@sha256:0123", ""),
        ("kueue:main", ""),
    ],
)
def test_the_version_of_a_part_is_the_tag_of_its_image(image, version):
    assert manager(image).version == version


def manager(image: str, kind=KueuePart) -> KueuePart:
    template = {"spec": {"containers": [{"image": image}]}}
    return kind.view(kind.manifest("manager", "kueue-system", spec={"template": template}, status={}))


def test_an_old_part_is_told_once_with_its_cluster():
    parts = [manager("ocm/placement:v1.0.0", OcmPart), manager("ocm/work:v1.0.0", OcmPart)]
    fleet = FleetSurvey(NOW, version="v1.30.1", workers=[WorkerSurvey("w1", objects=SeenObjects({OcmPart: parts}))])

    findings = list(installation.versions(fleet))

    assert [(finding.cluster, finding.kind) for finding in findings] == [
        ("hub", "Kubernetes"),
        ("w1", "Open Cluster Management"),
    ]


def lease(holder: str = "me", age: float = 1.0) -> ControllerLease:
    spec = {"holderIdentity": holder, "renewTime": micro_timestamp(NOW - timedelta(seconds=age))}
    return ControllerLease.view(ControllerLease.manifest("fleetqueue-controller", "fleetqueue-system", spec=spec))


@pytest.mark.parametrize(
    ("leases", "checks", "running", "is_told"),
    [
        pytest.param([lease()], [CHECK], OURS, False, id="it is kept"),
        pytest.param([lease("")], [CHECK], OTHERS, True, id="nobody holds it"),
        pytest.param([lease(age=61)], [CHECK], OTHERS, True, id="it was not renewed"),
        pytest.param([lease(age=61), lease()], [CHECK], OTHERS, False, id="one of two is kept"),
        pytest.param([], [CHECK], OTHERS, True, id="there is none"),
        pytest.param([], [], OTHERS, False, id="nobody needs it"),
        pytest.param([], [], OURS, True, id="Kueue waits for us"),
    ],
)
def test_a_silent_controller_is_told_where_somebody_depends_on_it(leases, checks, running, is_told):
    objects = SeenObjects({ControllerLease: leases, kueue.AdmissionCheck: checks})
    fleet = FleetSurvey(NOW, objects, kueue=RunningKueue(running, (running,)))

    assert codes(installation.controller_silent(fleet)) == (["ControllerSilent"] if is_told else [])


def test_who_has_no_deployment_of_ours_is_told_the_process_of_a_lab():
    (finding,) = installation.controller_silent(FleetSurvey(NOW, SeenObjects({kueue.AdmissionCheck: [CHECK]})))

    assert finding.steps[0].sentence.endswith(f"in a lab: fleetqueue restart {HUB}/{CONTROLLER}")


def check_saying(message: str) -> kueue.AdmissionCheck:
    said = {"type": "Dispatching", "status": "True", "reason": "KueueRestartNeeded", "message": message}
    manifest = kueue.AdmissionCheck.manifest(
        "gpu", spec={"controllerName": CHECK_CONTROLLER}, status={"conditions": [said]}
    )
    return kueue.AdmissionCheck.view(manifest)


NOT_IN_FORCE = "ConfigMap a/b was changed (x), and Kueue reads it only then: {} is not in force yet; fleetqueue goes on"


@pytest.mark.parametrize(
    ("kueue_now", "checks", "found"),
    [
        pytest.param(RunningKueue(OURS, (OURS,)), [CHECK], [], id="ours"),
        pytest.param(RunningKueue(OTHERS, (OTHERS,)), [], [], id="Kueue's own, and no check"),
        pytest.param(RunningKueue(OTHERS, (OTHERS,)), [CHECK], ["OtherDispatcher"], id="Kueue's own beside checks"),
        pytest.param(
            RunningKueue(Configuration(dispatcher_name="a/b"), ()), [], ["UnknownDispatcher"], id="somebody else's"
        ),
        pytest.param(
            RunningKueue(OURS, (OURS, OTHERS), outdated=("p",)), [CHECK], ["DispatcherNotInForce"], id="two may run"
        ),
        pytest.param(
            RunningKueue(OURS, (OURS,), is_known=False, outdated=("p",)), [], ["KueueRestartNeeded"], id="not known"
        ),
        pytest.param(
            RunningKueue(OURS, (OURS,), is_known=False, outdated=("p",)),
            [check_saying(NOT_IN_FORCE.format("multiKueue.workerLostTimeout"))],
            ["KueueRestartNeeded"],
            id="the controller knows that something else was changed",
        ),
        pytest.param(
            RunningKueue(OURS, (OURS,), is_known=False, outdated=("p",)),
            [check_saying(NOT_IN_FORCE.format("multiKueue.dispatcherName, featureGates"))],
            ["DispatcherNotInForce"],
            id="the controller knows that the dispatcher was changed",
        ),
        pytest.param(
            RunningKueue(OURS, (OURS, Configuration(dispatcher_name=DISPATCHER_NAME, origin="o")), outdated=("p",)),
            [],
            ["KueueRestartNeeded"],
            id="only the origin may differ",
        ),
        pytest.param(None, [CHECK], [], id="not seen"),
    ],
)
def test_the_dispatcher_that_is_written_is_compared_with_the_running_one(kueue_now, checks, found):
    fleet = FleetSurvey(NOW, SeenObjects({kueue.AdmissionCheck: checks}), kueue=kueue_now, config_map="kueue-system/c")

    findings = list(installation.dispatcher(fleet))

    assert codes(findings) == found
    assert all((finding.namespace, finding.name) == ("kueue-system", "c") for finding in findings)
