"""How long a container that ends again and again waits for its next start: at once, then 10 s, 20 s, ... to 5 minutes.

Mirrors: kubernetes pkg/kubelet/kuberuntime doBackOff, client-go util/flowcontrol/backoff.go
"""

from dataclasses import dataclass
from typing import Final

FIRST: Final = 10.0
LONGEST: Final = 300.0
STEPS: Final = 6
"""After so many the pause is the longest."""
STEADY: Final = 2 * LONGEST
"""A container that has run for so long begins anew."""


@dataclass(slots=True)
class BackOff:
    pause: float = 0.0
    started: float = 0.0
    """When the container was last started again."""

    def pause_after(self, ended: float) -> float:
        """Return how long to wait after an end, in seconds; counted by the loop's clock."""
        if self.pause and ended - self.started > STEADY:
            self.pause = 0.0
        return self.pause

    def starts(self, now: float) -> None:
        """Take note of another start: the next pause is longer."""
        self.pause = min(2 * self.pause, LONGEST) if self.pause else FIRST
        self.started = now


def pause_after(restarts: int) -> float:
    """Return how many seconds a container waits that was started again so often, and never ran for long."""
    return min(FIRST * 2.0 ** (min(restarts, STEPS) - 1), LONGEST) if restarts else 0.0
