"""Why a ClusterQueue cannot admit."""

import pytest

from fleetqueue.embedded.kueue.scheduling.readiness import problems, required_checks

from .objects import check, flavor, group, queue, quota

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"
CHECKS = {
    "good": check("good"),
    "bad": check("bad", active=False),
    "mk1": check("mk1", controller=MULTIKUEUE),
    "mk2": check("mk2", controller=MULTIKUEUE),
    "pr": check("pr", controller=PROVISIONING),
}
FLAVORS = {"default": flavor(), "two": flavor("two"), "racks": flavor("racks", topologyName="t")}
FLAVORS["rows"] = flavor("rows", topologyName="rows")


TWO = group(default=quota(1), two=quota(1))


def checked(*names, flavors=TWO, **spec):
    listed = [{"name": name} if isinstance(name, str) else name for name in names]
    return queue("q", flavors, admissionChecksStrategy={"admissionChecks": listed}, **spec)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        pytest.param(queue(), [], id="all is well"),
        pytest.param(checked("good"), [], id="with a check that works"),
        pytest.param(queue("q", stopPolicy="Hold"), [("Stopped", "is stopped")], id="stopped"),
        pytest.param(
            queue("q", group(a=quota(1), b=quota(1))),
            [("FlavorNotFound", "references missing ResourceFlavor(s): a,b")],
            id="without flavors",
        ),
        pytest.param(
            checked("lost", "bad", "gone"),
            [
                ("AdmissionCheckNotFound", "references missing AdmissionCheck(s): gone,lost"),
                ("AdmissionCheckInactive", "references inactive AdmissionCheck(s): bad"),
            ],
            id="without checks",
        ),
        pytest.param(
            checked("mk1", {"name": "mk2", "onFlavors": ["two"]}, "pr"),
            [
                (
                    "MultipleMultiKueueAdmissionChecks",
                    "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: mk1,mk2",
                ),
                (
                    "MultiKueueAdmissionCheckAppliedPerFlavor",
                    "Cannot specify MultiKueue AdmissionCheck per flavor, found: mk2",
                ),
                (
                    "MultiKueueWithProvisioningRequest",
                    "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: mk1,mk2, pr",
                ),
            ],
            id="checks that do not go together",
        ),
        pytest.param(queue("q", group(racks=quota(1))), [], id="with a topology"),
        pytest.param(
            queue("q", group(rows=quota(1))),
            [("TopologyNotFound", 'there is no Topology "rows" for TAS flavor "rows"')],
            id="without its topology",
        ),
        pytest.param(checked("mk1", flavors=group(rows=quota(1))), [], id="a topology that only workers need"),
        pytest.param(
            checked("mk1", flavors=group(rows=quota(1)), stopPolicy="Hold"),
            [("Stopped", "is stopped"), ("TopologyNotFound", 'there is no Topology "rows" for TAS flavor "rows"')],
            id="a topology that only workers need is said beside others",
        ),
    ],
)
def test_problems(asked, found):
    assert [tuple(each) for each in problems(asked, FLAVORS.get, CHECKS.get, {"racks"}.__contains__)] == found


@pytest.mark.parametrize(
    ("flavors", "names"),
    [
        pytest.param({"default"}, ["good"], id="of all flavors"),
        pytest.param({"two"}, ["good", "pr"], id="of one flavor, too"),
        pytest.param(set(), [], id="of nothing"),
    ],
)
def test_checks_that_must_be_passed(flavors, names):
    assert required_checks(checked("good", {"name": "pr", "onFlavors": ["two"]}), flavors) == names
