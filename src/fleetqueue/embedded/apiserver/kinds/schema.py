"""The shape of a value, for built-in and custom kinds alike.

A schema is a node of a tree that may lead back to itself (a JSON schema contains JSON schemas). Whoever builds one
fills its `properties` last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

ATOMIC, SET, MAP = "atomic", "set", "map"


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    type: str = ""
    """object, array, string, integer, number or boolean; empty where anything goes."""
    format: str = ""
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    values: "Schema | None" = None
    """What every value of a map looks like (`additionalProperties`); None where it is no map."""
    items: "Schema | None" = None

    list_type: str = ATOMIC
    """How an apply sees a list: one value, a set of scalars, or items found by their keys."""
    list_keys: Sequence[str] = ()
    is_atomic: bool = False
    """Whether an apply sees an object or map as one value (`x-kubernetes-map-type: atomic`)."""
    patch_strategies: Sequence[str] = ()
    """merge, replace, retainKeys: what a strategic merge patch does here."""
    patch_key: str = ""
    """The field by which a strategic merge finds items of a list."""

    keeps_unknown: bool = False
    """Whether fields that the schema does not name are kept (`x-kubernetes-preserve-unknown-fields`)."""
    is_embedded: bool = False
    """Whether the value is a whole object with apiVersion, kind and metadata."""
    is_int_or_string: bool = False
    is_nullable: bool = False
    default: Any = UNSET

    required: Sequence[str] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    """What else a custom kind demands (enum, pattern, maximum, anyOf, x-kubernetes-validations, ...), as written."""
    name: str = ""
    """The type of a built-in kind, such as `api.core.v1.Pod`: with `io.k8s.` before it, its name in OpenAPI."""

    def child(self, name: str) -> "Schema | None":
        """Return the schema of a field or of a map's value; None where the name is not known here."""
        return self.properties.get(name) or self.values


ANY = Schema(keeps_unknown=True)
"""The schema of what nobody describes."""
