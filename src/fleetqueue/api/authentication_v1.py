"""Tokens for service accounts, as the API server issues them, and the question "who am I?"."""

from typing import Final

import msgspec

from fleetqueue.api.core_v1 import ServiceAccount
from fleetqueue.api.meta import View, owner_reference
from fleetqueue.api.scheme import Manifest

SUBRESOURCE: Final = "token"
SELF_REVIEWS: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
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


def self_review() -> Manifest:
    """Ask the API server for whom it takes the asker, which everybody may."""
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def account_reference(answer: Manifest, namespace: str) -> Manifest | None:
    """Return the owner reference to the service account that asked; None where another user, or another namespace's
    account, did."""
    user = (answer.get("status") or {}).get("userInfo") or {}
    prefix, username = f"system:serviceaccount:{namespace}:", str(user.get("username") or "")
    if not username.startswith(prefix) or not user.get("uid"):
        return None
    return owner_reference(ServiceAccount.resource, username.removeprefix(prefix), str(user["uid"]))
