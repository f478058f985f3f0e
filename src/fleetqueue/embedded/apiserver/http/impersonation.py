"""Impersonation: a request may act as another user, by its headers, where roles allow it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from multidict import MultiMapping

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.auth.attributes import Attributes, forbidden
from fleetqueue.embedded.apiserver.auth.rbac import Rbac
from fleetqueue.embedded.apiserver.auth.users import (
    ANONYMOUS,
    AUTHENTICATED,
    SERVICE_ACCOUNT_PREFIX,
    UNAUTHENTICATED,
    User,
    service_account,
)
from fleetqueue.embedded.apiserver.kinds.go_text import quoted

USER, GROUP, UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"
EXTRA: Final = "impersonate-extra-"
AUTHENTICATION: Final = "authentication.k8s.io"


def impersonated(user: User, headers: MultiMapping[str], rbac: Rbac) -> User:
    """Return the user that a request acts as: the authenticated one, unless the headers name another."""
    name = headers.get(USER)
    if not name and GROUP not in headers and UID not in headers:
        return user
    groups, uid, extra = tuple(headers.getall(GROUP, ())), headers.get(UID) or "", _extra(headers)
    if not name:
        raise _nameless(groups, uid, extra)
    for asked in _asked(user, name, groups, uid, extra):
        if rbac.reason(asked) is None:
            raise forbidden(asked)
    return User(name, _groups(name, groups), uid, extra)


def _nameless(groups: Sequence[str], uid: str, extra: Mapping[str, Sequence[str]]) -> errors.BadRequest:
    """Refuse who names groups and no user, by showing what Go made of that."""
    inner = ", ".join(f"{quoted(key)}:{_strings(values)}" for key, values in sorted(extra.items()))
    more = f"map[string][]string{{{inner}}}" if extra else "map[string][]string(nil)"
    shown = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_strings(groups)}, Extra:{more}}}'
    return errors.BadRequest(f"requested {shown} without impersonating a user name", reason="BadRequest")


def _strings(values: Sequence[str]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"


def _extra(headers: MultiMapping[str]) -> Mapping[str, Sequence[str]]:
    extra: dict[str, list[str]] = {}
    for header in headers.keys():
        if header.lower().startswith(EXTRA):
            extra[unquote(header[len(EXTRA) :].lower())] = list(headers.getall(header, ()))
    return extra


def _asked(
    user: User, name: str, groups: Sequence[str], uid: str, extra: Mapping[str, Sequence[str]]
) -> Iterator[Attributes]:
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if name.startswith(SERVICE_ACCOUNT_PREFIX) and account:
        yield Attributes(user, "impersonate", "", "serviceaccounts", "", account, namespace)
    else:
        yield Attributes(user, "impersonate", "", "users", "", name)
    for group in groups:
        yield Attributes(user, "impersonate", "", "groups", "", group)
    if uid:
        yield Attributes(user, "impersonate", AUTHENTICATION, "uids", "", uid)
    for key, values in extra.items():
        for value in values:
            yield Attributes(user, "impersonate", AUTHENTICATION, "userextras", key, value)


def _groups(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """Return the groups of the other; a service account has its own, and everybody that of all who are known."""
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if not groups and name.startswith(SERVICE_ACCOUNT_PREFIX) and account:
        return tuple(service_account(namespace, account).groups)
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return tuple(groups)
    return (*groups, UNAUTHENTICATED if name == ANONYMOUS.name else AUTHENTICATED)
