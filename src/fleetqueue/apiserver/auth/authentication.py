"""Find out who asks: by client certificate, by the server's own tokens, or by the token of a service account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api import errors
from fleetqueue.apiserver.auth.service_account_tokens import ServiceAccountTokens, TokenError
from fleetqueue.apiserver.auth.users import ANONYMOUS, AUTHENTICATED, User


@dataclass(frozen=True, slots=True)
class Credentials:
    """What came with a request: the verified client certificate as (common name, organizations), a bearer token."""

    certificate: tuple[str, Sequence[str]] | None = None
    token: str = ""


@dataclass(frozen=True, slots=True)
class Authentication:
    accounts: ServiceAccountTokens
    audiences: Sequence[str]
    """The audiences of this server; a token for another one is none here."""
    tokens: Mapping[str, User] = field(default_factory=dict)

    def user(self, credentials: Credentials) -> User:
        """Return who asks; nobody in particular without a credential, Unauthorized with one that does not hold."""
        if credentials.certificate is not None:
            name, organizations = credentials.certificate
            return User(name, (*organizations, AUTHENTICATED))
        if not credentials.token:
            return ANONYMOUS
        found = self.by_token(credentials.token, self.audiences)
        if found is None:
            raise unauthorized()
        return found[0]

    def by_token(self, token: str, audiences: Sequence[str]) -> tuple[User, Sequence[str]] | None:
        """Return whom a token stands for, and for which of the audiences; None where it does not hold."""
        if token in self.tokens:
            user = self.tokens[token]
            return User(user.name, (*user.groups, AUTHENTICATED), user.uid, user.extra), audiences
        try:
            return self.accounts.verify(token, audiences or self.audiences)
        except TokenError:
            return None


def unauthorized() -> errors.Unauthorized:
    return errors.Unauthorized("Unauthorized", reason="Unauthorized")


def subject_of(certificate: Mapping[str, Any]) -> tuple[str, Sequence[str]] | None:
    """Read a peer certificate as Python's ssl module gives it."""
    parts = [pair for entry in certificate.get("subject", ()) for pair in entry]
    names = [value for key, value in parts if key == "commonName"]
    organizations = [value for key, value in parts if key == "organizationName"]
    return (names[-1], tuple(organizations)) if names else None
