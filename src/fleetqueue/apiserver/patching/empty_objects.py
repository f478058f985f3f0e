"""What an object of a kind is before anything is set."""

from functools import cache
from typing import Any

from msgspec import UNSET

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.kinds.schema import Schema


@cache
def empty_object(schema: Schema) -> Manifest:
    """Return the fields that an object of a built-in kind has without anybody setting them.

    In Go some maps and lists are always there, empty or null, as `{"spec": {"containers": None}, "status": {}}` of a
    Pod. So whoever creates a Pod sets what is in its containers, but not that there are containers. Custom kinds have
    nothing of the sort.
    """
    return _always_there(schema) if schema.name else {}


def _always_there(schema: Schema) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, field in schema.properties.items():
        if field.default == {}:
            fields[name] = _always_there(field)
        elif name in schema.required and field.default is UNSET and field.type in ("object", "array"):
            fields[name] = None
    return fields
