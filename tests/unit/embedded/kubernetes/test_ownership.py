"""Who answers for an object."""

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.ownership import keys_of_owner, owner_uid


def a_pod(*owners):
    return Pod.view({"metadata": {"name": "p", "namespace": "ns", "ownerReferences": list(owners)}})


JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}


@pytest.mark.parametrize(
    ("pod", "keys", "uid"),
    [
        pytest.param(a_pod(), [], "", id="nobody"),
        pytest.param(a_pod(JOB), ["ns/j"], "u", id="a Job"),
        pytest.param(a_pod({**JOB, "controller": False}), [], "", id="one that only goes along"),
        pytest.param(a_pod({**JOB, "kind": "CronJob"}), [], "u", id="another kind"),
        pytest.param(a_pod({**JOB, "apiVersion": "example.com/v1"}), [], "u", id="another group"),
        pytest.param(a_pod({**JOB, "controller": False}, {**JOB, "name": "k"}), ["ns/k"], "u", id="one of two"),
    ],
)
def test_an_object_names_its_owner(pod, keys, uid):
    assert list(keys_of_owner(Job.resource)(pod)) == keys
    assert owner_uid(pod) == uid
