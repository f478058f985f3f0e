"""Credentials: how long they hold, what they allow, and to whom the missing rights are granted."""

from datetime import UTC, datetime, timedelta

import pytest
import yaml

from fleetqueue.admin.checkups import credentials
from fleetqueue.admin.checkups.placements import PLACEMENT_REFERENCE
from fleetqueue.admin.checkups.survey import CredentialProof, FleetSurvey, SeenObjects
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, CLUSTER_LABEL, MISSING_KINDS, REFUSED
from fleetqueue.controllers.credentials.secret_content import Issued, secret_manifest
from fleetqueue.controllers.placement_admission import messages
from fleetqueue.controllers.placement_admission.draining import Holdings
from fleetqueue.controllers.placement_admission.names import DRAINING, DRAINING_CONDITION
from fleetqueue.runtime.cluster import OURS
from fleetqueue.testing.builders import by_secret, condition

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NAME = "kueue-admin-c1-kubeconfig"


def secret(hours_left: float = 20.0, annotations: dict[str, str] | None = None, *, ours: bool = True) -> Secret:
    """Build the secret of c1, with a token for a day."""
    expires = NOW + timedelta(hours=hours_left)
    manifest = secret_manifest("c1", "kueue-system", Issued("k", expires - timedelta(days=1), expires), None)
    metadata = manifest["metadata"]
    metadata["labels"] = {CLUSTER_LABEL: "c1", **(OURS if ours else {})}
    metadata["annotations"] = {k: v for k, v in metadata["annotations"].items() if v is not None} | (annotations or {})
    return Secret.view(manifest)


def fleet(*secrets: Secret, **proofs: CredentialProof) -> FleetSurvey:
    return FleetSurvey(NOW, SeenObjects({Secret: secrets}), proofs={proof.secret: proof for proof in proofs.values()})


@pytest.mark.parametrize(
    ("hours", "codes"),
    [
        pytest.param(20.0, [], id="fresh"),
        pytest.param(4.5, [], id="its renewal is just due"),
        pytest.param(2.3, ["CredentialExpiring"], id="nobody has renewed it"),
        pytest.param(0.0, ["CredentialExpired"], id="ended this moment"),
        pytest.param(-9.0, ["CredentialExpired"], id="ended"),
    ],
)
def test_a_credential_that_was_not_renewed_is_told(hours, codes):
    assert [finding.code for finding in credentials.lifetimes(fleet(secret(hours)))] == codes


def test_a_secret_of_somebody_else_is_not_judged_by_its_age():
    foreign = Secret.view(Secret.manifest("other", "kueue-system", data={"kubeconfig": "eA=="}))

    assert list(credentials.lifetimes(fleet(foreign))) == []


@pytest.mark.parametrize(
    ("annotations", "proof", "is_told"),
    [
        pytest.param({}, None, False, id="not asked"),
        pytest.param({}, CredentialProof(NAME, is_refused=True), True, id="refused just now"),
        pytest.param({REFUSED: "2026-05-01T11:00:00Z"}, None, True, id="marked"),
        pytest.param({}, CredentialProof(NAME), False, id="accepted"),
    ],
)
def test_a_refused_credential_is_told(annotations, proof, is_told):
    seen = fleet(secret(annotations=annotations), **({"proof": proof} if proof else {}))

    assert [finding.code for finding in credentials.refusals(seen)] == (["CredentialRefused"] if is_told else [])


DENIED = (("watch", "batch", "jobs"), ("get", "", "namespaces"), ("list", "batch", "jobs"))


def test_rights_that_lack_are_told_verb_by_verb_and_granted_to_the_very_user():
    proof = CredentialProof(NAME, "c1", user="system:serviceaccount:ns:weak", denied=DENIED)

    (finding,) = credentials.rights(fleet(secret(ours=False), proof=proof))

    assert finding.code == "RightMissing"
    assert "may not get namespaces; watch, list jobs.batch on c1" in finding.wrong
    (step,) = finding.steps
    role, binding = yaml.safe_load_all(step.stdin)
    assert step.cluster == "c1"
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"], "resourceNames": ["kube-system"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["watch", "list"]},
    ]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "weak", "namespace": "ns"}]


def test_what_the_controller_grants_is_left_to_it():
    (finding,) = credentials.rights(fleet(secret(), proof=CredentialProof(NAME, denied=DENIED)))

    assert finding.steps[0].words == ()


def test_a_user_that_is_no_account_is_a_user():
    assert credentials.subject("jane")["kind"] == "User"


@pytest.mark.parametrize(
    ("annotations", "proof", "wrong"),
    [
        pytest.param(
            {}, CredentialProof(NAME, unserved=("ray.io/rayjob",)), "c1 does not serve ray.io/rayjob", id="seen"
        ),
        pytest.param({MISSING_KINDS: "it lacks x"}, None, "it lacks x", id="told by the controller"),
        pytest.param({MISSING_KINDS: "it lacks x"}, CredentialProof(NAME), None, id="served by now"),
    ],
)
def test_kinds_that_a_worker_lacks_are_told(annotations, proof, wrong):
    seen = fleet(secret(annotations=annotations), **({"proof": proof} if proof else {}))

    assert [finding.wrong for finding in credentials.rights(seen)] == ([wrong] if wrong else [])


def member(name: str, status: str = "", age: float = 600.0) -> kueue.MultiKueueCluster:
    conditions = [condition(kueue.ACTIVE, status, reason="ClientConnectionFailed", message="m")] if status else []
    manifest = kueue.MultiKueueCluster.manifest(name, spec=by_secret(NAME), status={"conditions": conditions})
    manifest["metadata"]["creationTimestamp"] = (NOW - timedelta(seconds=age)).isoformat()
    return kueue.MultiKueueCluster.view(manifest)


@pytest.mark.parametrize(
    ("one", "is_listed", "is_told"),
    [
        pytest.param(member("m", "True"), True, False, id="connected"),
        pytest.param(member("m", "False"), True, True, id="refused"),
        pytest.param(member("m", "False"), False, False, id="no config lists it"),
        pytest.param(member("m"), True, True, id="never looked at"),
        pytest.param(member("m", age=10), True, False, id="new"),
    ],
)
def test_a_member_that_is_not_connected_is_told_where_it_is_used(one, is_listed, is_told):
    config = kueue.MultiKueueConfig.view(
        kueue.MultiKueueConfig.manifest("g", spec={"clusters": ["m"] if is_listed else ["n"]})
    )
    objects = SeenObjects({Secret: [secret()], kueue.MultiKueueCluster: [one], kueue.MultiKueueConfig: [config]})

    found = [finding.code for finding in credentials.connections(FleetSurvey(NOW, objects))]

    assert found == (["NotConnected"] if is_told else [])


def draining(connected: bool, said: str) -> FleetSurvey:
    """Build a fleet in which m of c1 drains; `said`: what our check says of it."""
    marks = {DRAINING: '{"m":"2026-05-01T11:00:00Z"}'}
    one = kueue.MultiKueueCluster.manifest(
        "m",
        labels={CLUSTER_LABEL: "c1"},
        status={"conditions": [condition(kueue.ACTIVE, connected, "ClientConnectionFailed", "no route")]},
    )
    config = kueue.MultiKueueConfig.manifest("g", labels=OURS, spec={"clusters": ["m"]}, annotations=marks)
    message = messages.draining({"m": said})[1]
    check = kueue.AdmissionCheck.manifest(
        "g",
        spec={"controllerName": CHECK_CONTROLLER, "parameters": {**PLACEMENT_REFERENCE, "name": "g"}},
        status={"conditions": [condition(DRAINING_CONDITION, True, message=message)] if said else []},
    )
    objects = {
        kueue.MultiKueueCluster: [kueue.MultiKueueCluster.view(one)],
        kueue.MultiKueueConfig: [kueue.MultiKueueConfig.view(config)],
        kueue.AdmissionCheck: [kueue.AdmissionCheck.view(check)],
    }
    return FleetSurvey(NOW, SeenObjects(objects))


SILENT = str(Holdings(unreachable="connect: refused (111)"))


@pytest.mark.parametrize(
    ("connected", "said", "why"),
    [
        pytest.param(False, "", "ClientConnectionFailed: no route", id="only Kueue has told"),
        pytest.param(True, "", "", id="Kueue is connected"),
        pytest.param(False, messages.JUST_DROPPED, "ClientConnectionFailed: no route", id="not asked yet"),
        pytest.param(False, SILENT, "connect: refused (111)", id="asked in vain"),
        pytest.param(True, SILENT, "connect: refused (111)", id="asked in vain although Kueue is connected"),
        pytest.param(False, str(Holdings(frozenset({"a/w"}))), "", id="it has answered before Kueue has connected"),
    ],
)
def test_a_drain_is_stuck_where_the_controller_cannot_ask(connected, said, why):
    found = [finding.wrong for finding in credentials.drains(draining(connected, said))]

    assert found == ([f"m drains since 2026-05-01T11:00:00Z and cannot be asked: {why}"] if why else [])


def test_a_cluster_that_does_not_answer_is_repaired_and_given_up_only_if_it_is_gone():
    lost, stuck = credentials.connections(draining(False, "")), credentials.drains(draining(False, ""))

    for finding in (*lost, *stuck):
        (step,) = finding.steps
        assert step.words == ()
        assert step.sentence.startswith("look whether c1 is up")
        assert step.sentence.endswith(
            "; only if c1 is gone for good: `fleetqueue unjoin c1 --force`, which starts its jobs elsewhere: if it is"
            " not gone, they run twice"
        )
