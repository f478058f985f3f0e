"""Tokens, permissions and the question "may I?"."""

import pytest

from fleetqueue.api import fleetqueue as names
from fleetqueue.api.authentication_v1 import SHORTEST_SECONDS, issued_token, token_request
from fleetqueue.api.authorization_v1 import access_review, is_allowed
from fleetqueue.api.cluster_permission_v1alpha1 import APPLIED, ClusterPermission
from fleetqueue.api.managed_service_account_v1beta1 import TOKEN_REPORTED, ManagedServiceAccount


@pytest.mark.parametrize(("asked", "sent"), [(3600, 3600), (60, SHORTEST_SECONDS)])
def test_a_token_is_asked_for_as_long_as_the_server_allows(asked, sent):
    request = token_request("kueue", "ns", asked)

    assert request["metadata"] == {"name": "kueue", "namespace": "ns"}
    assert request["spec"] == {"expirationSeconds": sent}


def test_an_issued_token_says_how_long_it_is_valid():
    token = issued_token({"spec": {"expirationSeconds": 7200, "audiences": []}, "status": {"token": "s3cret"}})

    assert (token.token, token.seconds) == ("s3cret", 7200)
    assert "s3cret" not in repr(token)


@pytest.mark.parametrize(
    ("resource", "attributes"),
    [
        ("jobs", {"verb": "get", "group": "batch", "resource": "jobs"}),
        ("jobs/status", {"verb": "get", "group": "batch", "resource": "jobs", "subresource": "status"}),
    ],
)
def test_a_review_asks_about_a_resource_or_a_part_of_it(resource, attributes):
    review = access_review("get", "batch", resource)

    assert review["spec"] == {"resourceAttributes": attributes}


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ({"status": {"allowed": True}}, True),
        ({"status": {"allowed": False}}, False),
        ({"status": None}, False),
        ({}, False),
    ],
)
def test_only_a_clear_yes_allows(answer, allowed):
    assert is_allowed(answer) is allowed


@pytest.mark.parametrize(("status", "is_true"), [("True", True), ("False", False), ("Unknown", False)])
def test_what_an_agent_has_done_is_a_condition(status, is_true):
    def having(kind, condition):
        conditions = [{"type": condition, "status": status}]
        return kind.view(kind.manifest("x", "c1", status={"conditions": conditions}))

    assert having(ClusterPermission, APPLIED).is_applied is is_true
    assert having(ManagedServiceAccount, TOKEN_REPORTED).is_reported is is_true


def test_the_secret_of_a_cluster_has_the_name_that_kueue_is_told():
    assert names.credentials_secret("c1") == "kueue-admin-c1-kubeconfig"
    assert names.admin_secret("c1") == "c1-admin"
