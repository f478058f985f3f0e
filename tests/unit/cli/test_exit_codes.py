"""Exit codes and error lines: one line that names the object and the next step, no traceback."""

import ssl

import pytest

from fleetqueue.admin.dispatcher import NoKueueConfig
from fleetqueue.admin.waiting import NoAnswer, NotInTime
from fleetqueue.api import errors
from fleetqueue.cli.exit_codes import Code, CommandFailure, explain, report
from fleetqueue.client.kubeconfig import KubeconfigError, KubeconfigNotFound
from fleetqueue.client.transport import UnreadableCertificate
from fleetqueue.controllers.processes.capabilities import NotInstalled
from fleetqueue.controllers.processes.settings_file import SettingsError
from fleetqueue.lab.errors import EngineError, NoProcess
from fleetqueue.runtime.leader_election import LeadershipLost


@pytest.mark.parametrize(
    ("error", "code"),
    [
        pytest.param(CommandFailure("no"), Code.FAILED, id="a failure"),
        pytest.param(CommandFailure("no", Code.USAGE), Code.USAGE, id="a failure with its own code"),
        pytest.param(errors.NotFound("no"), Code.NOT_FOUND, id="an object that is not there"),
        pytest.param(NotInTime("no"), Code.NOT_FOUND, id="a wait that ended"),
        pytest.param(NoAnswer("no"), Code.FAILED, id="a cluster that did not show what there is"),
        pytest.param(TimeoutError(), Code.NOT_FOUND, id="a timeout"),
        pytest.param(SettingsError("no"), Code.USAGE, id="a wrong setting"),
        pytest.param(errors.Unreachable("no"), Code.FAILED, id="a cluster that does not answer"),
        pytest.param(errors.Forbidden("no"), Code.FAILED, id="missing rights"),
        pytest.param(errors.ServerError("no"), Code.FAILED, id="any other answer"),
        pytest.param(LeadershipLost("no"), Code.FAILED, id="another replica leads"),
        pytest.param(KubeconfigError("no"), Code.USAGE, id="a kubeconfig that cannot be used"),
        pytest.param(KubeconfigNotFound("no"), Code.NOT_FOUND, id="a kubeconfig that is not there"),
        pytest.param(NoProcess("no"), Code.NOT_FOUND, id="a process that is not there"),
        pytest.param(NoKueueConfig("no"), Code.NOT_FOUND, id="a configuration that is not there"),
        pytest.param(EngineError("no"), Code.FAILED, id="the engine"),
        pytest.param(NotInstalled("no"), Code.FAILED, id="a hub without Kueue"),
        pytest.param(ZeroDivisionError("no"), Code.FAILED, id="a mistake of ours"),
    ],
)
def test_every_error_has_a_code(error, code):
    assert explain(error)[1] == code


def test_a_mistake_of_ours_asks_for_debug():
    assert "ZeroDivisionError: x; run it again with --debug" in explain(ZeroDivisionError("x"))[0]


def test_a_credential_that_is_not_accepted_is_not_called_too_weak():
    assert explain(errors.Unauthorized("Unauthorized"))[0] == (
        "Unauthorized; the token or certificate of the kubeconfig is not accepted: has it expired?"
    )
    assert explain(errors.Forbidden("no"))[0] == "no; use a kubeconfig with more rights"


def test_a_certificate_that_is_not_trusted_is_no_silent_cluster():
    untrusted = errors.Unreachable("GET /")
    untrusted.__cause__ = ssl.SSLCertVerificationError("self-signed")

    assert explain(untrusted)[0] == "GET /; do the certificates of the kubeconfig belong to this cluster?"
    assert explain(errors.Unreachable("GET /"))[0] == "GET /; is the cluster up, and does the kubeconfig name it?"


def test_a_certificate_that_is_none_needs_another_kubeconfig():
    unreadable = errors.Unreachable("GET /")
    unreadable.__cause__ = UnreadableCertificate("no start line")

    assert explain(unreadable)[0] == "GET /; get this kubeconfig anew from whoever runs the cluster"


def test_what_is_not_there_is_told_with_what_shows_those_that_are():
    of_a_kind = errors.NotFound('namespaces "x" not found', details={"kind": "namespaces"})

    assert explain(of_a_kind)[0] == 'namespaces "x" not found; `kubectl get namespaces` shows those that are'
    assert explain(errors.NotFound('gadgets "x" not found', details={"kind": "gadgets"}))[0] == 'gadgets "x" not found'


def test_a_refusal_by_an_admission_webhook_asks_for_no_rights():
    denied = 'admission webhook "vjob.kb.io" denied the request: no'

    assert explain(errors.Forbidden(denied))[0] == denied


def test_an_error_is_one_line(capsys):
    code = report(ExceptionGroup("several", [errors.NotFound('clusters "x" not found')]))

    assert code == 3
    assert capsys.readouterr().err == 'error: clusters "x" not found\n'


def test_a_cluster_that_is_no_hub_is_called_so(capsys):
    code = report(errors.from_status(404, "404 page not found\n"))

    assert code == 3
    assert capsys.readouterr().err.startswith("error: this cluster is no hub: it lacks kinds of Kueue")


def test_an_interrupt_has_the_code_of_shells(capsys):
    assert report(KeyboardInterrupt()) == 130


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        pytest.param(("nope",), 2, "No such command", id="an unknown command"),
        pytest.param(("get", "clusters", "-o", "xml"), 2, "xml", id="an unknown format"),
        pytest.param(("get", "clusters"), 2, "pass --kubeconfig, set KUBECONFIG", id="no cluster named"),
        pytest.param(("get", "jobs", "-n", "team-a", "-A"), 2, "pass --kubeconfig", id="namespaces, as in kubectl"),
        pytest.param(("explain", "job", "-f", "/nope"), 2, "cannot read /nope", id="no such file"),
        pytest.param(("get", "clusters", "--kubeconfig", "/nope"), 3, "cannot read /nope", id="no such kubeconfig"),
        pytest.param(("status",), 3, "start one with `fleetqueue up`", id="no fleet"),
        pytest.param(("kubeconfig", "hub"), 3, "start a fleet with `fleetqueue up`", id="no kubeconfig"),
        pytest.param(("logs", "hub/kueue"), 3, "there is no fleet in", id="no log"),
        pytest.param(("restart", "hub/kueue"), 3, "start one with `fleetqueue up`", id="nothing to restart"),
        pytest.param(
            ("status", "--data-dir", "/nope"), 3, "start one with `fleetqueue up --data-dir /nope`", id="no fleet there"
        ),
        pytest.param(("demo", "--step"), 2, "leave --step out", id="steps where nobody can press Enter"),
        pytest.param(("demo", "4"), 2, 'there is no story "4"', id="no such story"),
        pytest.param(("controller", "--set", "x=1"), 2, 'unknown setting "x"', id="an unknown setting"),
        pytest.param(("score-agent",), 2, "with --cluster", id="an agent without a name"),
        pytest.param(("score-agent", "--cluster", "c"), 2, "with --hub-kubeconfig", id="an agent without a hub"),
        pytest.param(("join", "c", "--kubeconfig", "/nope"), 3, "cannot read /nope", id="a worker that cannot be read"),
        pytest.param(
            ("join", "Cluster_3", "--kubeconfig", "/nope"),
            2,
            '"Cluster_3" cannot be the name of a cluster',
            id="a name that no cluster can have",
        ),
        pytest.param(
            ("kubeconfig", "create", "--lifetime", "-5"), 2, "greater than or equal to 600", id="no time to live"
        ),
        pytest.param(
            ("kubeconfig", "create", "--job-kind", "foo/bar"),
            2,
            'there is no kind of jobs "foo/bar"',
            id="no such kind",
        ),
        pytest.param(("join", "c"), 2, "--kubeconfig", id="a worker that is not named"),
        pytest.param(("unjoin", "c", "--timeout", "0"), 2, "above 0, not 0", id="no time to leave"),
        pytest.param(("unjoin", "c", "--timeout", "nan"), 2, "above 0, not nan", id="a time that is no number"),
        pytest.param(("uninstall", "--timeout", "-1"), 2, "above 0, not -1", id="no time to stop"),
        pytest.param(
            ("join", "c", "--kubeconfig", "/nope", "--timeout", "0"), 2, "above 0, not 0", id="no time to join"
        ),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(fleetqueue, arguments, code, said):
    result = fleetqueue(*arguments)

    assert result.code == code
    assert said in result.err
    assert "Traceback" not in result.err


def test_debug_shows_the_traceback(fleetqueue):
    from fleetqueue.client.kubeconfig import KubeconfigError

    with pytest.raises(KubeconfigError):
        fleetqueue("--debug", "get", "clusters")


def test_ending_no_fleet_is_no_failure(fleetqueue):
    result = fleetqueue("down")

    assert result.code == 0
    assert "there is no fleet" in result.out
