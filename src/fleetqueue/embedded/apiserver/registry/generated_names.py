"""Names that the server makes up: a prefix and five random letters."""

from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.served import Served

LONGEST: Final = 63
LETTERS: Final = 5
MOST_TRIES: Final = 8


def with_name(obj: Manifest) -> Manifest:
    """Return the object with a name; the same one where it has one, or asks for none."""
    metadata = obj["metadata"]
    prefix = metadata.get("generateName")
    if metadata.get("name") or not prefix:
        return obj
    name = prefix[: LONGEST - LETTERS] + clock.suffix(LETTERS)
    return {**obj, "metadata": {**metadata, "name": name}}


def exhausted(served: Served, name: str) -> errors.AlreadyExists:
    """Say that every name that was tried is taken; the client may ask again."""
    resource = served.resource
    message = f'{resource} "{name}" already exists, the server was not able to generate a unique name for the object'
    details = {"name": name, "group": resource.group, "kind": resource.plural, "retryAfterSeconds": 1}
    return errors.AlreadyExists(message, reason="AlreadyExists", details={k: v for k, v in details.items() if v})
