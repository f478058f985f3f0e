"""A command line: verbs, words and flags in any order."""

import pytest

from fleetqueue.demo.own_kubectl.line import Line, read
from fleetqueue.demo.own_kubectl.problems import KubectlProblem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("get jobs", Line("get", ("jobs",)), id="words alone"),
        pytest.param(
            "get jobs -n ns -A", Line("get", ("jobs",), {"--namespace": "ns", "--all-namespaces": "true"}), id="short"
        ),
        pytest.param("--context hub get ns", Line("get", ("ns",), {"--context": "hub"}), id="flags first"),
        pytest.param("delete ns a --wait=false", Line("delete", ("ns", "a"), {"--wait": "false"}), id="a switch off"),
        pytest.param("apply -f -", Line("apply", (), {"--filename": "-"}), id="standard input"),
    ],
)
def test_read(text, line):
    assert read(text.split()) == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("get --nothing", "unknown flag: --nothing\nSee 'kubectl get --help' for usage.", id="unknown"),
        pytest.param("get -n", "flag needs an argument: 'n' in -n", id="no value, short"),
        pytest.param("get --namespace", "flag needs an argument: --namespace", id="no value"),
        pytest.param("-A", "a command is missing", id="nothing to do"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(text, told):
    with pytest.raises(KubectlProblem) as refused:
        read(text.split())

    assert told in str(refused.value)


@pytest.mark.parametrize(("given", "seconds"), [("60s", 60), ("1m30s", 90), ("500ms", 0.5), ("2h", 7200)])
def test_durations(given, seconds):
    assert Line("delete", (), {"--timeout": given}).seconds("--timeout") == seconds


def test_a_number_without_a_unit_is_no_duration():
    with pytest.raises(KubectlProblem, match='invalid duration "60"'):
        Line("delete", (), {"--timeout": "60"}).seconds("--timeout")
