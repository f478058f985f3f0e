"""Tokens for service accounts, as the API server issues them."""

from datetime import datetime
from typing import Final

import msgspec

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.meta import View
from fleetqueue.api.scheme import Manifest

SUBRESOURCE: Final = "token"
SHORTEST_SECONDS: Final = 600
"""The API server refuses to issue a token for less."""


class IssuedToken(View):
    token: str
    expiration_timestamp: datetime
    """As the server decided; it may shorten what was asked for."""


def token_request(account: str, namespace: str, seconds: int) -> Manifest:
    """Ask for a token that is valid for so long, for whoever the API server itself trusts."""
    metadata = ServiceAccount.manifest(account, namespace)["metadata"]
    spec = {"expirationSeconds": max(seconds, SHORTEST_SECONDS)}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": spec}


def issued_token(answer: Manifest) -> IssuedToken:
    return msgspec.convert(answer["status"], IssuedToken)
