"""What our controller says about objects, for the stories to tell."""

from typing import ClassVar, Final

from fleetqueue.api.events_v1 import Event
from fleetqueue.api.meta import Object, View

OURS: Final = "fleetqueue.dev/controller"


class Regarding(View):
    kind: str = ""
    name: str = ""


class Said(Object):
    """An Event, with what is read of it here."""

    resource: ClassVar = Event.resource

    reason: str = ""
    note: str = ""
    event_time: str = ""
    reporting_controller: str = ""
    regarding: Regarding = Regarding()

    @property
    def is_ours(self) -> bool:
        return self.reporting_controller == OURS

    @property
    def sentence(self) -> str:
        return f"{self.regarding.kind} {self.regarding.name}: {self.note}"
