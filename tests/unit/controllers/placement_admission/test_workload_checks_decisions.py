"""What we answer for our check on a Workload: one row for every branch."""

import pytest

from fleetqueue.controllers.placement_admission.workload_checks import CheckAnswer, decide

READY = CheckAnswer("Ready", "outlook")
PENDING = CheckAnswer("Pending", "outlook")
TAKEN_BACK_FROM_TWO = CheckAnswer("Retry", "taken back from gpu-c1, gpu-c2, which are being drained")
TAKEN_BACK = CheckAnswer("Retry", "taken back from gpu-c1, which is being drained")
TIMED_OUT = CheckAnswer("Retry", "taken back from gpu-c1: it was dropped, and the drain timeout has passed")


@pytest.mark.parametrize(
    ("workload", "is_open", "draining", "overdue", "answer"),
    [
        pytest.param({"checks": {"ac": "Pending"}}, True, [], [], READY, id="quota, and there are clusters"),
        pytest.param({"checks": {"ac": "Pending"}}, False, [], [], PENDING, id="there are none: say why"),
        pytest.param({"checks": {"ac": ("Pending", "outlook")}}, False, [], [], None, id="it was said already"),
        pytest.param(
            {"checks": {"ac": ("Pending", "outlook")}}, True, [], [], READY, id="the same words, but Ready now"
        ),
        pytest.param({"checks": {"ac": "Ready"}}, True, [], [], None, id="ready already"),
        pytest.param({"checks": {"ac": "Ready"}}, False, [], [], None, id="ready stays ready when the clusters go"),
        pytest.param({"checks": {"mk": "Pending"}}, True, [], [], None, id="our check is not asked"),
        pytest.param({"checks": {"ac": "Pending"}, "quota": False}, True, [], [], None, id="no quota yet"),
        pytest.param({"checks": {"ac": "Pending"}, "evicted": True}, True, [], [], None, id="on its way out"),
        pytest.param({"checks": {"ac": "Pending"}, "evicted": False}, True, [], [], READY, id="back after an eviction"),
        pytest.param({"checks": {"ac": "Pending"}, "finished": True}, True, [], [], None, id="finished"),
        pytest.param({"checks": {"ac": "Pending"}, "deleting": True}, True, [], [], None, id="being deleted"),
        pytest.param({"checks": {"ac": "Retry"}}, True, [], [], None, id="Kueue has not evicted it yet"),
        pytest.param({"checks": {"ac": "Rejected"}}, True, [], [], None, id="rejected stays rejected"),
        pytest.param({"nominated": ["gpu-c1"]}, True, ["gpu-c1"], [], TAKEN_BACK, id="nominated, and it drains"),
        pytest.param({"nominated": ["gpu-c1"]}, False, ["gpu-c1"], [], TAKEN_BACK, id="also where nothing serves"),
        pytest.param({"nominated": ["gpu-c2", "gpu-c1"]}, True, ["gpu-c1"], [], TAKEN_BACK, id="one of two drains"),
        pytest.param(
            {"nominated": ["gpu-c2", "gpu-c1"]}, True, ["gpu-c1", "gpu-c2"], [], TAKEN_BACK_FROM_TWO, id="both drain"
        ),
        pytest.param({"nominated": ["gpu-c2"]}, True, ["gpu-c1"], [], None, id="nominated for another"),
        pytest.param(
            {"nominated": ["gpu-c1"], "checks": {"ac": "Retry"}}, True, ["gpu-c1"], [], None, id="taken back already"
        ),
        pytest.param(
            {"nominated": ["gpu-c1"], "checks": {"ac": "Pending"}}, True, ["gpu-c1"], [], TAKEN_BACK, id="before Ready"
        ),
        pytest.param({"on": "gpu-c1"}, True, ["gpu-c1"], [], None, id="it runs there: let it end"),
        pytest.param({"on": "gpu-c1"}, True, ["gpu-c1"], ["gpu-c1"], TIMED_OUT, id="the drain timeout has passed"),
        pytest.param({"on": "gpu-c2"}, True, ["gpu-c1"], ["gpu-c1"], None, id="it runs elsewhere"),
        pytest.param(
            {"on": "gpu-c1", "evicted": True}, True, ["gpu-c1"], ["gpu-c1"], None, id="timed out, and evicted already"
        ),
        pytest.param(
            {"on": "gpu-c1", "finished": True}, True, ["gpu-c1"], ["gpu-c1"], None, id="timed out, and finished already"
        ),
    ],
)
def test_the_answer(a_workload, workload, is_open, draining, overdue, answer):
    decision = decide(a_workload(**workload), "ac", is_open, "outlook", draining=set(draining), overdue=set(overdue))

    assert decision == answer
