"""The user of a request: name, groups, extra fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
MASTERS: Final = "system:masters"
"""The group that may do everything, whatever the roles say."""
SERVICE_ACCOUNTS: Final = "system:serviceaccounts"
SERVICE_ACCOUNT_PREFIX: Final = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)


ANONYMOUS: Final = User("system:anonymous", (UNAUTHENTICATED,))


def service_account(namespace: str, name: str, uid: str = "", **extra: Sequence[str]) -> User:
    """Return the user that a service account is."""
    groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}", groups, uid, extra)
