"""What is wrong with an object, field by field, in the words of Kubernetes."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from fleetqueue.api import errors

IMMUTABLE: Final = "field is immutable"
NEGATIVE: Final = "must be greater than or equal to 0"
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_NOT_A_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NOT_A_LABEL_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_FORM: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


_PREFIX_FORM: Final = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_EMPTY: Final = "must be non-empty"


def invalid(path: str, value: Any, detail: str) -> str:
    return f"{path}: Invalid value: {_written(value)}: {detail}"


def invalid_whole(path: str, detail: str) -> str:
    """Say what is wrong without showing the value."""
    return f"{path}: Invalid value: {detail}"


def forbidden(path: str, detail: str) -> str:
    return f"{path}: Forbidden: {detail}"


def required(path: str, detail: str) -> str:
    return f"{path}: Required value: {detail}"


def too_many(path: str, number: int, most: int) -> str:
    return f"{path}: Too many: {number}: must have at most {most} items"


def duplicate(path: str, value: Any) -> str:
    return f"{path}: Duplicate value: {_written(value)}"


def not_found(path: str, value: Any) -> str:
    return f"{path}: Not found: {_written(value)}"


def unsupported(path: str, value: Any, supported: Iterable[str]) -> str:
    listed = ", ".join(_written(choice) for choice in supported)
    return f"{path}: Unsupported value: {_written(value)}: supported values: {listed}"


def unchanged(path: str, new: Any, old: Any) -> list[str]:
    return [] if new == old else [invalid(path, new, IMMUTABLE)]


def not_subdomain(value: str) -> str:
    """Say why a text is no name of an object; nothing where it is one."""
    if len(value) > 253:
        return "must be no more than 253 bytes"
    return "" if _SUBDOMAIN.fullmatch(value) else _NOT_A_SUBDOMAIN


def unqualified(value: str) -> list[str]:
    """Say all that keeps a text from being the name of a label or a resource; nothing where it is one."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [f"a valid label key {_QUALIFIED_FORM} {_PREFIX_FORM}"]
    wrong_prefix = not_subdomain(prefix) if prefix else _EMPTY
    problems = [f"prefix part {wrong_prefix}"] if slash and wrong_prefix else []
    if not name or len(name) > 63:
        problems.append(f"name part {'must be no more than 63 bytes' if name else _EMPTY}")
    return problems if _QUALIFIED.fullmatch(name) else [*problems, f"name part {_QUALIFIED_FORM}"]


def not_label_value(value: str) -> str:
    """Say why a text is no value of a label; nothing where it is one."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return "" if _LABEL_VALUE.fullmatch(value) else _NOT_A_LABEL_VALUE


def refuse(problems: Sequence[str]) -> None:
    """Deny a write for what was found, if anything was."""
    if problems:
        raise errors.Forbidden(together(problems), reason="Forbidden")


def together(problems: Sequence[str]) -> str:
    """Write several problems as one text; what was found twice is told once."""
    unique_problems = list(dict.fromkeys(problems))
    return unique_problems[0] if len(unique_problems) == 1 else f"[{', '.join(unique_problems)}]"


def _written(value: Any) -> str:
    if value is None:
        return "null"
    return orjson.dumps(value).decode()
