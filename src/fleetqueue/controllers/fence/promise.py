"""What an agent has promised to the hub, and until when the copies on its worker may run. No I/O, no clock."""

from typing import Final

import msgspec

from fleetqueue.api.scheme import Manifest

PROMISE: Final = "fleetqueue.dev/promise"
"""Annotation on the worker's own Lease: a Promise as JSON."""
START_SECONDS: Final = 15.0
"""How long an agent that cannot know its deadline tries to reach the hub. The hub's slack has room for it."""


class Promise(msgspec.Struct, frozen=True):
    lease: str = ""
    """The uid of the Lease on the hub; empty before there is one. Written down before the first renewal, so that
    whoever trusts the Lease can count on an agent that knows it."""
    boot: str = ""
    """What `renewed` counts from; empty before the first renewal was acknowledged."""
    renewed: float = 0.0
    """When the last renewal that was acknowledged was sent."""
    duration: float = 0.0
    """Seconds that it was for."""

    def deadline(self, after: float, *, boot: str, started: float) -> float:
        """Return until when copies may run unless a further renewal is acknowledged, by the clock since boot.

        Of the time that was promised and the time that is set now the shorter counts: the hub may have seen a renewal
        of which we do not know. The clock of another boot, or of another machine, tells nothing.
        """
        if self.boot and self.boot == boot:
            return self.renewed + min(self.duration, after)
        return started + START_SECONDS

    def written(self) -> dict[str, str]:
        """Return the annotations that keep it."""
        return {PROMISE: msgspec.json.encode(self).decode()}


def read(raw: Manifest) -> Promise:
    """Return the promise that a Lease of the worker keeps; an empty one where it keeps none."""
    text = (raw["metadata"].get("annotations") or {}).get(PROMISE, "")
    try:
        return msgspec.json.decode(text, type=Promise)
    except msgspec.MsgspecError:
        return Promise()  # edited by hand
