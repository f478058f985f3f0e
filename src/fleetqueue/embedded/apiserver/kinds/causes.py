"""What is wrong with an object, field by field, in the words that Kubernetes uses."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds.go_text import json_text, number, quoted

NOWHERE: Final = "<nil>"
"""The field of a fault that belongs to the whole object."""


class Cause(NamedTuple):
    reason: str
    message: str
    field: str

    @property
    def sentence(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {value_text(value)}: {detail}", field)


def invalid_omitted(field: str, detail: str) -> Cause:
    """A fault of an object or list, which would be too long to show."""
    return Cause("FieldValueInvalid", f"Invalid value: {detail}", field)


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", f"Invalid value: {value_text(value)}: {detail}", field)


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def forbidden(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}" if detail else "Forbidden", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} byte{'s' if limit != 1 else ''}", field)


def too_many(field: str, actual: int, limit: int) -> Cause:
    detail = f"must have at most {limit} item{'s' if limit != 1 else ''}"
    return Cause("FieldValueTooMany", f"Too many: {actual}: {detail}", field)


def not_supported(field: str, value: Any, supported: Sequence[Any]) -> Cause:
    values = ", ".join(quoted(one if isinstance(one, str) else json_text(one)) for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {value_text(value)}: supported values: {values}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {value_text(value)}", field)


def internal(field: str, detail: str) -> Cause:
    return Cause("InternalError", f"Internal error: {detail}", field)


def value_text(value: Any) -> str:
    """Write a bad value: numbers plainly, strings in quotes, all else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    return number(value) if isinstance(value, (int, float)) else json_text(value)


def aggregate(causes: Sequence[Cause]) -> str:
    """Tell all faults in one sentence, each once."""
    sentences = list(dict.fromkeys(cause.sentence for cause in causes))
    return sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> errors.Invalid:
    """Build the answer to an object that has these faults."""
    message = f"{kind}.{group} {quoted(name)}" if group else f"{kind} {quoted(name)}"
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    details = {"name": name, "group": group, "kind": kind, "causes": listed}
    return errors.Invalid(
        f"{message} is invalid: {aggregate(causes)}",
        reason="Invalid",
        details={key: value for key, value in details.items() if value},
    )
