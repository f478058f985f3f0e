"""What is said where no node will do."""

import pytest

from fleetqueue.embedded.nodes.refusals import Refusal, explain

TAKEN = Refusal(["Insufficient cpu"], is_taken=True)
SMALL = Refusal(["Insufficient cpu", "Insufficient memory"])


@pytest.mark.parametrize(
    ("refusals", "text"),
    [
        pytest.param([], "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            [TAKEN] * 3,
            "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/3 nodes are available: 3 No preemption victims found for incoming pod.",
            id="all alike",
        ),
        pytest.param(
            [SMALL, TAKEN],
            "0/2 nodes are available: 1 Insufficient memory, 2 Insufficient cpu. no new claims to deallocate, "
            "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.",
            id="each for its own reason",
        ),
    ],
)
def test_explain(refusals, text):
    assert explain(refusals) == text


def test_a_pod_that_never_preempts_is_told_so():
    told = explain([TAKEN], preempts=False)

    assert told.endswith("no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.")
