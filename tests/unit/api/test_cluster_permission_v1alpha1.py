"""What agents of OCM have done is a condition."""

import pytest

from fleetqueue.api.cluster_permission_v1alpha1 import APPLIED, ClusterPermission
from fleetqueue.api.managed_service_account_v1beta1 import TOKEN_REPORTED, ManagedServiceAccount


@pytest.mark.parametrize(("status", "is_true"), [("True", True), ("False", False), ("Unknown", False)])
def test_what_an_agent_has_done_is_a_condition(status, is_true):
    def having(kind, condition):
        conditions = [{"type": condition, "status": status}]
        return kind.view(kind.manifest("x", "c1", status={"conditions": conditions}))

    assert having(ClusterPermission, APPLIED).is_applied is is_true
    assert having(ManagedServiceAccount, TOKEN_REPORTED).is_reported is is_true
