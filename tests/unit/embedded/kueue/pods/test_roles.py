"""Which pods of a group are alike."""

import pytest

from fleetqueue.embedded.kueue.pods.roles import role_hash, role_of

from .objects import pod_manifest


def spec(**said):
    return pod_manifest(**said)["spec"]


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        pytest.param(spec(), True, id="the same"),
        pytest.param(spec(restartPolicy="Always"), True, id="what does not matter for admission"),
        pytest.param(spec(tolerations=[]), True, id="nothing, written out"),
        pytest.param(spec(cpu="2"), False, id="another request"),
        pytest.param(spec(nodeSelector={"a": "b"}), False, id="another node"),
        pytest.param(spec(priority=1), False, id="another priority"),
        pytest.param(spec(resources={"requests": {"cpu": "1"}}), False, id="requests of the pod as a whole"),
    ],
)
def test_a_role_is_what_matters_for_admission(other, is_same):
    assert (role_hash(other) == role_hash(spec())) is is_same
    assert len(role_hash(other)) == 8


def test_a_role_that_was_noted_stays():
    noted = pod_manifest(annotations={"kueue.x-k8s.io/role-hash": "leader"})

    assert role_of(noted) == "leader"
    assert role_of(pod_manifest()) == role_hash(spec())
