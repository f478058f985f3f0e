"""Where each kind of job says that it is suspended, and who manages it."""

import pytest

from fleetqueue.api.job_kinds import BATCH_JOB, PYTORCH_JOB, RAY_SERVICE, TRAINING_OPERATOR

MULTIKUEUE = "kueue.x-k8s.io/multikueue"


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        pytest.param(BATCH_JOB, {"suspend": True}, id="in its spec"),
        pytest.param(PYTORCH_JOB, {"runPolicy": {"suspend": True}}, id="in its run policy"),
        pytest.param(RAY_SERVICE, {"rayClusterConfig": {"suspend": True}}, id="in its cluster's spec"),
    ],
)
def test_a_kind_is_suspended_where_it_says_so(kind, spec):
    assert kind.is_suspended({"spec": spec})
    assert not kind.is_suspended({"spec": {}})
    assert kind.with_suspension({"spec": {}}, suspend=True) == {"spec": spec}


@pytest.mark.parametrize(
    ("given", "manager"),
    [
        pytest.param(None, MULTIKUEUE, id="nobody yet"),
        pytest.param(TRAINING_OPERATOR, MULTIKUEUE, id="its own controller"),
        pytest.param("somebody/else", "somebody/else", id="somebody else"),
    ],
)
def test_a_job_is_given_to_multikueue_unless_somebody_else_has_it(given, manager):
    job = {"spec": {"runPolicy": {"managedBy": given} if given else {}}}

    managed = PYTORCH_JOB.given_to_multikueue(job)

    assert PYTORCH_JOB.manager_of(managed) == manager
    assert PYTORCH_JOB.manager_of(PYTORCH_JOB.without_manager(managed)) == ""
    assert PYTORCH_JOB.managed_by_text == "spec.runPolicy.managedBy"
