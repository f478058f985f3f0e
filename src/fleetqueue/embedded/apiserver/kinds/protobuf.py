"""Objects in protobuf, as typed Go clients send them, decoded to the JSON that Go itself would write.

There is no encoder: every client that sends protobuf also reads JSON.
"""

from typing import Final

from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import envelope, messages
from fleetqueue.embedded.apiserver.kinds.table import UnknownKind
from fleetqueue.embedded.apiserver.kinds.wire import Malformed

_SHOWN: Final = 30
"""How many bytes of a body an error shows."""


def decode(body: bytes, group: str, version: str, kind: str) -> Manifest:
    """Decode an object; group, version and kind are what the request's path lets expect.

    They stand in where the body does not say its own. Whether the body may say another is for the caller to judge, who
    finds it in the object's apiVersion and kind. Raises BadRequest, and nothing else, on what cannot be decoded.
    """
    try:
        wrapper = envelope.opened(body).addressed(group, version, kind)
    except (Malformed, IndexError) as error:
        reason = f"the object provided is unrecognized (must be of type {kind}): {_why(error)} ({_beginning(body)})"
        raise _refused(reason) from None
    try:
        return messages.manifest(wrapper)
    except (Malformed, IndexError, UnknownKind) as error:
        reason = f'{wrapper.kind} in version "{wrapper.version}" cannot be handled as a {kind}: {_why(error)}'
        raise _refused(reason) from None


def _why(error: Exception) -> str:
    return "unexpected EOF" if type(error) is IndexError else str(error)


def _beginning(body: bytes) -> str:
    if not body:
        return "<empty>"
    start = body[:_SHOWN]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return shown + (" ..." if len(body) > _SHOWN else "")


def _refused(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, reason="BadRequest")
