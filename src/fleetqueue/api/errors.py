"""What a Kubernetes API answers when it does not do what was asked.

ApiError                 any Status with a code of 400 or above
├── BadRequest       400
├── Unauthorized     401  the credential is missing, wrong or expired
├── Forbidden        403
├── NotFound         404
├── AlreadyExists    409  the name is taken
├── Conflict         409  stale resourceVersion, another object's uid, or a field another manager owns
├── Gone             410  the watch must start again from a new list
├── Invalid          422  carries one cause for each bad field
├── TooManyRequests  429  carries retry_after
└── ServerError      5xx

Unreachable is not an answer: the server could not be asked at all.

Controllers raise two more: RetryLater, when nothing is wrong but time must pass, and TerminalError, when only a change
of the object can help. Any other exception means: try again, later and later.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

LONGEST_WAIT: Final = 60.0
"""Seconds; as long as the work queue waits at most by itself. A load balancer that asks for a day while it is repaired
would keep a key, or all that is watched on a cluster, away for that day. If this is too short, a busy server refuses
us once a minute, which costs it next to nothing."""


class ApiError(Exception):
    """A Status that the server answered instead of an object."""

    code = 500

    def __init__(
        self, message: str, *, reason: str = "", code: int = 0, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.code = code or type(self).code
        self.details = details or {}
        self.retry_after = _wait(self.details.get("retryAfterSeconds"))
        """Seconds to wait because the server asks for it, at most LONGEST_WAIT, or None."""


class BadRequest(ApiError):
    code = 400


class Unauthorized(ApiError):
    code = 401


class Forbidden(ApiError):
    code = 403

    @property
    def is_from_webhook(self) -> bool:
        """Tell whether an admission webhook found the object wrong: no other credential would help."""
        return self.message.startswith("admission webhook ")


class NotFound(ApiError):
    code = 404


class AlreadyExists(ApiError):
    code = 409


class Conflict(ApiError):
    code = 409


class Gone(ApiError):
    code = 410


class Invalid(ApiError):
    code = 422


class TooManyRequests(ApiError):
    code = 429


class ServerError(ApiError):
    code = 500

    @property
    def is_from_webhook(self) -> bool:
        """Tell whether an admission webhook did not answer: then nothing was stored."""
        return "failed calling webhook" in self.message


class Unreachable(Exception):
    """No answer: refused, cut, timed out, or a certificate that does not fit."""


class RetryLater(Exception):
    """Nothing is wrong, but time must pass."""

    def __init__(self, after: float, why: str) -> None:
        super().__init__(why)
        self.after = after
        self.why = why


class TerminalError(Exception):
    """Trying again cannot help; a change of the object can."""


_BY_CODE: dict[int, type[ApiError]] = {
    error.code: error
    for error in (BadRequest, Unauthorized, Forbidden, NotFound, Conflict, Gone, Invalid, TooManyRequests)
}


def from_status(code: int, body: Any) -> ApiError:
    """Build the error that a Status stands for; a body that is no Status (a proxy's page, say) is quoted."""
    status = body if isinstance(body, dict) else {}
    message = str(status.get("message") or (body if isinstance(body, str) else "")).strip()[:2000] or f"HTTP {code}"
    reason = str(status.get("reason") or "")
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    return _kind(code, reason, details)(message, reason=reason, code=code, details=details)


def _wait(asked: Any) -> float | None:
    """Read a time to wait; whoever answers may write anything there, and who handles the error must not fail on it."""
    try:
        seconds = float(asked)
    except (TypeError, ValueError, OverflowError):
        return None
    return min(seconds, LONGEST_WAIT) if 0 < seconds < math.inf else None


def _kind(code: int, reason: str, details: Mapping[str, Any]) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    causes = details.get("causes")
    fields = [cause.get("field") for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []
    if code == Invalid.code and "metadata.uid" in fields:
        return Conflict  # a patch for another object of this name: "field is immutable", but what it means is: stale
    return _BY_CODE.get(code, ServerError if code >= 500 else ApiError)
