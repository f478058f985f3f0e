"""Words that the cells of several kinds are made of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.api.scheme import Manifest

NONE: Final = "<none>"
UNSET: Final = "<unset>"
UNKNOWN: Final = "<unknown>"
OPERATORS: Final = {"In": "in", "NotIn": "notin"}


def at(obj: Any, *path: str) -> Any:
    """Return what stands somewhere in an object; None where the way ends before."""
    for part in path:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(part)
    return obj


def items(obj: Any, *path: str) -> Sequence[Any]:
    value = at(obj, *path)
    return value if isinstance(value, list) else ()


def name_of(obj: Manifest) -> str:
    return str(obj["metadata"].get("name", ""))


def created(obj: Manifest) -> Any:
    return obj["metadata"].get("creationTimestamp")


def condition(obj: Manifest, kind: str) -> Manifest | None:
    return next((one for one in items(obj, "status", "conditions") if one.get("type") == kind), None)


def capital(value: bool | None) -> str:
    return UNSET if value is None else "True" if value else "False"


def containers(pod_spec: Any) -> list[str]:
    """Return the names of containers, and their images: two cells."""
    pod_containers = items(pod_spec, "containers")
    return [",".join(str(one.get(field, "")) for one in pod_containers) for field in ("name", "image")]


def labels(label_map: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((label_map or {}).items())) or NONE


def selector(label_selector: Manifest | None, empty: str = NONE) -> str:
    """Return a label selector as kubectl takes it."""
    if label_selector is None:
        return NONE
    terms = [(key, f"{key}={value}") for key, value in (label_selector.get("matchLabels") or {}).items()]
    terms += [(one["key"], _requirement(one)) for one in label_selector.get("matchExpressions") or ()]
    return ",".join(term for _, term in sorted(terms)) or empty


def _requirement(requirement: Manifest) -> str:
    key, operator = str(requirement["key"]), requirement.get("operator")
    if operator in OPERATORS:
        return f"{key} {OPERATORS[operator]} ({','.join(sorted(requirement.get('values') or ()))})"
    return f"!{key}" if operator == "DoesNotExist" else key


def first_few(values: Iterable[str], most: int = 3) -> str:
    """Return the first of many, and how many more there are."""
    every = list(values)
    shown = ",".join(every[:most])
    return f"{shown} + {len(every) - most} more..." if len(every) > most else shown
