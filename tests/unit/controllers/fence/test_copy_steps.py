"""What is done with a copy, step by step."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import SENT_TO, STOPPED
from fleetqueue.controllers.fence.copy_steps import KUEUE_SECONDS, Step, is_promised, next_step
from fleetqueue.testing.builders import condition

MARKED = {STOPPED: "2026-01-01T00:00:00Z"}
RESERVED, FINISHED = condition("QuotaReserved"), condition("Finished")


def copy(conditions=(), annotations=None, **metadata):
    manifest = kueue.Workload.manifest("job", "team-a", annotations=annotations, status={"conditions": [*conditions]})
    manifest["metadata"] |= metadata
    return kueue.Workload.view(manifest)


@pytest.mark.parametrize(
    ("found", "is_expired", "stopping_for", "step"),
    [
        pytest.param(copy([RESERVED]), False, 0, Step.LEAVE, id="the hub is reached"),
        pytest.param(copy([RESERVED]), True, 0, Step.DEACTIVATE, id="too late"),
        pytest.param(copy(), True, 0, Step.DEACTIVATE, id="too late, and it has no quota yet"),
        pytest.param(copy([RESERVED], MARKED), True, 5, Step.WAIT, id="Kueue is stopping it"),
        pytest.param(copy([RESERVED], MARKED), False, 5, Step.WAIT, id="the same, and the hub is reached again"),
        pytest.param(copy([], MARKED), True, 5, Step.DELETE, id="Kueue has stopped it"),
        pytest.param(copy([], MARKED), False, 5, Step.DELETE, id="what was begun is ended"),
        pytest.param(copy([RESERVED], MARKED), True, KUEUE_SECONDS, Step.DELETE, id="Kueue had its time"),
        pytest.param(copy([FINISHED]), True, 0, Step.LEAVE, id="it has ended: the hub shall learn how"),
        pytest.param(copy(deletionTimestamp="2026-01-01T00:00:00Z"), True, 0, Step.LEAVE, id="it is going"),
    ],
)
def test_next_step(found, is_expired, stopping_for, step):
    assert next_step(found, is_expired=is_expired, stopping_for=stopping_for) is step


@pytest.mark.parametrize(
    ("text", "lease", "promised"),
    [
        pytest.param('{"gpu-c1":"uid-1"}', "uid-1", True, id="in trust of this Lease"),
        pytest.param('{"gpu-c1":"uid-2"}', "uid-1", False, id="in trust of another hub's, or an earlier one"),
        pytest.param('{"gpu-c1":""}', "uid-1", False, id="in trust of none"),
        pytest.param('{"gpu-c1":""}', "", False, id="no Lease, no promise"),
        pytest.param("nonsense", "uid-1", False, id="edited by hand"),
    ],
)
def test_what_was_promised(text, lease, promised):
    assert is_promised(copy(annotations={SENT_TO: text}), lease) is promised


def test_a_copy_that_nobody_noted_is_not_promised():
    assert not is_promised(copy(), "uid-1")
