"""How tokens are asked for, and how long they are valid."""

import pytest

from fleetqueue.api.authentication_v1 import SHORTEST_SECONDS, issued_token, token_request


@pytest.mark.parametrize(("asked", "sent"), [(3600, 3600), (60, SHORTEST_SECONDS)])
def test_a_token_is_asked_for_as_long_as_the_server_allows(asked, sent):
    request = token_request("kueue", "ns", asked)

    assert request["metadata"] == {"name": "kueue", "namespace": "ns"}
    assert request["spec"] == {"expirationSeconds": sent}


def test_an_issued_token_says_how_long_it_is_valid():
    token = issued_token({"spec": {"expirationSeconds": 7200, "audiences": []}, "status": {"token": "s3cret"}})

    assert (token.token, token.seconds) == ("s3cret", 7200)
    assert "s3cret" not in repr(token)
