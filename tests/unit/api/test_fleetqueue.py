"""Names by which our parts find each other's objects."""

import pytest

from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, admin_secret, credentials_secret, placement_of
from fleetqueue.api.kueue_v1beta2 import AdmissionCheck

PLACEMENT = {"apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "gpu"}


@pytest.mark.parametrize(
    ("controller", "parameters", "placement"),
    [
        pytest.param(CHECK_CONTROLLER, PLACEMENT, "gpu", id="a Placement"),
        pytest.param(CHECK_CONTROLLER, {**PLACEMENT, "kind": "PlacementRule"}, "", id="another kind"),
        pytest.param(CHECK_CONTROLLER, {**PLACEMENT, "apiGroup": "apps"}, "", id="another group"),
        pytest.param(CHECK_CONTROLLER, {**PLACEMENT, "name": ""}, "", id="no name"),
        pytest.param(CHECK_CONTROLLER, {"name": "gpu"}, "", id="neither group nor kind"),
        pytest.param(CHECK_CONTROLLER, None, "", id="no parameters"),
        pytest.param("kueue.x-k8s.io/multikueue", PLACEMENT, "", id="not our check"),
    ],
)
def test_the_placement_that_a_check_names(controller, parameters, placement):
    spec = {"controllerName": controller, **({"parameters": parameters} if parameters else {})}

    assert placement_of(AdmissionCheck.view(AdmissionCheck.manifest("ac", spec=spec))) == placement


def test_the_secret_of_a_cluster_has_the_name_that_kueue_is_told():
    assert credentials_secret("c1") == "kueue-admin-c1-kubeconfig"
    assert admin_secret("c1") == "c1-admin"
