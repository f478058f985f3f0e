"""Where the pods of a Workload are placed: v1beta1 lists every domain, v1beta2 packs them into slices.

A slice says once what its domains have in common: a level's value, how values begin and end, the number of pods. Where
the lowest level is the node, neighbours whose nodes are named alike (`pool-a-0`, `pool-a-1`) get a slice of their own,
if that makes the whole shorter.

Mirrors: pkg/util/tas/tas_assignment.go
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import Final

import orjson

from fleetqueue.api.kueue_topology import HOSTNAME
from fleetqueue.api.scheme import Manifest

MOST_DOMAINS: Final = 100_000
"""How many domains a slice may have, and"""
MOST_SLICES: Final = 1000
"""how many slices an assignment may have: v1beta2 refuses more."""

Domains = Sequence[Manifest]


def listed(assignment: Manifest) -> Manifest:
    """Return a v1beta2 assignment as v1beta1 has it."""
    domains = [domain for part in assignment.get("slices") or () for domain in _domains(part)]
    return {"levels": assignment.get("levels") or [], "domains": domains}


def _domains(part: Manifest) -> Iterator[Manifest]:
    counts = part["podCounts"]
    for place in range(part["domainCount"]):
        values = [_value(level, place) for level in part["valuesPerLevel"]]
        count = counts["universal"] if "universal" in counts else counts["individual"][place]
        yield {"values": values, "count": count}


def _value(level: Manifest, place: int) -> str:
    if "universal" in level:
        return str(level["universal"])
    apart = level["individual"]
    return f"{apart.get('prefix', '')}{apart['roots'][place]}{apart.get('suffix', '')}"


def sliced(assignment: Manifest) -> Manifest:
    """Return a v1beta1 assignment as v1beta2 has it."""
    levels, domains = assignment.get("levels") or [], assignment.get("domains") or []
    topology_slices = [_slice(levels, run) for run in _runs(levels, domains)]
    if len(topology_slices) > 1 and len(domains) <= MOST_DOMAINS:
        topology_slices = min(topology_slices, [_slice(levels, domains)], key=lambda slices: len(orjson.dumps(slices)))
    return {"levels": levels, **({"slices": topology_slices} if topology_slices else {})}


def _runs(levels: Sequence[str], domains: Domains) -> Iterator[Domains]:
    """Yield the domains that share a slice."""
    keys = _name_beginnings(domains) if levels and levels[-1] == HOSTNAME else [""] * len(domains)
    for _, group in groupby(zip(keys, domains, strict=True), key=lambda pair: pair[0]):
        run = [domain for _, domain in group]
        yield from (run[start : start + MOST_DOMAINS] for start in range(0, len(run), MOST_DOMAINS))


def _name_beginnings(domains: Domains) -> list[str]:
    """Return for each domain the longest beginning of its node's name that others share: few enough in a row."""
    known = [_beginnings(domain["values"][-1]) for domain in domains]
    times = Counter(beginning for beginnings in known for beginning in beginnings)
    for depth in range(max(map(len, known), default=0), 0, -1):
        keys = [next((one for one in reversed(prefixes[:depth]) if times[one] > 1), "") for prefixes in known]
        runs = [sum(1 for _ in group) for _, group in groupby(keys)]
        if sum(-(-length // MOST_DOMAINS) for length in runs) <= MOST_SLICES:
            return keys
    return [""] * len(domains)


def _beginnings(name: str) -> list[str]:
    """Return what a name begins with up to each of its dashes, the shortest first."""
    return [name[: place + 1] for place, letter in enumerate(name[:-1]) if letter == "-"]


def _slice(levels: Sequence[str], domains: Domains) -> Manifest:
    values = [_values([domain["values"][place] for domain in domains]) for place in range(len(levels))]
    counts = [domain["count"] for domain in domains]
    pods = {"universal": counts[0]} if len(set(counts)) == 1 else {"individual": counts}
    return {"domainCount": len(domains), "valuesPerLevel": values, "podCounts": pods}


def _values(values: Sequence[str]) -> Manifest:
    """Return the values of one level, as short as can be."""
    if len(set(values)) == 1:
        return {"universal": values[0]}
    suffix = _beginning([value[::-1] for value in values])[::-1]
    prefix = _beginning(values)[: min(map(len, values)) - len(suffix)]  # they may not overlap
    roots = [value[len(prefix) : len(value) - len(suffix)] for value in values]
    common = {"prefix": prefix, "suffix": suffix}
    return {"individual": {name: text for name, text in common.items() if text} | {"roots": roots}}


def _beginning(values: Sequence[str]) -> str:
    """Return what all begin with: that is what the first and the last in order begin with."""
    first, last = min(values), max(values)
    same = takewhile(lambda place: first[place : place + 1] == last[place : place + 1], range(len(first)))
    return first[: sum(1 for _ in same)]
