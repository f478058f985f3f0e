"""Names that an operator can choose."""

import pytest

from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings


@pytest.mark.parametrize(
    ("naming", "member"),
    [
        pytest.param("placement", "gpu-c1", id="as in the walkthroughs"),
        pytest.param("cluster", "c1", id="one per cluster"),
    ],
)
def test_the_name_of_a_member(naming, member):
    assert PlacementAdmissionSettings(naming=naming).member("gpu", "c1") == member


def test_the_name_of_a_secret():
    assert PlacementAdmissionSettings().secret("c1") == "kueue-admin-c1-kubeconfig"
    assert PlacementAdmissionSettings(secret_name="{cluster}-kc").secret("c1") == "c1-kc"
