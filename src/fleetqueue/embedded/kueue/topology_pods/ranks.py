"""The rank of each pod of a set. By it pods go into the domains of their set's assignment, one domain after another.

Mirrors: Kueue pkg/controller/tas/topology_ungater.go (readRanksForLabels), pkg/util/pod (ReadUIntFromLabelBelowBound)
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.topology_names import INDEX_OFFSET
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.topology_requests import integer


class NoRanks(Exception):
    """Pods do not say their ranks, or say what cannot be."""


class BadOffset(Exception):
    """A pod says an offset that is no number."""


class Ranks(NamedTuple):
    """How the numbers of a set's pods become ranks."""

    offset: int
    """The number of the first pod."""
    end: int
    """What all numbers are less than."""
    pods: int

    def of(self, request: TopologyRequest, pods: Sequence[Manifest]) -> dict[int, Manifest]:
        """Return pods by their ranks; raises NoRanks."""
        jobs, size = request.sub_group_count or 0, self.pods
        if request.sub_group_index_label is not None:
            if jobs <= 0:
                raise NoRanks(f"{jobs} groups")
            size = self.pods // jobs
        by_rank: dict[int, Manifest] = {}
        for pod in pods:
            number = _number(pod, request.pod_index_label or "", self.end)
            rank = number - self.offset
            if request.sub_group_index_label is not None:
                if number >= size:
                    raise NoRanks(f"{number} in a job of {size} pods")
                rank += _number(pod, request.sub_group_index_label, jobs) * size
            if not 0 <= rank < self.pods or rank in by_rank:
                raise NoRanks(f"rank {rank}")
            by_rank[rank] = pod
        return by_rank


def _number(pod: Manifest, label: str, end: int) -> int:
    text = job_fields.labels(pod).get(label, "")
    if not text.isascii() or not text.isdigit() or int(text) >= end:
        raise NoRanks(f"{label}={text}")
    return int(text)


def ranks_of_sets(
    parts: Sequence[kueue.PodSetAssignment], requests: Mapping[str, TopologyRequest | None]
) -> dict[str, Ranks]:
    """Return how each pod set is counted. Of two in one group the smaller comes first: it is the leader."""
    groups: dict[str, list[kueue.PodSetAssignment]] = {}
    for place, part in enumerate(parts):
        request = requests.get(part.name)
        named = request.pod_set_group_name if request is not None else None
        groups.setdefault(str(place) if named is None else named, []).append(part)
    ranks: dict[str, Ranks] = {}
    for members in groups.values():
        first = 0
        for part in sorted(members, key=_count):  # of two that are as large, the first stays the first
            ranks[part.name] = Ranks(first, first + _count(part), _count(part))
            first += _count(part)
    return ranks


def shifted(ranks: Ranks, pods: Sequence[Manifest]) -> Ranks:
    """Count from where the pods of a set say that they begin; raises BadOffset. All of them say the same."""
    text = job_fields.annotations(pods[0]).get(INDEX_OFFSET) if pods else None
    if text is None:
        return ranks
    offset = integer(text)
    if offset is None:
        raise BadOffset(f"{INDEX_OFFSET}={text}")
    return Ranks(ranks.offset + offset, ranks.end + offset, ranks.pods)


def _count(part: kueue.PodSetAssignment) -> int:
    return part.count or 0
