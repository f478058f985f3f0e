"""The answers to patches that cannot be applied, as the real server gives them."""

from typing import Any, Final

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds import go_text

_JSON_KINDS: Final = {dict: "object", list: "array", str: "string", bool: "bool", int: "number", float: "number"}


def malformed(message: str) -> errors.BadRequest:
    """Return the answer to a patch that is none."""
    return errors.BadRequest(message, reason="BadRequest")


def not_decodable(value: Any, target: str) -> str:
    """Return Go's words for JSON that does not fit what it is read into."""
    return f"json: cannot unmarshal {_JSON_KINDS.get(type(value), 'null')} into {target}"


def no_map(value: Any) -> str:
    """Return Go's words for JSON that should have been a map."""
    return not_decodable(value, "Go value of type map[string]interface {}")


def inapplicable() -> errors.Invalid:
    """Return the answer to a patch that does not fit the object; the real server does not say why either."""
    return errors.Invalid(
        "the server rejected our request due to an error in our request", reason="Invalid", details={}
    )


def too_large(message: str) -> errors.ApiError:
    """Return the answer to a patch of too many steps."""
    return errors.ApiError(f"Request entity too large: {message}", reason="RequestEntityTooLarge", code=413)


def unexpected(message: str) -> errors.ServerError:
    """Return the answer where the real server has none prepared: 500 and the bare message, without a reason."""
    return errors.ServerError(message)


def wrong_argument(value: Any, wanted: str) -> errors.ServerError:
    """Return the answer to a value of another type than a patch of this sort can have there."""
    kind = "%!s(<nil>)" if value is None else go_text.kind(value)
    return unexpected(f"expected a {wanted}, but received a {kind}")


def panicked() -> errors.ServerError:
    """Return the answer to what the real server does not survive, but for its last line of defence."""
    return unexpected("This request caused apiserver to panic. Look in the logs for details.")
