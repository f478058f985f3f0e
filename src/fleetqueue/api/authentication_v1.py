"""Tokens for service accounts, as the API server issues them."""

from typing import Final

import msgspec

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.meta import View
from fleetqueue.api.scheme import Manifest

SUBRESOURCE: Final = "token"
SHORTEST_SECONDS: Final = 600
"""The API server refuses to issue a token for less."""


class TokenRequestSpec(View):
    expiration_seconds: int = 0


class TokenRequestStatus(View):
    token: str

    def __repr__(self) -> str:
        """Show no token, so that none ends in a log."""
        return "TokenRequestStatus()"


class IssuedToken(View):
    """A TokenRequest as the server answers it."""

    spec: TokenRequestSpec
    status: TokenRequestStatus

    @property
    def token(self) -> str:
        return self.status.token

    @property
    def seconds(self) -> int:
        """How long it is valid; the server may have shortened what was asked for."""
        return self.spec.expiration_seconds


def token_request(account: str, namespace: str, seconds: int) -> Manifest:
    """Ask for a token that is valid for so long, for whoever the API server itself trusts."""
    metadata = ServiceAccount.manifest(account, namespace)["metadata"]
    spec = {"expirationSeconds": max(seconds, SHORTEST_SECONDS)}
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": metadata, "spec": spec}


def issued_token(answer: Manifest) -> IssuedToken:
    return msgspec.convert(answer, IssuedToken)
