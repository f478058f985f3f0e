"""What can be chosen about measuring a cluster, and about clusters that nobody measures."""

from dataclasses import dataclass, field
from typing import Final

from fleetqueue.api.usage_scores import ScoreScale

MARGIN: Final = 30.0
"""Seconds before the end of a score's validity at which the hub takes its agent for silent.

OCM counts a score as 0 from the moment it expires, so the hub acts before. It is also how far the clocks of the hub's
own machines may differ. Were it more than half of an agent's validity, the agent and the hub would take turns.
"""


@dataclass(frozen=True, slots=True)
class ScoreAgentSettings:
    scale: ScoreScale = field(default_factory=ScoreScale)
    """What counts as wholly free; the same on every worker of a fleet, or their scores cannot be compared."""
    publish_interval: float = 2.0
    """Seconds between two publications, at least: each makes OCM decide every Placement that uses the scores again."""
    look_interval: float = 0.1
    """Seconds between two looks, at least: on 5,000 nodes one takes about 20 ms, and pods may come in hundreds."""
    refresh: float = 60.0
    """Seconds between two looks, at most; also what a failing hub is left alone for, at most."""
    validity: float = 300.0
    """Seconds that a publication is good for. Renewed when less than half is left: 20 writes in an idle hour."""
    margin: float = MARGIN
    """Seconds before the end of a publication at which the hub takes the agent for silent; as it is set there."""
    clock_tolerance: float = 5.0
    """Seconds by which the worker's clock may differ from the hub's before it is corrected; answers are that exact."""
    add_on: str = ""
    """The OCM add-on that installed the agent, if one did: scores that the agent makes go when the add-on goes."""

    def __post_init__(self) -> None:
        least = 2 * (self.refresh + self.margin)
        if self.validity < least:
            raise ValueError(
                f"validity is {self.validity} s but must be {least} s or more: the agent looks every "
                f"{self.refresh} s, renews at half, and the hub takes it for silent {self.margin} s before the end"
            )


@dataclass(frozen=True, slots=True)
class SilenceSettings:
    score_unknown_clusters: bool = True
    """Whether accepted clusters that never had a score get the lowest one. Without it OCM counts them as 0, which is
    better than 9 free GPUs."""
    margin: float = MARGIN
    """Seconds before its scores expire at which an agent counts as silent."""
    validity: float = 86400.0
    """Seconds that the lowest scores are good for, renewed at half: the hub part may be away for half a day before a
    silent cluster counts as 0."""
    look_interval: float = 600.0
    """Seconds between two looks at a cluster, at most: timers stand still while a machine sleeps."""
