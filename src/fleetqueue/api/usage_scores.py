"""The usage scores of a cluster: their names, their order, and how much of a resource they measure.

A score says how much of a resource is free on a cluster: -100 is nothing, 100 is `Scale` of it or more. The order is a
contract (users read `.status.scores[5]`), so a new score is only ever appended.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final, NamedTuple

from fleetqueue.api.cluster_v1 import SCORE_MAX, SCORE_MIN

SCORE_RESOURCE: Final = "resource-usage-score"
"""The name of the AddOnPlacementScore in the namespace of each cluster; upstream's add-on uses the same."""
FRESH: Final = "Fresh"
"""The condition that tells measured scores (True) from the lowest ones, which stand in for a silent agent (False)."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
GPU: Final = "nvidia.com/gpu"
TPU: Final = "google.com/tpu"
RESOURCES: Final = (CPU, MEMORY, GPU, TPU)


class ScoreScope(Enum):
    """Over what the free amount is counted."""

    NODE = "the node with most of it"
    CLUSTER = "all nodes together"


class Score(NamedTuple):
    name: str
    resource: str
    scope: ScoreScope


SCORES: Final = (
    Score("cpuNodeAvailable", CPU, ScoreScope.NODE),
    Score("cpuClusterAvailable", CPU, ScoreScope.CLUSTER),
    Score("memNodeAvailable", MEMORY, ScoreScope.NODE),
    Score("memClusterAvailable", MEMORY, ScoreScope.CLUSTER),
    Score("gpuNodeAvailable", GPU, ScoreScope.NODE),
    Score("gpuClusterAvailable", GPU, ScoreScope.CLUSTER),
    Score("tpuNodeAvailable", TPU, ScoreScope.NODE),
    Score("tpuClusterAvailable", TPU, ScoreScope.CLUSTER),
    # The two names of the add-on's first version, which Placements of that time still use.
    Score("cpuAvailable", CPU, ScoreScope.CLUSTER),
    Score("memAvailable", MEMORY, ScoreScope.CLUSTER),
)
BY_NAME: Final = {score.name: score for score in SCORES}


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """How much of a resource, free, is worth the highest score.

    All clusters that are compared need the same scale. The defaults are upstream's: a fleet of larger clusters should
    raise them, since above them one free cluster looks like the next.
    """

    cpu: int = 100
    """Cores."""
    memory: int = 2**40
    """Bytes; 1 TiB."""
    gpu: int = 20
    """Devices of `nvidia.com/gpu`."""
    tpu: int = 20
    """Devices of `google.com/tpu`."""

    def __post_init__(self) -> None:
        if min(self.cpu, self.memory, self.gpu, self.tpu) <= 0:
            raise ValueError(f"a scale must be above 0: {self}")

    def full(self, resource: str) -> int:
        """Return the amount that is worth the highest score."""
        return {CPU: self.cpu, MEMORY: self.memory, GPU: self.gpu, TPU: self.tpu}[resource]


def loss(score_name: str, amounts: Mapping[str, Decimal], scale: ScoreScale) -> float:
    """Return by how many points, at most, a score falls when a job with these requests is placed.

    Not rounded, so that many small jobs add up. It is exact between the ends of the scale for the whole cluster; for
    the best node it is as if the job went there, all of it. A score that is not one of ours does not fall.
    """
    score = BY_NAME.get(score_name)
    if score is None:
        return 0.0
    wanted = amounts.get(score.resource, Decimal(0))
    return float((SCORE_MAX - SCORE_MIN) * wanted / scale.full(score.resource))
