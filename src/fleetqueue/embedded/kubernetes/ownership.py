"""Who answers for an object: by its controller, others find it and are woken by it."""

from collections.abc import Callable, Iterable

from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Resource


def owner_uid(obj: Object) -> str:
    owner = obj.controller
    return owner.uid if owner is not None else ""


def keys_of_owner(kind: Resource) -> Callable[[Object], Iterable[str]]:
    """Return what names the object of a kind that another one belongs to: to find it by, and to wake it."""

    def keys(obj: Object) -> Iterable[str]:
        owner = obj.controller
        if owner is not None and owner.kind == kind.kind and owner.api_version.startswith(f"{kind.group}/"):
            yield key_of(obj.namespace, owner.name)

    return keys
