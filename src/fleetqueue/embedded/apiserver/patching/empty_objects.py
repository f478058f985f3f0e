"""What an object of a kind is before anything is set."""

from functools import cache

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds import normalising
from fleetqueue.embedded.apiserver.kinds.schema import Schema


@cache
def empty_object(schema: Schema) -> Manifest:
    """Return the fields that an object of a built-in kind has without anybody setting them.

    Go writes some fields always, empty or null, as `{"spec": {"containers": None}, "status": {}}` of a Pod. So whoever
    creates a Pod sets what is in its containers, but not that there are containers. Custom kinds have nothing of the
    sort.
    """
    return normalising.empty_object(schema.name) if schema.name else {}
