"""The form of a new object: all of it that decides which fields its creator owns.

Objects that a controller makes differ in names, texts and numbers and have the same fields; Events do, above all. So
their set of fields is made once, and shared by all of them.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final

from fleetqueue.api.kept_json import kept_json
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.schema import Schema
from fleetqueue.embedded.apiserver.patching.field_sets import Fields
from fleetqueue.embedded.apiserver.patching.reset_fields import Reset

MOST_KNOWN: Final = 512

_SIMPLE: Final = frozenset((str, int, float, bool))

Form = tuple[tuple[str, Hashable], ...]


def form_of(obj: Manifest) -> Form:
    """Return the names of all fields, lists as they are, and what is empty: not what texts and numbers say."""
    return tuple([(name, (value and type(value) in _SIMPLE) or _form_of_part(value)) for name, value in obj.items()])


def _form_of_part(value: Any) -> Hashable:
    return form_of(value) if type(value) is dict else kept_json(value)


class FieldsByForm:
    """The fields of new objects, by their schema, by what is reset, and by their form."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, Form], tuple[Fields, Schema, Reset]] = {}
        """With schema and reset fields, so that no others get the same identity."""

    def of(self, obj: Manifest, schema: Schema, reset: Reset, find: Callable[[], Fields]) -> Fields:
        """Return the fields of a new object, as they were found for one of the same form."""
        metadata = obj.get("metadata") or {}
        if metadata.get("ownerReferences") or any(obj.get(element[2:]) for element in reset.fields):
            return find()  # no other has the same owner; and of what is reset, the values are looked at
        key = (id(schema), id(reset), form_of(obj))
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                del self._known[next(iter(self._known))]
            known = self._known[key] = (find(), schema, reset)
        return known[0]
