"""Events: what happened to an object, for people."""

from typing import ClassVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource

NORMAL, WARNING = "Normal", "Warning"


class Event(Object):
    resource: ClassVar = Resource("events.k8s.io", "v1", "Event", "events")
