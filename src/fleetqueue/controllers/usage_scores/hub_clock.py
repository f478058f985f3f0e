"""The hub's time, as a worker knows it.

Until when scores are valid is compared with the hub's clock. A worker whose own clock is minutes behind would publish
scores that are expired at birth; one that is ahead, scores that outlive a dead agent. The API server notes the time of
each write in the object's managed fields and sends it back with the answer, so every write tells how far off we are.
"""

from datetime import datetime, timedelta

from fleetqueue import clock
from fleetqueue.api.scheme import Manifest
from fleetqueue.runtime.logs import Log

log = Log("usage-scores")


class HubClock:
    def __init__(self, tolerance: float) -> None:
        self._tolerance = timedelta(seconds=tolerance)
        self._ahead = timedelta()
        self.is_known = False
        """Whether a write has told the hub's time yet."""

    def now(self) -> datetime:
        return clock.now() + self._ahead

    def learn(self, answer: Manifest) -> bool:
        """Take the time from the answer to a write; return whether what was written had the wrong one."""
        self.is_known = True
        written = time_of_write(answer)
        error = written - self.now() if written else timedelta()
        if abs(error) <= self._tolerance:
            return False
        self._ahead += error
        log.warning("clock differs from the hub's", hub_is_ahead_by=round(self._ahead.total_seconds()))
        return True


def time_of_write(answer: Manifest) -> datetime | None:
    """Return when, by the server's clock, an object was last written; None where the server does not say."""
    entries = answer["metadata"].get("managedFields") or ()
    times = [datetime.fromisoformat(entry["time"]) for entry in entries if entry.get("time")]
    return max(times, default=None)
