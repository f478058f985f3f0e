"""What is wrong with an object, field by field, in the words that Kubernetes uses."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from fleetqueue.api import errors


class Cause(NamedTuple):
    reason: str
    message: str
    field: str

    @property
    def sentence(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {detail}", field)


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {detail}" if detail else "Required value", field)


def forbidden(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {detail}", field)


def too_long(field: str, limit: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} bytes", field)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    values = ", ".join(f'"{one}"' for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {values}", field)


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {_shown(value)}", field)


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> errors.Invalid:
    """Build the answer to an object that has these faults."""
    sentences = list(dict.fromkeys(cause.sentence for cause in causes))
    told = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    qualified = f"{kind}.{group}" if group else kind
    message = f'{qualified} "{name}" is invalid: {told}' if told else f'{qualified} "{name}" is invalid'
    listed = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    details = {"name": name, "group": group, "kind": kind, "causes": listed}
    return errors.Invalid(message, reason="Invalid", details={key: value for key, value in details.items() if value})


def _shown(value: Any) -> str:
    return orjson.dumps(value).decode()
