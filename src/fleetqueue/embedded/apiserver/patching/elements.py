"""One step of a path to a field, written as in managedFields.

`f:name` a field or a key of a map, `k:{"name":"a"}` the item of a list that has these keys, `v:"a"` an item of a set,
`i:0` the item at an index, `.` the value itself beside what is inside it.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import orjson
from msgspec import UNSET

from fleetqueue.embedded.apiserver.kinds import go_text
from fleetqueue.embedded.apiserver.kinds.schema import ANY, Schema

ITSELF: Final = "."
FIELD: Final = "f:"


class ItemError(ValueError):
    """An item of a list that cannot be told from the others."""


def of_item(item: Any, schema: Schema) -> str:
    """Return the element that leads to an item of a set or of a list with keys."""
    keys = schema.list_keys
    if not keys:
        return _of_scalar(item)
    if len(keys) == 1 and type(item) is dict and type(key := item.get(keys[0])) is str:
        return keyed(keys[0], key)  # nearly always
    return _of_keyed(item, schema)


def _of_scalar(item: Any) -> str:
    if isinstance(item, dict):
        raise ItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ItemError("not supported: associative list with lists as elements")
    if item is None:
        raise ItemError("associative list without keys has an element that's an explicit null")
    return scalar(item)


def _of_keyed(item: Any, schema: Schema) -> str:
    if item is None:
        raise ItemError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ItemError("associative list with keys may not have non-map elements")
    keys = schema.list_keys
    pairs: list[Any] = []
    for name in sorted(keys):
        value = item.get(name, UNSET)
        if value is UNSET:
            value = default_of(name, schema)
        if value is not UNSET:
            pairs += (name, value)
    if not pairs:
        raise ItemError(
            f"associative list with keys has an element that omits all key fields [{_quoted(keys)}] "
            "(and doesn't have default values for any key fields)"
        )
    return _keyed(*pairs)


def default_of(name: str, schema: Schema) -> Any:
    """Return what a key of an item is where it is not given; UNSET where nothing is."""
    field = (schema.items or ANY).properties.get(name)
    return UNSET if field is None else field.default


def _quoted(names: Sequence[str]) -> str:
    return " ".join(go_text.quoted(name) for name in names)


def _keyed(*pairs: Any) -> str:
    try:
        return keyed(*pairs)
    except TypeError:  # a key that is itself a map or a list has no hash
        return keyed.__wrapped__(*pairs)


@lru_cache(maxsize=16384, typed=True)  # `typed`: the keys 1 and true are not the same
def keyed(*pairs: Any) -> str:
    """Return the element for keys and their values, one after the other, in the order of the keys."""
    return f"k:{go_text.json_text(dict(zip(pairs[::2], pairs[1::2], strict=True)))}"


@lru_cache(maxsize=16384, typed=True)
def scalar(value: Any) -> str:
    """Return the element for an item of a set."""
    return f"v:{go_text.json_text(value)}"


@lru_cache(maxsize=16384)
def parse(element: str) -> str:
    """Return an element as we write it; empty for a sort that we do not know."""
    sort, content = element[:2], element[2:]
    if sort == FIELD:
        return element
    if sort == "k:":
        return f"k:{go_text.json_text({name: _whole(v) for name, v in orjson.loads(content).items()})}"
    if sort == "v:":
        return f"v:{go_text.json_text(_whole(orjson.loads(content)))}"
    if sort == "i:":
        return f"i:{int(content)}"
    if sort[1:] != ":":
        raise ValueError(f"missing colon: {element}")
    return ""


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_text(element: str) -> str:
    """Return an element as messages show it."""
    sort, content = element[:2], element[2:]
    if sort == FIELD:
        return f".{content}"
    if sort == "k:":
        return "[" + ",".join(f"{k}={_shown(v)}" for k, v in orjson.loads(content).items()) + "]"
    return f"[{content}]" if sort == "i:" else f"[={_shown(orjson.loads(content))}]"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_shown, value))}]"
    if isinstance(value, dict):
        return "".join(f"{name}={_shown(item)}" for name, item in value.items())
    if value is None:
        return "null"
    return go_text.quoted(value) if isinstance(value, str) else go_text.number(value)


@lru_cache(maxsize=16384)
def rank(element: str) -> tuple[Any, ...]:
    """Return where an element stands among others: fields, then keys, then values, then indices, each in order."""
    sort, content = element[:2], element[2:]
    if sort == FIELD:
        return (0, content)
    if sort == "k:":
        return (1, *((name, *_value_rank(value)) for name, value in orjson.loads(content).items()))
    if sort == "v:":
        return (2, *_value_rank(orjson.loads(content)))
    return (3, int(content)) if sort == "i:" else (-1,)


def _value_rank(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    return (1, value) if isinstance(value, str) else (3, go_text.json_text(value))
