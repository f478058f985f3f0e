"""The question "may I?", and its answer."""

import pytest

from fleetqueue.api.authorization_v1 import access_review, is_allowed


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
