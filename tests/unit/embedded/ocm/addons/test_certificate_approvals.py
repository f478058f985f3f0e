"""Whose certificates are approved."""

import base64

import pytest

from fleetqueue.api import addon_v1alpha1 as addon
from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.client.certificates import CertificateSubject, new_request
from fleetqueue.embedded.ocm.addons.certificate_approvals import is_for_agent
from fleetqueue.embedded.ocm.addons.registration import agent_groups, agent_user

from .objects import NAME

THIS = addon.ManagedClusterAddOn.view({"metadata": {"name": NAME, "namespace": "c1"}})


@pytest.mark.parametrize(
    ("name", "groups", "requester", "is_approved"),
    [
        pytest.param(agent_user(THIS), agent_groups(THIS), "c1:agent", True, id="its own agent"),
        pytest.param(agent_user(THIS), agent_groups(THIS), "c2:agent", False, id="asked for by another cluster"),
        pytest.param("somebody", agent_groups(THIS), "c1:agent", False, id="another user"),
        pytest.param(agent_user(THIS), agent_groups(THIS)[:2], "c1:agent", False, id="a group is missing"),
        pytest.param(agent_user(THIS), [*agent_groups(THIS), "system:masters"], "c1:agent", False, id="one group more"),
    ],
)
def test_who_may_have_a_certificate(name, groups, requester, is_approved):
    _, pem = new_request(CertificateSubject(name, groups))
    spec = {
        "request": base64.b64encode(pem).decode(),
        "username": f"system:open-cluster-management:{requester}",
    }
    request = CertificateSigningRequest.view({"metadata": {"name": "r"}, "spec": spec})

    assert is_for_agent(request, THIS) == is_approved
