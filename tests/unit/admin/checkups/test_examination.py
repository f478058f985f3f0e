"""What may not be seen is no finding; what is written for people and for programs; and every code has its meaning."""

import ast
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from fleetqueue.admin.checkups import examination
from fleetqueue.admin.checkups.examination import CHECKUPS, Diagnosis, examine
from fleetqueue.admin.checkups.findings import AILMENTS, Finding, Severity, by_hand, kubectl
from fleetqueue.admin.checkups.looking import survey
from fleetqueue.admin.checkups.reaching import WorkerAccess
from fleetqueue.admin.checkups.survey import CredentialProof, FleetSurvey, SeenObjects, WorkerSurvey
from fleetqueue.admin.checkups.written import COLOURS, as_text
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.client import Client
from fleetqueue.testing.builders import by_secret

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PACKAGE = Path(examination.__file__).parent
DIAGNOSIS = Diagnosis(
    (
        Finding("QueueStopped", "it is", (kubectl("get", "a b", cluster="w1"), by_hand("wait")), "w1", "Q", "ns", "q"),
        Finding("KindMissing", "none", (kubectl("apply", "-f", "-", stdin="kind: A"),), kind="API"),
    ),
    ("secrets of the hub: no",),
    ("hub", "w1"),
)
OPTIONS = {"hub": ("--kubeconfig", "file"), "w1": ("--kubeconfig", "file", "--context", "c1")}


def codes_in_code() -> set[str]:
    """Return every code that a checkup can find."""
    texts = {
        node.value
        for path in PACKAGE.glob("*.py")
        if path.name != "findings.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return texts & set(AILMENTS)


def test_every_code_is_found_by_some_checkup():
    assert codes_in_code() == set(AILMENTS)


def test_nothing_is_found_where_nothing_was_seen():
    unseen = {kind: "no" for checkup in CHECKUPS for kind in checkup.needs}

    diagnosis = examine(FleetSurvey(NOW, SeenObjects(unseen=unseen)))

    assert diagnosis.findings == ()
    assert diagnosis.unseen[0].startswith("leases.coordination.k8s.io, admissionchecks.kueue.x-k8s.io, ")
    assert diagnosis.unseen[0].endswith(" of the hub: no")


@pytest.mark.parametrize("checkup", CHECKUPS, ids=lambda checkup: checkup.find.__name__)
def test_a_checkup_finds_nothing_on_an_empty_hub(checkup):
    empty = FleetSurvey(NOW, SeenObjects({kind: () for one in CHECKUPS for kind in one.needs}))

    assert list(checkup.find(empty)) == []


def test_what_was_not_looked_at_is_said():
    fleet = FleetSurvey(
        NOW,
        workers=[
            WorkerSurvey("w1", unasked="no context"),
            WorkerSurvey("w2", "w2", objects=SeenObjects(unseen={kueue.LocalQueue: "forbidden"})),
        ],
        proofs={"s": CredentialProof("s", unasked="no way")},
    )

    diagnosis = examine(fleet)

    assert diagnosis.clusters == ("hub", "w2")
    assert diagnosis.unseen[1:] == (
        "the queues, Kueue and the clock of w1: no context",
        "localqueues.kueue.x-k8s.io of w2: forbidden",
        "what the credential of secret s may do: no way",
    )


def test_a_document_has_every_field():
    document = json.loads(as_text(DIAGNOSIS, "json", OPTIONS))

    assert (document["healthy"], document["errors"], document["warnings"]) == (False, 1, 1)
    assert document["clusters"] == ["hub", "w1"]
    assert document["notLookedAt"] == ["secrets of the hub: no"]
    assert document["findings"][0] == {
        "code": "QueueStopped",
        "severity": "warning",
        "cluster": "w1",
        "object": {"kind": "Q", "namespace": "ns", "name": "q"},
        "wrong": "it is",
        "consequence": AILMENTS["QueueStopped"].consequence,
        "steps": [
            {"command": "kubectl --kubeconfig file --context c1 get 'a b'", "text": ""},
            {"command": "", "text": "wait"},
        ],
    }
    assert yaml.safe_load(as_text(DIAGNOSIS, "yaml", OPTIONS)) == document


def test_a_table_is_for_people():
    text = as_text(DIAGNOSIS, "table", OPTIONS)

    assert "WARNING  QueueStopped  w1: Q ns/q\n  wrong:  it is\n  so:     No new job" in text
    assert "  do:     kubectl --kubeconfig file apply -f - <<'EOF'\nkind: A\nEOF" in text
    assert text.endswith("not looked at: secrets of the hub: no\n\n1 error, 1 warning; looked at hub, w1")
    assert "\x1b" not in text
    assert "\x1b[33m" in as_text(DIAGNOSIS, "table", OPTIONS, COLOURS)
    assert as_text(Diagnosis((), (), ("hub",)), "table", {}) == "nothing wrong was found; looked at hub"


def test_errors_come_before_warnings():
    assert sorted(Severity) == [Severity.ERROR, Severity.WARNING]


async def test_a_secret_is_never_told(api):
    """Whatever is wrong with it: what is in it stays there."""
    api.add(*secret_that_cannot_be_read())

    fleet = await survey(Client(api), WorkerAccess(lambda connection: Client(api)))

    for output in ("table", "json", "yaml"):
        text = as_text(examine(fleet), output, {})
        assert "kueue-admin-c1-kubeconfig" in text
        assert "hush" not in text
        assert "quiet" not in text


async def test_who_may_not_list_a_kind_hears_that_it_was_not_looked_at(api):
    api.add(*secret_that_cannot_be_read())
    api.fail_on("list secrets*", errors.Forbidden("no"))

    diagnosis = examine(await survey(Client(api), WorkerAccess(lambda connection: Client(api))))

    assert "secrets of the hub: you may not list them in namespace kueue-system" in diagnosis.unseen
    assert not {finding.code for finding in diagnosis.findings} & {"CredentialMissing", "NotConnected"}


def secret_that_cannot_be_read():
    entries = {"kubeconfig": "token: hush-hush", "other": "quiet"}
    yield Secret.manifest("kueue-admin-c1-kubeconfig", "kueue-system", stringData=entries)
    yield kueue.MultiKueueCluster.manifest("c1", spec=by_secret("kueue-admin-c1-kubeconfig"))
    yield kueue.MultiKueueConfig.manifest("g", spec={"clusters": ["c1"]})
    yield ConfigMap.manifest(CONFIG_MAP, "kueue-system", data={CONFIG_KEY: "{}"})
