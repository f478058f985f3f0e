"""What a StatefulSet says of its pods and of an update."""

import pytest

from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.stateful_set_status import SetRevisions, wanted_status

from .set_objects import NOW, a_pod, a_set

OLD, NEW = (ControllerRevision.view({"metadata": {"name": f"db-{name}"}}) for name in ("old", "new"))
UPDATING = SetRevisions(OLD, NEW, collisions=1)


def pods(*ordinals, **options):
    return [a_pod(f"db-{ordinal}", **options) for ordinal in ordinals]


def said(stateful_set, some, **options):
    status = wanted_status(stateful_set, some, UPDATING, NOW, **options)
    names = ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")
    return tuple(status.get(name, 0) for name in names), status["currentRevision"]


@pytest.mark.parametrize(
    ("stateful_set", "some", "numbers", "current"),
    [
        pytest.param(a_set(2), [], (0, 0, 0, 0, 0), "db-old", id="no pods"),
        pytest.param(a_set(2), pods(0, 1), (2, 2, 2, 2, 2), "db-new", id="all are new: the update is over"),
        pytest.param(a_set(2), pods(0, 1, revision="db-old"), (2, 2, 2, 2, 0), "db-old", id="none is new"),
        pytest.param(a_set(3), pods(0, 1), (2, 2, 2, 0, 2), "db-old", id="one is missing"),
        pytest.param(a_set(2), pods(0, 1, ready=False), (2, 0, 0, 0, 2), "db-old", id="none is ready"),
        pytest.param(a_set(1, minReadySeconds=500), pods(0), (1, 1, 0, 1, 1), "db-new", id="not available yet"),
        pytest.param(a_set(1), pods(0, deleting=True), (1, 1, 1, 0, 0), "db-old", id="one that goes is of no revision"),
        pytest.param(
            a_set(1, updateStrategy={"type": "OnDelete"}), pods(0), (1, 1, 1, 0, 1), "db-old", id="no rollout"
        ),
    ],
)
def test_the_numbers(stateful_set, some, numbers, current):
    assert said(stateful_set, some) == (numbers, current)


def test_a_pod_that_was_deleted_for_the_update_is_not_current():
    some = pods(0, 1, revision="db-old")

    assert said(a_set(2), some, replaced=1)[0][3] == 1
    assert said(a_set(1), pods(0, revision="db-older"), replaced=1)[0][3] == 0


def test_the_whole_status():
    assert wanted_status(a_set(1), [], UPDATING, NOW) == {
        "observedGeneration": 2,
        "replicas": 0,
        "availableReplicas": 0,
        "currentRevision": "db-old",
        "updateRevision": "db-new",
        "collisionCount": 1,
    }
