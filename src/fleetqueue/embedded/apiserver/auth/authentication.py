"""The user of a request: by client certificate, by the server's own tokens, or by the token of a service account."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ssl import cert_time_to_seconds
from typing import Any, NamedTuple

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.auth.service_account_tokens import CREDENTIAL_ID, ServiceAccountTokens, TokenError
from fleetqueue.embedded.apiserver.auth.users import ANONYMOUS, AUTHENTICATED, User


class Certificate(NamedTuple):
    """Who a verified client certificate is for."""

    name: str
    organizations: Sequence[str]
    fingerprint: str = ""
    """The SHA-256 of its bytes."""
    until: datetime | None = None
    """When it ends; None means never."""


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """What came with a request: the verified client certificate, a bearer token, as whom it is to be done."""

    certificate: tuple[str, Sequence[str]] | Certificate | None = None
    token: str = ""
    impersonate: str = ""
    """The name of another user; roles must allow it."""


@dataclass(frozen=True, slots=True)
class Authentication:
    accounts: ServiceAccountTokens
    audiences: Sequence[str]
    """The audiences of this server; a token for another one is none here."""
    tokens: Mapping[str, User] = field(default_factory=dict)

    def user(self, credentials: RequestCredentials) -> User:
        """Return the user; anonymous without a credential; raises Unauthorized for one that is not valid."""
        if credentials.certificate is not None:
            shown = Certificate(*credentials.certificate)
            if shown.until is not None and shown.until <= clock.now():
                raise unauthorized()  # checked at each request, however old its connection is
            extra = {CREDENTIAL_ID: (f"X509SHA256={shown.fingerprint}",)} if shown.fingerprint else {}
            return User(shown.name, (*shown.organizations, AUTHENTICATED), extra=extra)
        if not credentials.token:
            return ANONYMOUS
        try:
            return self.by_token(credentials.token, self.audiences)[0]
        except TokenError:
            raise unauthorized() from None

    def by_token(self, token: str, audiences: Sequence[str]) -> tuple[User, Sequence[str]]:
        """Return whom a token stands for, and for which of the audiences; raises TokenError where it does not hold."""
        if token in self.tokens:
            user = self.tokens[token]
            return User(user.name, (*user.groups, AUTHENTICATED), user.uid, user.extra), audiences
        return self.accounts.verify(token, audiences or self.audiences)


def unauthorized() -> errors.Unauthorized:
    return errors.Unauthorized("Unauthorized", reason="Unauthorized")


def subject_of(certificate: Mapping[str, Any], content: bytes = b"") -> Certificate | None:
    """Read a peer certificate as Python's ssl module gives it; the content is its bytes."""
    parts = [pair for entry in certificate.get("subject", ()) for pair in entry]
    names = [value for key, value in parts if key == "commonName"]
    organizations = [value for key, value in parts if key == "organizationName"]
    fingerprint = hashlib.sha256(content).hexdigest() if content else ""
    ends = certificate.get("notAfter")
    until = datetime.fromtimestamp(cert_time_to_seconds(ends), UTC) if ends else None
    return Certificate(names[-1], tuple(organizations), fingerprint, until) if names else None
